/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplexed calls when their connection breaks, stops responding, is drained or limits streams.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void all_calls_of_a_broken_connection_fail_and_the_next_one_reconnects(void **state)
{
    static const struct {
        void (*end)(struct h2_connection *connection);
        bool is_begun;
    } cases[] = {{h2_close, false}, {h2_close, true}, {h2_hang_up, false}, {h2_hang_up, true}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *one_path = xasprintf("/one/%zu", i);
        cleanup_free char *two_path = xasprintf("/two/%zu", i);
        struct h2_call *one = h2_get(bench, one_path);
        struct h2_call *two = h2_get(bench, two_path);
        struct h2_request *first = h2_run_until_request(bench, one_path);
        struct h2_request *second = h2_run_until_request(bench, two_path);

        if (cases[i].is_begun) {
            h2_begin(first, 200, "content-length: 10\r\n");
            h2_send(first, "12", 2);
            h2_begin(second, 200, "");
            h2_send(second, "12", 2);
            h2_run_idle(bench);
        }
        cases[i].end(first->connection);
        h2_run_until_done(one);
        h2_run_until_done(two);
        h2_assert_failed(one, ERROR_TEMPORARY, 0);
        h2_assert_failed(two, ERROR_TEMPORARY, 0);
        assert_int_equal(bench->server.connection_count, i + 1);
        assert_int_equal(h2_server_count(&bench->server, one_path), 1);
    }
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, array_length(cases) + 1);
}

static void an_idle_connection_closed_by_the_server_is_replaced(void **state)
{
    static void (*const ends[])(struct h2_connection * connection) = {h2_close, h2_hang_up};
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    for (size_t i = 0; i < array_length(ends); i++) {
        ends[i](bench->server.connections);
        h2_run_idle(bench);
        h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
        assert_int_equal(bench->server.connection_count, i + 2);
        assert_int_equal(bench->server.open_count, 1);
    }
}

/* The connection may be dead, so new calls avoid it; calls that already use it stay on it. */
static void a_timeout_without_data_replaces_the_connection(void **state)
{
    static const struct {
        uint64_t total_ms, stall_ms;
    } cases[] = {{40, 0}, {20000, 40}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/waiting/%zu", i);
        struct h2_call *waiting = h2_get(bench, path);
        struct h2_request *held = h2_run_until_request(bench, path);
        struct h2_call *silent = h2_call_new(bench, "/silent");

        assert_int_equal(bench->server.connection_count, i + 1);
        h2_run_idle(bench); /* the server acknowledges our settings */
        silent->request.total_timeout_ms = cases[i].total_ms;
        silent->request.stall_timeout_ms = cases[i].stall_ms;
        h2_call_start(silent);
        h2_run_until_done(silent);
        h2_assert_failed(silent, ERROR_TEMPORARY, ETIMEDOUT);
        bench->is_answering = true;
        h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
        bench->is_answering = false;
        assert_int_equal(bench->server.connection_count, i + 2);
        assert_ptr_not_equal(h2_server_find(&bench->server, "/next")->connection, held->connection);
        h2_answer(held, 200, "", "late");
        h2_run_until_done(waiting);
        h2_assert_answered(waiting, 200, "late");
        h2_run_until_open(bench, &bench->server, 1); /* the old one is closed with its last call */
    }
}

