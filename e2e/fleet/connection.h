/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of a client: TLS, and HTTP/1.1 or HTTP/2 above it. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "e2e/fleet/cluster.h"
#include "e2e/fleet/exchange.h"

/* What connections need from their server. */
struct connection_host {
    struct loop *loop;
    void (*on_request)(void *data, struct exchange *exchange);
    void *data;
    struct loop_timer reaper; /* closes broken connections outside of any callback */
    struct connection *broken;
};

struct connection {
    struct connection_host *host;
    struct cluster *cluster; /* NULL: the control address */
    int fd;
    int port;          /* of the client, by which its process can be found; 0: unknown */
    SSL *ssl;          /* NULL: without TLS */
    bool is_open;      /* the handshake is complete */
    bool is_receiving; /* in a callback of the session */
    bool is_broken, is_silent;
    bool wants_write;
    nghttp2_session *session; /* NULL: HTTP/1.1 */
    struct buffer input;      /* of HTTP/1.1 */
    struct buffer output;
    struct exchange *exchanges;
    struct connection *next, **place; /* in the list of the cluster */
    struct connection *next_broken;
};

void connection_host_init(struct connection_host *host, struct loop *loop,
                          void (*on_request)(void *data, struct exchange *exchange), void *data);
/* Takes fd and ssl over. is_silent: nothing is ever read. */
void connection_start(struct connection_host *host, struct cluster *cluster,
                      struct connection **list, int fd, SSL *ssl, bool is_silent);
/* Closes it at once, with a reset. Not from inside its callbacks. */
void connection_close(struct connection *connection);
/* Closes it when the loop runs again. */
void connection_break(struct connection *connection);
/* Sends what is to be sent, as far as the socket takes it. */
void connection_flush(struct connection *connection);

/* connection_http2.c */
int http2_start(struct connection *connection);
int http2_receive(struct connection *connection, const char *bytes, size_t size);
void http2_fill(struct connection *connection); /* moves what is to be sent to output */
void http2_begin(struct exchange *exchange, int code, const char *content_type,
                 uint32_t retry_after_s);
/* connection_http1.c */
int http1_receive(struct connection *connection, const char *bytes, size_t size);
void http1_begin(struct exchange *exchange, int code, const char *content_type,
                 uint32_t retry_after_s, const struct reply *reply);
void http1_write(struct exchange *exchange, const void *bytes, size_t size);
void http1_end(struct exchange *exchange);
