/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of multiplexed calls share: a loop, a client, a server and calls that note what
 * they got. All belongs to the bench, so that a test that fails leaves nothing behind. */
#pragma once

#include "common/net/http.h"
#include "common/net/tests/h2_server.h"

enum { H2_CALLS_MAX = 64 };

struct h2_bench;

/* One call and what came of it. */
struct h2_call {
    struct h2_bench *bench;
    struct http_request request; /* to be changed before the start */
    char *url;
    struct http_call *call; /* NULL: not started, or done */
    int done_count;
    int status;
    struct error err;
    char *body;              /* as on_done saw it */
    const char *header_name; /* to be noted on done */
    char *header;
    struct buffer data; /* what on_data got */
    int data_count;
    struct error sink_error; /* what on_data fails with, if it has a kind */
    /* What the first callback does to others, or to its own call. */
    struct h2_call *cancelled, *started;
};

struct h2_bench {
    struct loop *loop;
    struct http_client *client;
    struct h2_server server, other; /* the other one has to be started first */
    struct http_tls tls, other_tls;
    bool is_answering;                 /* 200 to every request, with its path as the body */
    h2_request_fn *on_whole, *on_head; /* else what the test wants to do, data is the bench */
    struct h2_call *calls[H2_CALLS_MAX];
    size_t call_count;
    struct loop_timer ticks; /* while a test waits */
    int tick_count;
};

int h2_bench_setup(void **state);
int h2_bench_teardown(void **state);
/* The first server once more, with other options (its callbacks are the bench's own). */
void h2_bench_restart(struct h2_bench *bench, struct h2_options options);
/* The other server, and what is to be trusted for it. */
void h2_bench_start_other(struct h2_bench *bench, struct h2_options options);

/* A GET of the first server, not started. Lives as long as the bench. */
struct h2_call *h2_call_new(struct h2_bench *bench, const char *path);
/* The same of a URL. */
struct h2_call *h2_call_new_at(struct h2_bench *bench, const struct http_tls *tls, const char *url);
void h2_call_start(struct h2_call *call);
void h2_call_cancel(struct h2_call *call);
struct h2_call *h2_get(struct h2_bench *bench, const char *path); /* a new one, started */

/* All of these run the loop, and fail the test if what they wait for does not come. */
void h2_run_until_done(struct h2_call *call);
struct h2_call *h2_fetch(struct h2_bench *bench, const char *path); /* h2_get(), and it is done */
struct h2_request *h2_run_until_request(struct h2_bench *bench, const char *path);
void h2_run_until_bytes(struct h2_call *call, size_t size); /* or more, in data */
void h2_run_until_reset(struct h2_bench *bench, const struct h2_request *request);
void h2_run_until_open(struct h2_bench *bench, const struct h2_server *server, size_t count);
/* Serves what is ready, until nothing is for a moment. */
void h2_run_idle(struct h2_bench *bench);

/* Done, once, without an error and with this body. */
void h2_assert_answered(const struct h2_call *call, int status, const char *body);
void h2_assert_failed(const struct h2_call *call, enum error_kind kind, int os);

http_data_fn h2_on_data;