/* A slow response does not mean that the connection is dead if other calls receive data. */
static void a_timeout_keeps_a_connection_on_which_other_calls_receive(void **state)
{
    static const struct {
        uint64_t total_ms, stall_ms;
        bool is_kept; /* the other call receives shortly before the timeout */
    } cases[] = {{5000, 0, true}, {0, 5000, true}, {5000, 0, false}, {0, 5000, false}};
    struct h2_bench *bench = *state;
    struct h2_call *watch = h2_call_new(bench, "/watch");
    struct h2_request *stream = NULL;
    size_t connections = 1;

    watch->request.total_timeout_ms = 0;
    watch->request.on_data = h2_on_data;
    h2_call_start(watch);
    stream = h2_run_until_request(bench, "/watch");
    h2_begin(stream, 200, "");
    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *slow = h2_call_new(bench, "/slow");

        h2_send(stream, "x", 1);
        h2_run_until_bytes(watch, 2 * i + 1);
        slow->request.total_timeout_ms = cases[i].total_ms;
        slow->request.stall_timeout_ms = cases[i].stall_ms;
        h2_call_start(slow);
        h2_run_idle(bench);
        for (int step = 0; step < 4; step++) {
            /* Without is_kept the only byte comes right after the start. */
            if (step == (cases[i].is_kept ? 3 : 0)) {
                h2_send(stream, "x", 1);
                h2_run_until_bytes(watch, 2 * i + 2);
            }
            clock_fake_advance(&bench->clock, 1300);
            h2_run_idle(bench);
        }
        h2_assert_failed(slow, ERROR_TEMPORARY, ETIMEDOUT);
        connections += cases[i].is_kept ? 0 : 1;
        bench->is_answering = true;
        h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
        bench->is_answering = false;
        assert_int_equal(bench->server.connection_count, connections);
    }
}

static void a_frozen_connection_is_replaced(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    h2_freeze(bench->server.connections);
    call = h2_call_new(bench, "/frozen");
    call->request.stall_timeout_ms = 40;
    h2_call_start(call);
    h2_run_until_done(call);
    h2_assert_failed(call, ERROR_TEMPORARY, ETIMEDOUT);
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 2);
    h2_run_until_open(bench, &bench->server, 1);
}

static void after_goaway_accepted_streams_complete_and_the_others_fail_as_unprocessed(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *below = h2_get(bench, "/below");
    struct h2_request *first = h2_run_until_request(bench, "/below");
    struct h2_call *last = h2_get(bench, "/last");
    struct h2_request *second = h2_run_until_request(bench, "/last");
    struct h2_call *above = h2_call_new(bench, "/above");
    struct h2_call *fresh = NULL;

    h2_begin(first, 200, "");
    h2_send(first, "12", 2);
    above->request.method = "POST";
    above->request.body = "body";
    above->request.body_size = 4;
    above->request.bearer = "t0ken";
    h2_call_start(above);
    (void)h2_run_until_request(bench, "/above");
    bench->is_answering = true;
    h2_go_away(second->connection, second->stream_id);
    h2_run_until_done(above);
    h2_assert_failed(above, ERROR_TEMPORARY, ECONNREFUSED);
    assert_int_equal(h2_server_count(&bench->server, "/above"), 1);
    fresh = h2_fetch(bench, "/fresh");
    h2_assert_answered(fresh, 200, "/fresh");
    assert_ptr_not_equal(h2_server_find(&bench->server, "/fresh")->connection, second->connection);
    h2_answer(second, 200, "", "last");
    h2_send(first, "34", 2);
    h2_end(first, NULL);
    h2_run_until_done(last);
    h2_run_until_done(below);
    h2_assert_answered(last, 200, "last");
    h2_assert_answered(below, 200, "1234");
    assert_int_equal(bench->server.connection_count, 2);
    assert_int_equal(bench->server.request_count, 4);
}

static void after_goaway_the_connection_is_closed_with_its_last_call(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_get(bench, "/");
    struct h2_request *request = h2_run_until_request(bench, "/");

    h2_go_away(request->connection, INT32_MAX); /* how servers start a graceful shutdown */
    h2_run_idle(bench);
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 2);
    h2_go_away(request->connection, request->stream_id);
    h2_answer(request, 200, "", "fine");
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "fine");
    assert_int_equal(h2_server_count(&bench->server, "/"), 1);
    h2_run_until_open(bench, &bench->server, 1);
}

static void an_idle_connection_is_not_reused_after_goaway(void **state)
{
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    h2_go_away(bench->server.connections, INT32_MAX);
    h2_run_idle(bench);
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 2);
    assert_int_equal(bench->server.request_count, 2);
}

