/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/kube/gate.h"
#include "common/kube/tests/kube_bench.h"
#include "common/kube/watch.h"

struct got {
    int count;
    struct error err;
};

static void note(void *data, json_t *object, const struct error *err)
{
    struct got *got = data;

    (void)object;
    got->count++;
    got->err = *err;
}

static void note_event(void *data, enum kube_event event, const json_t *object,
                       const struct error *err)
{
    struct got *got = data;

    (void)object;
    if (event != KUBE_EVENT_BROKEN)
        return;
    got->count++;
    got->err = *err;
}

static void start(struct kube_bench *bench, bool is_not_retried, struct got *got)
{
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = {"", "v1", "pods"},
        .namespace_name = "a",
        .name = "b",
        .timeout_ms = 20000,
        .is_not_retried = is_not_retried,
        .on_done = note,
        .data = got,
    };
    struct error err = {0};

    assert_int_equal(kube_start(bench->kube, &request, NULL, &err), 0);
    kube_bench_run_idle(bench);
}

/* Lets one request time out. */
static void close_gate(struct kube_bench *bench)
{
    struct got silent = {0};

    kube_share_back_off(bench->kube);
    start(bench, true, &silent);
    while (bench->server.request_count < 1)
        kube_bench_run_once(bench);
    clock_fake_advance(&bench->clock, 20000);
    kube_bench_run_idle(bench);
    assert_int_equal(silent.count, 1);
    assert_int_equal(silent.err.os, ETIMEDOUT);
}

static void a_silent_server_gets_one_request_at_a_time(void **state)
{
    static const char *const fine[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"};
    struct kube_bench *bench = *state;
    struct got refused[20] = {{0}};
    struct got patient[20] = {{0}};

    close_gate(bench);
    for (size_t i = 0; i < array_length(refused); i++) {
        start(bench, true, &refused[i]);
        assert_int_equal(refused[i].count, 1);
        assert_int_equal(refused[i].err.kind, ERROR_TEMPORARY);
        assert_non_null(
            strstr(refused[i].err.text, "get pods \"a/b\": server \"http://127.0.0.1:"));
        assert_non_null(strstr(refused[i].err.text, "timed out"));
        assert_int_not_equal(refused[i].err.retry_after_ms, 0);
    }
    /* Calls that may be retried wait, and cause no load. */
    for (size_t i = 0; i < array_length(patient); i++)
        start(bench, false, &patient[i]);
    assert_int_equal(kube_sleeping_count(bench->kube), array_length(patient));
    assert_int_equal(bench->server.request_count, 1);
    clock_fake_advance(&bench->clock, KUBE_GATE_FIRST_MS);
    while (bench->server.request_count < 2)
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_int_equal(bench->server.request_count, 2);
    loopback_send(bench->last_connection, fine[0]);
    kube_bench_set_answers(bench, fine, 1);
    kube_bench_run_idle(bench);
    clock_fake_advance(&bench->clock, KUBE_GATE_ATTEMPT_MS);
    for (size_t i = 0; i < array_length(patient); i++) {
        while (patient[i].count == 0)
            kube_bench_run_once(bench);
        assert_int_equal(patient[i].err.kind, ERROR_NONE);
    }
}

static void watches_wait_as_well(void **state)
{
    struct kube_bench *bench = *state;
    struct got got = {0};
    const struct kube_watch_options options = {
        .resource = KUBE_PODS, .on_event = note_event, .data = &got};
    struct kube_watch *watch = NULL;
    struct error err = {0};

    close_gate(bench);
    assert_int_equal(kube_watch_start(bench->kube, &options, &watch, &err), 0);
    kube_bench_run_idle(bench);
    assert_int_equal(got.count, 1);
    assert_non_null(strstr(got.err.text, "does not respond, next attempt in 1 s"));
    assert_int_equal(bench->server.request_count, 1);
    clock_fake_advance(&bench->clock, KUBE_GATE_FIRST_MS);
    while (bench->server.request_count < 2)
        kube_bench_run_once(bench);
    kube_watch_stop(watch);
}

int main(void)
{
#define test(name_)                                                                                \
    cmocka_unit_test_setup_teardown(name_, kube_bench_setup_fake, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_silent_server_gets_one_request_at_a_time),
        test(watches_wait_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
