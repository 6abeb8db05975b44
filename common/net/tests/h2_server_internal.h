/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of h2_server. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "common/net/tests/h2_server.h"

struct h2_arrival {
    struct h2_request *request;
    bool is_whole; /* at the time of this arrival */
};

struct h2_connection {
    struct h2_server *server;
    struct h2_connection *next;
    int fd; /* -1: closed */
    SSL *ssl;
    bool is_handshake_done;
    bool is_frozen;
    nghttp2_session *session;   /* NULL: HTTP/1.1 */
    struct h2_request *current; /* HTTP/1.1: the one without a response */
    struct h2_arrival *arrivals;
    size_t arrival_count;
    struct buffer input; /* HTTP/1.1 only */
    struct buffer output;
};

/* h2_server.c: sends what can be sent now. */
void h2_flush(struct h2_connection *connection);
struct h2_request *h2_request_new(struct h2_connection *connection, int32_t stream_id);
/* Adds a header; pseudo-headers such as ":method" set the members of the request. */
void h2_request_add(struct h2_request *request, const char *name, size_t name_size,
                    const char *value, size_t value_size);
/* Queues the callback until nghttp2 has returned, because nghttp2 must not be re-entered. */
void h2_request_arrived(struct h2_request *request);

/* h2_server_session.c */
void h2_session_start(struct h2_connection *connection);
int h2_session_read(struct h2_connection *connection, const void *bytes, size_t size);
void h2_session_fill(struct h2_connection *connection); /* with frames to send */

/* h2_server_http1.c */
void h2_http1_read(struct h2_connection *connection, const void *bytes, size_t size);
void h2_http1_answer(struct h2_request *request, int status, const char *headers, const char *body);
