/* SPDX-License-Identifier: Apache-2.0 */
/* A responder for probes and scrapes, on the loop: GET and HEAD, a handful of paths, one answer a
 * connection. What it reads is bounded, and whoever is slow is hung up on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/loop.h"

enum { SERVE_REQUEST_MAX = 8 * 1024, SERVE_CONNECTIONS_MAX = 64, SERVE_PATIENCE_MS = 10 * 1000 };

struct server;

/* Fills *ret_body and returns the HTTP status (200, 503), or 404 for a path that it does not know.
 */
typedef int serve_fn(void *data, const char *path, struct buffer *ret_body,
                     const char **ret_content_type);

/* Listens on address ("" or "0.0.0.0": all of IPv4, "::": all) and port (0: any free one). */
int server_new(struct loop *loop, const char *address, uint16_t port, serve_fn *serve, void *data,
               struct server **ret_server, struct error *err) must_check;
void server_free(struct server *server); /* NULL is fine */
uint16_t server_port(const struct server *server);

/* The path of a request head, up to its query. Pure. 0: the head is not complete; -1: this is no
 * request that we answer, *ret_status says how (400, 405); 1: *ret_path belongs to the caller. */
int serve_parse(const char *head, size_t size, char **ret_path, int *ret_status, int *ret_is_head);