static void a_protocol_violation_is_temporary_and_the_next_call_reconnects(void **state)
{
    static const char *const garbage[] = {
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        "this is not what was agreed upon, not at all",
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(garbage); i++) {
        struct h2_call *one = NULL;
        struct h2_call *two = NULL;

        /* Before any HTTP/2 frame ... */
        h2_bench_restart(bench, (struct h2_options){.greeting = garbage[i]});
        one = h2_fetch(bench, "/");
        h2_assert_failed(one, ERROR_TEMPORARY, 0);
        /* ... and in the middle of it. */
        h2_bench_restart(bench, (struct h2_options){0});
        one = h2_get(bench, "/one");
        two = h2_get(bench, "/two");
        (void)h2_run_until_request(bench, "/one");
        (void)h2_run_until_request(bench, "/two");
        h2_send_garbage(bench->server.connections, garbage[i]);
        h2_run_until_done(one);
        h2_run_until_done(two);
        h2_assert_failed(one, ERROR_TEMPORARY, 0);
        h2_assert_failed(two, ERROR_TEMPORARY, 0);
        bench->is_answering = true;
        h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
        assert_int_equal(bench->server.connection_count, 2);
        bench->is_answering = false;
    }
}

static void fetch_many(struct h2_bench *bench)
{
    struct h2_call *calls[9] = {0};

    for (size_t i = 0; i < array_length(calls); i++)
        calls[i] = h2_get(bench, "/");
    for (size_t i = 0; i < array_length(calls); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_answered(calls[i], 200, "/");
    }
}

static void calls_are_queued_if_the_server_limits_concurrent_streams(void **state)
{
    struct h2_bench *bench = *state;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 2});
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/warm"), 200, "/warm");
    fetch_many(bench);
    assert_int_equal(bench->server.request_count, 10);
    assert_int_equal(bench->server.connection_count, 1);
}

/* The limit is part of the server's settings, which have not been received yet. */
static void calls_started_before_the_stream_limit_is_known_complete(void **state)
{
    struct h2_bench *bench = *state;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 2});
    bench->is_answering = true;
    fetch_many(bench);
    assert_int_equal(bench->server.request_count, 9);
}

static void a_queued_call_can_be_cancelled_and_can_time_out(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *first = NULL;
    struct h2_call *cancelled = NULL;
    struct h2_call *late = NULL;
    struct h2_call *next = NULL;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 1});
    first = h2_get(bench, "/first");
    (void)h2_run_until_request(bench, "/first");
    cancelled = h2_get(bench, "/cancelled");
    late = h2_call_new(bench, "/late");
    late->request.total_timeout_ms = 40;
    h2_call_start(late);
    h2_run_idle(bench);
    h2_call_cancel(cancelled);
    h2_run_until_done(late);
    h2_assert_failed(late, ERROR_TEMPORARY, ETIMEDOUT);
    h2_answer(h2_server_find(&bench->server, "/first"), 200, "", "first");
    h2_run_until_done(first);
    h2_assert_answered(first, 200, "first");
    bench->is_answering = true;
    next = h2_fetch(bench, "/next");
    h2_assert_answered(next, 200, "/next");
    assert_int_equal(cancelled->done_count, 0);
    assert_int_equal(h2_server_count(&bench->server, "/cancelled"), 0);
    assert_int_equal(h2_server_count(&bench->server, "/late"), 0);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(all_calls_of_a_broken_connection_fail_and_the_next_one_reconnects),
        test(an_idle_connection_closed_by_the_server_is_replaced),
        test(a_timeout_without_data_replaces_the_connection),
        cmocka_unit_test_setup_teardown(a_timeout_keeps_a_connection_on_which_other_calls_receive,
                                        h2_bench_setup_fake, h2_bench_teardown),
        test(a_frozen_connection_is_replaced),
        test(after_goaway_accepted_streams_complete_and_the_others_fail_as_unprocessed),
        test(after_goaway_the_connection_is_closed_with_its_last_call),
        test(an_idle_connection_is_not_reused_after_goaway),
        test(a_protocol_violation_is_temporary_and_the_next_call_reconnects),
        test(calls_are_queued_if_the_server_limits_concurrent_streams),
        test(calls_started_before_the_stream_limit_is_known_complete),
        test(a_queued_call_can_be_cancelled_and_can_time_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
