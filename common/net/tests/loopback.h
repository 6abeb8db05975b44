/* SPDX-License-Identifier: Apache-2.0 */
/* A plain HTTP/1.1 server on the test's own loop, whose answers the test writes byte by byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/base/loop.h"

enum { LOOPBACK_REQUESTS_MAX = 256 };

struct loopback;
struct loopback_connection;

/* A whole request has come: head and body as received. Answer now, later or never. */
typedef void loopback_fn(void *data, struct loopback_connection *connection, const char *request);

struct loopback {
    struct loop *loop;
    int fd;
    int port;
    loopback_fn *on_request;
    void *data;
    struct loopback_connection *connections;
    size_t connection_count, request_count;
    char *requests[LOOPBACK_REQUESTS_MAX]; /* all that came */
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

/* Whether request number i holds this text. */
bool loopback_has(const struct loopback *server, size_t i, const char *text);
