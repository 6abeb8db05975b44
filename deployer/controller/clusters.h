/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to the host cluster and to Landscaper's cluster, which may be the same one. */
#pragma once

#include "common/kube/client.h"
#include "deployer/config/config.h"

struct clusters {
    struct kube *host;       /* pods */
    struct kube *landscaper; /* DeployItems; equal to host where both are one cluster */
};

/* Reads the kubeconfigs (NULL: kubeconfig as kube_config_default() finds it; landscaper_kubeconfig:
 * the host cluster) and creates the clients. Sends no request. Sets config->landscaper_mark. loop
 * and http are borrowed. On failure *ret_clusters may be filled in part: call clusters_done(). */
int clusters_connect(struct loop *loop, struct http_client *http, const char *kubeconfig,
                     const char *landscaper_kubeconfig, struct deployer_config *config,
                     struct clusters *ret_clusters, struct error *err) must_check;
void clusters_done(struct clusters *clusters);

/* The namespace of the Lease: as configured, else that of our own pod, else that of the runs.
 * Borrowed from the arguments. */
const char *clusters_lease_namespace(const struct deployer_config *config,
                                     const char *pod_namespace);
