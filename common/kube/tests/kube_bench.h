/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for tests of client, watch and lease: a client whose API server is the test. */
#pragma once

#include "common/kube/client.h"
#include "common/net/tests/loopback.h"

struct kube_bench {
    struct loop *loop;
    struct clock_fake clock; /* drives the loop after kube_bench_setup_fake() */
    struct http_client *http;
    struct kube *kube;
    struct loopback server;
    /* Sent in this order, the last one repeatedly; see kube_bench_set_answers(). */
    const char *const *answers;
    size_t answer_count;
    struct loopback_connection *last_connection;
    void *data;
};

int kube_bench_setup(void **state);
int kube_bench_setup_fake(void **state); /* the clock moves only when the test moves it */
int kube_bench_teardown(void **state);
/* Replaces the client by one with the token of a pod, whose ServiceAccount "deployer" has the uid
 * "u-1". Returns its configuration, which belongs to the client. */
struct kube_config *kube_bench_move_to_pod(struct kube_bench *bench, const char *namespace_name);
void kube_bench_run_once(struct kube_bench *bench);
void kube_bench_run_idle(struct kube_bench *bench);
void kube_bench_set_answers(struct kube_bench *bench, const char *const *answers, size_t count);

/* Raw responses; both belong to the caller. */
char *answer_json(const char *status, const char *body);
/* A response that stays open after these lines, as of a watch. */
char *answer_stream(const char *lines);
