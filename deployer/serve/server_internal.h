/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by server.c, which listens, and exchange.c, which serves one connection. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/serve/server.h"

enum { BODY_MAX = 1 << 20, HEAD_MAX = 4096 };

enum exchange_state {
    EXCHANGE_READING, /* the request is incomplete */
    EXCHANGE_WAITING, /* for the answer of a handler */
    EXCHANGE_ENDING,  /* the answer is complete and being sent */
    EXCHANGE_STREAMING,
};

/* A connection, which serves one request. */
struct exchange {
    struct exchange *next;
    struct server *server;
    int fd;
    enum exchange_state state;
    bool is_head;
    char *path;
    struct buffer in, out;
    size_t sent;
    struct loop_timer timer;
    exchange_fn *closed;
    void *closed_data;
};

struct server {
    struct loop *loop;
    int fd;
    uint16_t port;
    serve_fn *serve;
    void *data;
    const char *pages; /* prefix, or NULL */
    exchange_fn *handle;
    void *handle_data;
    struct exchange *connections;
    size_t connection_count;
    struct loop_timer accept_timer; /* runs while no connection can be accepted */
};

void exchange_free(struct exchange *exchange);
void exchange_on_slow(void *data);                   /* the callback of its timer */
void exchange_on_event(void *data, uint32_t events); /* the callback of its descriptor */
