/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for tests of http: a loop, a client, two servers, and calls that record their results. */
#pragma once

#include "common/net/http.h"
#include "common/net/tests/loopback.h"

struct bench {
    struct loop *loop;
    struct http_client *client;
    struct loopback server, other; /* two ports: two origins */
    const char *answer; /* sent by both servers to every request; NULL: the test responds */
    bool is_closed_after;
    struct loopback_connection *last_connection;
};

/* One call and its result. */
struct got {
    struct bench *bench;
    struct http_call *call;
    int done_count;
    int status;
    struct error err;
    char *body, *header;
    const char *header_name; /* recorded in header at on_done */
    struct buffer data;      /* received by on_data */
    int data_count;
    struct http_call **cancelled; /* by the first callback; may be its own call */
};

int bench_setup(void **state);
int bench_teardown(void **state);

/* A URL of the first server; the result lives as long as the bench. */
struct http_request bench_request(struct bench *bench, struct got *got, const char *url);
char *bench_url(const struct loopback *server, const char *path);
void bench_start(const struct http_request *request, struct got *got);
/* Starts and runs the loop until it is done. */
void bench_fetch(const struct http_request *request, struct got *got);
void bench_run_until(struct bench *bench, const bool *is_true);
void bench_run_until_done(struct bench *bench, const struct got *got);
void bench_run_until_count(struct bench *bench, const size_t *count, size_t wanted);
/* Runs the loop until nothing happens for a moment. */
void bench_run_idle(struct bench *bench);
void got_done(struct got *got);

http_done_fn bench_on_done;
http_data_fn bench_on_data;
