/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server for probes, metrics and pages, on the loop: GET and HEAD, one request per
 * connection. Requests, connections and time are bounded; a slow client is disconnected. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/loop.h"
#include "deployer/serve/exchange.h"

enum { SERVE_REQUEST_MAX = 8 * 1024, SERVE_CONNECTIONS_MAX = 64, SERVE_PATIENCE_MS = 10 * 1000 };

struct server;

/* Fills *ret_body and returns the HTTP status: 200, 503, or 404 for an unknown path. */
typedef int serve_fn(void *data, const char *path, struct buffer *ret_body,
                     const char **ret_content_type);

/* Listens on address ("" or "0.0.0.0": any IPv4 address, "::": any address) and port (0: any free
 * one). loop is borrowed. */
int server_new(struct loop *loop, const char *address, uint16_t port, serve_fn *serve, void *data,
               struct server **ret_server, struct error *err) must_check;
void server_free(struct server *server); /* NULL is fine */
uint16_t server_port(const struct server *server);
/* Requests for prefix and everything below it ("/ui", "/ui/...") go to handle instead. prefix and
 * data are borrowed until server_free(), which ends the exchanges that are open. */
void server_set_pages(struct server *server, const char *prefix, exchange_fn *handle, void *data);
