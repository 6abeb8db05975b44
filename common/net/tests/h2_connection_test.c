/* SPDX-License-Identifier: Apache-2.0 */
/* What connections of multiplexed calls do to them: they break, fall silent, go away and have
 * limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void every_call_of_a_connection_that_breaks_fails_and_the_next_opens_another(void **state)
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

static void an_idle_connection_that_the_server_closed_is_just_replaced(void **state)
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

/* It may be a dead one, whose packets nobody answers; that of others is not taken from them. */
static void after_a_silent_timeout_the_next_call_gets_another_connection(void **state)
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
        h2_run_until_open(bench, &bench->server, 1); /* the old one went with its last call */
    }
}

static void a_frozen_connection_is_left_behind(void **state)
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

static void a_server_that_goes_away_ends_what_it_began_and_has_not_looked_at_the_rest(void **state)
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

static void a_connection_that_went_away_is_closed_with_its_last_call(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_get(bench, "/");
    struct h2_request *request = h2_run_until_request(bench, "/");

    h2_go_away(request->connection, INT32_MAX); /* as graceful servers begin */
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

static void an_idle_connection_that_went_away_is_not_used_again(void **state)
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

static void what_is_no_http2_is_temporary_and_the_next_call_connects_anew(void **state)
{
    static const char *const words[] = {
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        "this is not what was agreed upon, not at all",
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(words); i++) {
        struct h2_call *one = NULL;
        struct h2_call *two = NULL;

        /* Before a word of HTTP/2 ... */
        h2_bench_restart(bench, (struct h2_options){.greeting = words[i]});
        one = h2_fetch(bench, "/");
        h2_assert_failed(one, ERROR_TEMPORARY, 0);
        /* ... and in the middle of it. */
        h2_bench_restart(bench, (struct h2_options){0});
        one = h2_get(bench, "/one");
        two = h2_get(bench, "/two");
        (void)h2_run_until_request(bench, "/one");
        (void)h2_run_until_request(bench, "/two");
        h2_send_garbage(bench->server.connections, words[i]);
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

static void calls_wait_for_their_turn_if_the_server_limits_its_streams(void **state)
{
    struct h2_bench *bench = *state;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 2});
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/warm"), 200, "/warm");
    fetch_many(bench);
    assert_int_equal(bench->server.request_count, 10);
    assert_int_equal(bench->server.connection_count, 1);
}

/* The limit comes with the server's first words, which are still under way then. */
static void calls_that_are_there_before_the_limit_is_known_are_all_answered(void **state)
{
    struct h2_bench *bench = *state;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 2});
    bench->is_answering = true;
    fetch_many(bench);
    assert_int_equal(bench->server.request_count, 9);
}

static void a_call_that_waits_for_its_turn_may_be_cancelled_and_may_time_out(void **state)
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
        test(every_call_of_a_connection_that_breaks_fails_and_the_next_opens_another),
        test(an_idle_connection_that_the_server_closed_is_just_replaced),
        test(after_a_silent_timeout_the_next_call_gets_another_connection),
        test(a_frozen_connection_is_left_behind),
        test(a_server_that_goes_away_ends_what_it_began_and_has_not_looked_at_the_rest),
        test(a_connection_that_went_away_is_closed_with_its_last_call),
        test(an_idle_connection_that_went_away_is_not_used_again),
        test(what_is_no_http2_is_temporary_and_the_next_call_connects_anew),
        test(calls_wait_for_their_turn_if_the_server_limits_its_streams),
        test(calls_that_are_there_before_the_limit_is_known_are_all_answered),
        test(a_call_that_waits_for_its_turn_may_be_cancelled_and_may_time_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
