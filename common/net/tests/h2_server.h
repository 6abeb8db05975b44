/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTPS server on the loop of the test. Speaks HTTP/2, or only HTTP/1.1, and misbehaves on
 * request. Functions for a connection do nothing if it is closed already.
 *
 * Response headers are text, "name: value\r\n" each, with names in lower case. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/loop.h"
#include "common/net/tests/certificate.h"

enum {
    H2_HEADERS_MAX = 48,
    H2_BODY_MAX = 1 << 24,
};

struct h2_server;
struct h2_connection;

/* Lives as long as the server, even if its connection is closed. */
struct h2_request {
    struct h2_connection *connection;
    struct h2_request *next; /* of the server, newest first */
    int32_t stream_id;       /* 0: over HTTP/1.1 */
    char *method, *path, *authority;
    struct {
        char *name, *value;
    } headers[H2_HEADERS_MAX]; /* without pseudo-headers */
    size_t header_count;
    struct buffer body;
    bool is_whole;
    bool is_reset; /* by the client */
    uint32_t reset_code;
    /* The response. */
    struct buffer output;
    size_t output_sent;
    bool is_ended;
    char *trailers;
};

/* May respond now, later or never. */
typedef void h2_request_fn(void *data, struct h2_request *request);

struct h2_options {
    bool is_http1_only;
    bool is_deaf; /* accepts connections but never reads or writes */
    bool wants_certificate;
    const char *greeting;    /* sent instead of HTTP/2, or NULL */
    uint32_t streams_max;    /* concurrent; 0: no limit announced */
    const char *alt_name;    /* of its certificate; NULL: 127.0.0.1 */
    h2_request_fn *on_head;  /* headers received, body not yet; or NULL */
    h2_request_fn *on_whole; /* complete request received; or NULL */
    void *data;
};

struct h2_server {
    struct loop *loop;
    int fd;
    int port;
    struct h2_options options;
    struct certificate certificate;
    const char *ca_pem;                     /* for struct http_tls */
    char *client_subject;                   /* of the last client certificate: "/CN=name" */
    void *tls;                              /* SSL_CTX */
    struct h2_connection *connections;      /* newest first */
    struct h2_request *heads;               /* all requests, newest first */
    struct h2_request **requests;           /* the complete ones */
    size_t connection_count, request_count; /* in total */
    size_t open_count;                      /* connections open now */
};

void h2_server_start(struct h2_server *server, struct loop *loop, const struct h2_options *options);
void h2_server_done(struct h2_server *server); /* also of a zeroed or done one */

/* The newest complete request with this path, or NULL; and the number of such requests. */
struct h2_request *h2_server_find(const struct h2_server *server, const char *path);
size_t h2_server_count(const struct h2_server *server, const char *path);
/* NULL if there is no such header. */
const char *h2_request_header(const struct h2_request *request, const char *name);

/* Sends a complete response. Adds content-length only over HTTP/1.1. */
void h2_answer(struct h2_request *request, int status, const char *headers, const char *body);
/* Parts of a response, HTTP/2 only. h2_inform() sends 1xx; trailers are headers or NULL. */
void h2_inform(struct h2_request *request, int status, const char *headers);
void h2_begin(struct h2_request *request, int status, const char *headers);
void h2_send(struct h2_request *request, const void *bytes, size_t size);
void h2_end(struct h2_request *request, const char *trailers);
void h2_reset(struct h2_request *request, uint32_t code);

/* INT32_MAX: no new streams, existing ones complete. */
void h2_go_away(struct h2_connection *connection, int32_t last_stream_id);
void h2_close(struct h2_connection *connection);   /* without a TLS close */
void h2_hang_up(struct h2_connection *connection); /* with a TLS close */
/* Stops reading and writing. */
void h2_freeze(struct h2_connection *connection);
/* Sends text over TLS instead of the next HTTP/2 frame. */
void h2_send_garbage(struct h2_connection *connection, const char *text);
