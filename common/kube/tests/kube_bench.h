/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of client, watch and lease share: a client whose API server is the test itself. */
#pragma once

#include "common/kube/client.h"
#include "common/net/tests/loopback.h"

struct kube_bench {
    struct loop *loop;
    struct clock_fake clock; /* rules the loop after kube_bench_setup_fake() */
    struct http_client *http;
    struct kube *kube;
    struct loopback server;
    /* Called for each request; by default the answers below are given in their order, the last one
     * again and again. */
    const char *const *answers;
    size_t answer_count;
    struct loopback_connection *last_connection;
    void *data;
};

int kube_bench_setup(void **state);
int kube_bench_setup_fake(void **state); /* time stands still unless the test moves it */
int kube_bench_teardown(void **state);
void kube_bench_run_once(struct kube_bench *bench);
void kube_bench_run_idle(struct kube_bench *bench);
void kube_bench_set_answers(struct kube_bench *bench, const char *const *answers, size_t count);

/* Answers as texts; both are the caller's to free. */
char *answer_json(const char *status, const char *body);
/* The head of a watch that stays open, and then these lines. */
char *answer_stream(const char *lines);
