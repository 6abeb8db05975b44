/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTPS server on the test's own loop that speaks HTTP/2 (or only HTTP/1.1, if it is told so)
 * and misbehaves as the test wishes. What is asked of a connection that is closed already is no
 * harm.
 *
 * Headers of answers are text, "name: value\r\n" each, with names in lower case. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/loop.h"
#include "common/net/tests/certificate.h"

enum {
    H2_REQUESTS_MAX = 512,
    H2_HEADERS_MAX = 48,
    H2_BODY_MAX = 1 << 24,
};

struct h2_server;
struct h2_connection;

/* Lives as long as the server, whatever becomes of its connection. */
struct h2_request {
    struct h2_connection *connection;
    struct h2_request *next; /* of the server, newest first */
    int32_t stream_id;       /* 0: over HTTP/1.1 */
    char *method, *path, *authority;
    struct {
        char *name, *value;
    } headers[H2_HEADERS_MAX]; /* all others */
    size_t header_count;
    struct buffer body;
    bool is_whole;
    bool is_reset; /* by the client */
    uint32_t reset_code;
    /* Of the answer. */
    struct buffer output;
    size_t output_sent;
    bool is_ended;
    char *trailers;
};

/* Answer now, later or never. */
typedef void h2_request_fn(void *data, struct h2_request *request);

struct h2_options {
    bool is_http1_only;
    bool is_deaf; /* accepts connections, and that is all */
    bool wants_certificate;
    const char *greeting;    /* said in place of any HTTP/2, or NULL */
    uint32_t streams_max;    /* at once; 0: no limit is told */
    const char *alt_name;    /* of its certificate; NULL: 127.0.0.1 */
    h2_request_fn *on_head;  /* of a request whose body is still to come, or NULL */
    h2_request_fn *on_whole; /* of a whole request, or NULL */
    void *data;
};

struct h2_server {
    struct loop *loop;
    int fd;
    int port;
    struct h2_options options;
    struct certificate certificate;
    const char *ca_pem;                /* what a client has to trust */
    char *client_subject;              /* of the last certificate that was shown: "/CN=name" */
    void *tls;                         /* SSL_CTX */
    struct h2_connection *connections; /* newest first */
    struct h2_request *heads;          /* all that began, newest first */
    struct h2_request *requests[H2_REQUESTS_MAX]; /* the whole ones */
    size_t connection_count, request_count;       /* all that came */
    size_t open_count;                            /* connections that are open now */
};

void h2_server_start(struct h2_server *server, struct loop *loop, const struct h2_options *options);
void h2_server_done(struct h2_server *server); /* zeroed memory and a done one are fine */

/* The newest whole request with this path, or NULL; and how many there were. */
struct h2_request *h2_server_find(const struct h2_server *server, const char *path);
size_t h2_server_count(const struct h2_server *server, const char *path);
/* NULL: it has no such header. */
const char *h2_request_header(const struct h2_request *request, const char *name);

/* A whole answer. Only over HTTP/1.1 a content-length is added by itself. */
void h2_answer(struct h2_request *request, int status, const char *headers, const char *body);
/* Its parts, for HTTP/2 only. h2_inform() is for 1xx; trailers are headers or NULL. */
void h2_inform(struct h2_request *request, int status, const char *headers);
void h2_begin(struct h2_request *request, int status, const char *headers);
void h2_send(struct h2_request *request, const void *bytes, size_t size);
void h2_end(struct h2_request *request, const char *trailers);
void h2_reset(struct h2_request *request, uint32_t code);

/* INT32_MAX: no more streams, but those under way are served. */
void h2_go_away(struct h2_connection *connection, int32_t last_stream_id);
void h2_close(struct h2_connection *connection);   /* without a word */
void h2_hang_up(struct h2_connection *connection); /* with TLS's own goodbye */
/* From now on it reads and says nothing. */
void h2_freeze(struct h2_connection *connection);
/* In place of what HTTP/2 would say next; inside TLS. */
void h2_send_garbage(struct h2_connection *connection, const char *text);
