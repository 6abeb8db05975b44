/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its response on a connection, over HTTP/1.1 or HTTP/2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/loop.h"
#include "e2e/fleet/reply.h"

struct connection;

struct exchange {
    struct connection *connection;
    int32_t stream_id; /* 0 over HTTP/1.1 */
    char *method, *target;
    char *content_type, *accept, *authorization, *user_agent; /* NULL: not sent */
    struct buffer body;
    struct buffer output;
    size_t output_sent;
    bool is_whole;           /* the request was received completely */
    bool is_in_flight;       /* counted as a request without a response so far */
    bool is_ended;           /* nothing will be added to output */
    struct loop_timer timer; /* of a slow response */
    /* Whoever keeps the exchange after on_request is informed when it is closed. */
    void (*on_closed)(void *owner);
    void *owner;
    struct exchange *next, **place; /* in the list of the connection */
};

/* Counts the request as one in flight until its response begins. */
void exchange_count(struct exchange *exchange);
/* Responds completely. */
void exchange_reply(struct exchange *exchange, const struct reply *reply);
/* Responds piece by piece. */
void exchange_begin(struct exchange *exchange, int code, const char *content_type);
void exchange_write(struct exchange *exchange, const void *bytes, size_t size);
void exchange_end(struct exchange *exchange);
/* Resets the connection. The exchange stays valid until the loop runs again. */
void exchange_break(struct exchange *exchange);

/* For connections. */
struct exchange *exchange_new(struct connection *connection, int32_t stream_id);
void exchange_free(struct exchange *exchange);
/* Stores a header of the request; names are in lower case, with a colon for those of HTTP/2. */
void exchange_add_header(struct exchange *exchange, const char *name, size_t name_size,
                         const char *value, size_t value_size);
