/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for tests of multiplexed calls: a loop, a client, a server, and calls that record their
 * results. The fixture owns everything, so a failing test leaks nothing. */
#pragma once

#include "common/net/http.h"
#include "common/net/tests/h2_server.h"

enum { H2_CALLS_MAX = 512 };

struct h2_bench;

/* One call and its result. */
struct h2_call {
    struct h2_bench *bench;
    struct http_request request; /* may be changed before the start */
    char *url;
    struct http_call *call; /* NULL: not started, or done */
    int done_count;
    int status;
    struct error err;
    char *body;              /* at on_done */
    const char *header_name; /* recorded in header at on_done */
    char *header;
    struct buffer data; /* received by on_data */
    int data_count;
    struct error sink_error; /* if kind is set, on_data fails with it */
    /* Calls that the first callback cancels and starts; may be its own. */
    struct h2_call *cancelled, *started;
};

struct h2_bench {
    struct loop *loop;
    struct clock_fake clock; /* drives the loop after h2_bench_setup_fake() */
    struct http_client *client;
    struct h2_server server, other; /* other: see h2_bench_start_other() */
    struct http_tls tls, other_tls;
    bool is_answering;                 /* respond to each request with 200 and its path */
    h2_request_fn *on_whole, *on_head; /* called otherwise, with the bench as data */
    struct h2_call *calls[H2_CALLS_MAX];
    size_t call_count;
    struct loop_timer ticks; /* runs while a test waits */
    int tick_count;
};

int h2_bench_setup(void **state);
int h2_bench_setup_fake(void **state); /* loop timers fire only when the test moves the clock */
int h2_bench_teardown(void **state);
/* Restarts the first server with other options; callbacks in options are ignored. */
void h2_bench_restart(struct h2_bench *bench, struct h2_options options);
/* Starts the other server and sets other_tls. */
void h2_bench_start_other(struct h2_bench *bench, struct h2_options options);

/* A GET of the first server, not started. Lives as long as the bench. */
struct h2_call *h2_call_new(struct h2_bench *bench, const char *path);
/* The same for any URL. */
struct h2_call *h2_call_new_at(struct h2_bench *bench, const struct http_tls *tls, const char *url);
void h2_call_start(struct h2_call *call);
void h2_call_cancel(struct h2_call *call);
struct h2_call *h2_get(struct h2_bench *bench, const char *path); /* a new call, started */

/* These run the loop until the condition holds, and fail the test if it does not. */
void h2_run_until_done(struct h2_call *call);
struct h2_call *h2_fetch(struct h2_bench *bench, const char *path); /* h2_get() until done */
struct h2_request *h2_run_until_request(struct h2_bench *bench, const char *path);
void h2_run_until_bytes(struct h2_call *call, size_t size); /* at least, in call->data */
void h2_run_until_reset(struct h2_bench *bench, const struct h2_request *request);
void h2_run_until_open(struct h2_bench *bench, const struct h2_server *server, size_t count);
/* Runs the loop until nothing happens for a moment. */
void h2_run_idle(struct h2_bench *bench);

/* on_done was called once, without an error and with this body. */
void h2_assert_answered(const struct h2_call *call, int status, const char *body);
void h2_assert_failed(const struct h2_call *call, enum error_kind kind, int os);

http_data_fn h2_on_data;
