/* SPDX-License-Identifier: Apache-2.0 */
/* A process that plays the API servers of many clusters over HTTP/2: empty lists, and watches that
 * stay open. A process of its own, so that memory and descriptors of the client can be counted. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct many_server {
    pid_t pid;
    int control;
    int port;
    char *ca_pem;
};

void many_server_start(struct many_server *server);
void many_server_stop(struct many_server *server);
/* Sends one event on the watch that was begun as the index-th. */
void many_server_send_event(const struct many_server *server, unsigned index);
/* Closes all connections. */
void many_server_close_all(const struct many_server *server);
/* How many connections there were so far, and how many of them resumed a TLS session. */
void many_server_count(const struct many_server *server, size_t *ret_connections,
                       size_t *ret_resumed);
