/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet: clusters, the addresses on which they are served, and their control. */
#pragma once

#include "e2e/fleet/authority.h"
#include "e2e/fleet/connection.h"
#include "e2e/fleet/watch.h"

struct fleet_settings {
    uint32_t cluster_count;
    uint32_t first_address; /* of cluster 0; cluster N has the N-th address behind it */
    uint16_t port, control_port;
    size_t history_max;       /* changes that a cluster keeps for watches */
    size_t first_history_max; /* of cluster 0, which may be a control plane */
    uint64_t bookmark_ms;
    bool has_controllers;
};

struct fleet {
    struct fleet_settings settings;
    struct loop *loop;
    struct cluster_shared shared;
    struct cluster *clusters;
    struct authority *authority;    /* of all clusters but those with own_authorities */
    struct authority **authorities; /* by cluster; NULL: the shared one */
    SSL_CTX *tls;
    int fd, control_fd;
    struct connection_host host, control_host;
    struct connection *control_connections;
    struct watch_settings watch_settings;
};

/* Serves all clusters on loop. The loop and the clock outlive the fleet. */
int fleet_new(const struct fleet_settings *settings, struct loop *loop, struct fleet **ret_fleet,
              struct error *err) must_check;
void fleet_free(struct fleet *fleet); /* NULL is fine */
define_cleanup(struct fleet *, fleet_free)
#define cleanup_fleet __attribute__((cleanup(fleet_freep)))

uint32_t fleet_address(const struct fleet *fleet, uint32_t index);
const struct authority *fleet_authority(const struct fleet *fleet, uint32_t index);
/* The kubeconfig of a cluster. Belongs to the caller. */
char *fleet_kubeconfig(const struct fleet *fleet, uint32_t index);
/* The token that the cluster accepts. Belongs to the caller. */
char *fleet_token(const struct cluster *cluster);
/* Closes all connections of a cluster. */
void fleet_drop_connections(struct cluster *cluster);

/* handle.c: requests to clusters; data is the fleet. */
void fleet_on_request(void *data, struct exchange *exchange);
/* control.c: requests to the control address; data is the fleet. */
void fleet_on_control(void *data, struct exchange *exchange);
/* listen.c */
int fleet_listen(struct fleet *fleet, struct error *err) must_check;
