/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server without TLS on the loop of the test, which writes the raw responses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/base/loop.h"

enum { LOOPBACK_REQUESTS_MAX = 256 };

struct loopback;
struct loopback_connection;

/* A complete request was received (headers and body). May respond now, later or never. */
typedef void loopback_fn(void *data, struct loopback_connection *connection, const char *request);

struct loopback {
    struct loop *loop;
    int fd;
    int port;
    loopback_fn *on_request;
    void *data;
    struct loopback_connection *connections;
    size_t connection_count, request_count;
    char *requests[LOOPBACK_REQUESTS_MAX]; /* all requests received */
};

void loopback_start(struct loopback *server, struct loop *loop, loopback_fn *on_request,
                    void *data);
void loopback_done(struct loopback *server);

void loopback_send(struct loopback_connection *connection, const char *text);
void loopback_send_bytes(struct loopback_connection *connection, const void *bytes, size_t size);
void loopback_close(struct loopback_connection *connection);
/* "HTTP/1.1 <status>\r\n<headers>Content-Length: n\r\n\r\n<body>"; each header ends with "\r\n". */
void loopback_answer(struct loopback_connection *connection, const char *status,
                     const char *headers, const char *body);

/* Whether request number i contains this text. */
bool loopback_has(const struct loopback *server, size_t i, const char *text);
