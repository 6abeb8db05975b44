/* SPDX-License-Identifier: Apache-2.0 */
/* How multiplexed calls end, and what callbacks may do to them. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void start_upload(struct h2_call *call, const char *body, size_t size)
{
    call->request.method = "POST";
    call->request.body = body;
    call->request.body_size = size;
    h2_call_start(call);
}

static void an_error_of_on_data_ends_only_its_call(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *other = h2_get(bench, "/other");
    struct h2_request *waiting = h2_run_until_request(bench, "/other");
    struct h2_call *call = h2_call_new(bench, "/");
    struct h2_request *request = NULL;

    call->request.on_data = h2_on_data;
    (void)error_set(&call->sink_error, ERROR_CONFLICT, "disk full");
    h2_call_start(call);
    request = h2_run_until_request(bench, "/");
    h2_begin(request, 200, "");
    h2_send(request, "12", 2);
    h2_run_until_done(call);
    h2_assert_failed(call, ERROR_CONFLICT, 0);
    assert_string_equal(call->err.text, "disk full");
    h2_answer(waiting, 200, "", "fine");
    h2_run_until_done(other);
    h2_assert_answered(other, 200, "fine");
    assert_int_equal(bench->server.connection_count, 1);
}

/* Both streams send at the same time, so that one read returns the data of both. */
static void on_data_may_cancel_its_own_call_and_another(void **state)
{
    static const struct {
        bool is_own;
    } cases[] = {{true}, {false}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *one_path = xasprintf("/one/%zu", i);
        cleanup_free char *two_path = xasprintf("/two/%zu", i);
        struct h2_call *one = h2_call_new(bench, one_path);
        struct h2_call *two = h2_call_new(bench, two_path);
        struct h2_call *gone = cases[i].is_own ? one : two;
        struct h2_call *left = cases[i].is_own ? two : one;
        struct h2_request *first = NULL;
        struct h2_request *second = NULL;

        one->cancelled = gone;
        one->request.on_data = h2_on_data;
        two->request.on_data = h2_on_data;
        h2_call_start(one);
        h2_call_start(two);
        first = h2_run_until_request(bench, one_path);
        second = h2_run_until_request(bench, two_path);
        h2_begin(first, 200, "");
        h2_begin(second, 200, "");
        h2_send(first, "12", 2);
        h2_send(second, "12", 2);
        h2_send(first, "34", 2);
        h2_run_until_bytes(one, 2);
        h2_end(cases[i].is_own ? second : first, NULL);
        h2_run_until_done(left);
        h2_assert_answered(left, 200, "");
        h2_run_idle(bench);
        assert_int_equal(gone->done_count, 0);
        assert_true(gone->data_count <= 1);
    }
    assert_int_equal(bench->server.connection_count, 1);
}

static void callbacks_may_start_calls_and_cancel_them_at_once(void **state)
{
    static const struct {
        bool is_streamed, is_cancelled;
    } cases[] = {{true, false}, {true, true}, {false, false}, {false, true}};
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, "/");
        struct h2_call *next = h2_call_new(bench, "/next");
        size_t request_count = h2_server_count(&bench->server, "/next");

        call->request.on_data = cases[i].is_streamed ? h2_on_data : NULL;
        call->started = next;
        call->cancelled = cases[i].is_cancelled ? next : NULL;
        h2_call_start(call);
        h2_run_until_done(call);
        h2_assert_answered(call, 200, cases[i].is_streamed ? "" : "/");
        if (cases[i].is_cancelled) {
            h2_run_idle(bench);
            assert_int_equal(next->done_count, 0);
            assert_int_equal(h2_server_count(&bench->server, "/next"), request_count);
        } else {
            h2_run_until_done(next);
            h2_assert_answered(next, 200, "/next");
        }
    }
    assert_int_equal(bench->server.connection_count, 1);
    assert_false(http_client_is_busy(bench->client));
}

static void on_done_may_cancel_its_own_call_and_another(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *waiting = h2_get(bench, "/waiting");
    struct h2_call *own = NULL;
    struct h2_call *canceller = NULL;

    (void)h2_run_until_request(bench, "/waiting");
    bench->is_answering = true;
    own = h2_call_new(bench, "/own");
    own->cancelled = own;
    h2_call_start(own);
    h2_run_until_done(own);
    h2_assert_answered(own, 200, "/own");
    canceller = h2_call_new(bench, "/canceller");
    canceller->cancelled = waiting;
    h2_call_start(canceller);
    h2_run_until_done(canceller);
    h2_assert_answered(canceller, 200, "/canceller");
    h2_run_idle(bench);
    assert_int_equal(waiting->done_count, 0);
}

/* One read completes two responses, and on_done of the first call cancels the second. */
static void on_done_may_cancel_a_call_that_has_already_completed(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *one = h2_call_new(bench, "/one");
    struct h2_call *two = h2_get(bench, "/two");
    struct h2_request *second = h2_run_until_request(bench, "/two");

    one->cancelled = two;
    h2_call_start(one);
    h2_answer(h2_run_until_request(bench, "/one"), 200, "", "one");
    h2_answer(second, 200, "", "two");
    h2_run_until_done(one);
    h2_assert_answered(one, 200, "one");
    h2_run_idle(bench);
    /* The order is unspecified, but on_done is called at most once and not after a cancel. */
    assert_true(two->done_count <= 1);
    assert_null(two->call);
}

static void a_call_that_is_cancelled_before_it_is_sent_is_never_sent(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_get(bench, "/cold");

    h2_call_cancel(call);
    http_cancel(NULL);
    h2_run_idle(bench);
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    h2_call_cancel(h2_get(bench, "/warm"));
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    assert_int_equal(call->done_count, 0);
    assert_int_equal(h2_server_count(&bench->server, "/cold"), 0);
    assert_int_equal(h2_server_count(&bench->server, "/warm"), 0);
}

static void the_only_call_can_be_cancelled_while_it_connects(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;

    h2_bench_restart(bench, (struct h2_options){.is_deaf = true});
    call = h2_get(bench, "/");
    h2_run_until_open(bench, &bench->server, 1);
    h2_call_cancel(call);
    h2_run_idle(bench);
    assert_int_equal(call->done_count, 0);
}

static void the_stream_of_a_call_that_ends_early_is_reset_and_others_continue(void **state)
{
    static const struct {
        bool is_begun, is_sink_failing, is_cancelled_by_sink;
    } cases[] = {
        {false, false, false},
        {true, false, false},
        {true, true, false},
        {true, false, true},
    };
    struct h2_bench *bench = *state;
    struct h2_call *other = h2_get(bench, "/other");
    struct h2_request *waiting = h2_run_until_request(bench, "/other");

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);
        struct h2_request *request = NULL;

        call->request.on_data = h2_on_data;
        call->cancelled = cases[i].is_cancelled_by_sink ? call : NULL;
        if (cases[i].is_sink_failing)
            (void)error_set(&call->sink_error, ERROR_CONFLICT, "disk full");
        h2_call_start(call);
        request = h2_run_until_request(bench, path);
        if (cases[i].is_begun) {
            h2_begin(request, 200, "");
            h2_send(request, "12", 2);
            if (cases[i].is_sink_failing)
                h2_run_until_done(call);
            else
                h2_run_until_bytes(call, 2);
        }
        h2_call_cancel(call);
        h2_run_until_reset(bench, request);
        assert_int_equal(request->reset_code, NGHTTP2_CANCEL);
        assert_int_equal(call->done_count, cases[i].is_sink_failing ? 1 : 0);
    }
    h2_answer(waiting, 200, "", "fine");
    h2_run_until_done(other);
    h2_assert_answered(other, 200, "fine");
    assert_int_equal(bench->server.connection_count, 1);
}

static void cancel_first_call(void *data, struct h2_request *request)
{
    struct h2_bench *bench = data;

    (void)request;
    h2_call_cancel(bench->calls[0]);
}

static void a_call_may_be_cancelled_while_its_body_is_sent(void **state)
{
    enum { SIZE = 2 * 1024 * 1024 };
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_call_new(bench, "/");
    cleanup_free char *large = xcalloc(1, SIZE);

    bench->is_answering = true;
    bench->on_head = cancel_first_call;
    start_upload(call, large, SIZE);
    h2_assert_answered(h2_fetch(bench, "/other"), 200, "/other");
    h2_run_idle(bench);
    assert_int_equal(call->done_count, 0);
    assert_int_equal(h2_server_count(&bench->server, "/"), 0);
    assert_int_equal(bench->server.connection_count, 1);
}

static void stall_and_total_timeouts_end_a_call(void **state)
{
    static const struct {
        uint64_t total_ms, stall_ms;
        bool is_begun;
    } cases[] = {
        {40, 0, false},     {1000, 0, true}, /* long enough to connect on a busy machine */
        {20000, 40, false}, {20000, 1000, true}, {40, 20000, false},
    };
    struct h2_bench *bench = *state;
    struct h2_call *other = h2_get(bench, "/other");
    struct h2_request *waiting = h2_run_until_request(bench, "/other");

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);

        call->request.total_timeout_ms = cases[i].total_ms;
        call->request.stall_timeout_ms = cases[i].stall_ms;
        h2_call_start(call);
        if (cases[i].is_begun) {
            struct h2_request *request = h2_run_until_request(bench, path);

            h2_begin(request, 200, "content-length: 10\r\n");
            h2_send(request, "12", 2);
        }
        h2_run_until_done(call);
        h2_assert_failed(call, ERROR_TEMPORARY, ETIMEDOUT);
    }
    h2_answer(waiting, 200, "", "fine");
    h2_run_until_done(other);
    h2_assert_answered(other, 200, "fine");
}

static void a_stream_reset_fails_its_call_and_others_continue(void **state)
{
    static const struct {
        uint32_t code;
        bool is_begun;
    } cases[] = {
        {NGHTTP2_INTERNAL_ERROR, false},
        {NGHTTP2_INTERNAL_ERROR, true},
        {NGHTTP2_CANCEL, false},
    };
    struct h2_bench *bench = *state;
    struct h2_call *other = h2_get(bench, "/other");
    struct h2_request *waiting = h2_run_until_request(bench, "/other");

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_get(bench, path);
        struct h2_request *request = h2_run_until_request(bench, path);

        if (cases[i].is_begun) {
            h2_begin(request, 200, "");
            h2_send(request, "12", 2);
        }
        h2_reset(request, cases[i].code);
        h2_run_until_done(call);
        h2_assert_failed(call, ERROR_TEMPORARY, 0);
        assert_int_equal(h2_server_count(&bench->server, path), 1);
    }
    h2_answer(waiting, 200, "", "fine");
    h2_run_until_done(other);
    h2_assert_answered(other, 200, "fine");
    assert_int_equal(bench->server.connection_count, 1);
}

/* NO_ERROR before END_STREAM still means that the response is incomplete. */
static void a_truncated_stream_is_an_error(void **state)
{
    static const struct {
        bool is_begun, is_streamed;
    } cases[] = {{false, false}, {true, false}, {true, true}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);
        struct h2_request *request = NULL;

        call->request.on_data = cases[i].is_streamed ? h2_on_data : NULL;
        h2_call_start(call);
        request = h2_run_until_request(bench, path);
        if (cases[i].is_begun) {
            h2_begin(request, 200, "");
            h2_send(request, "12", 2);
        }
        h2_reset(request, NGHTTP2_NO_ERROR);
        h2_run_until_done(call);
        h2_assert_failed(call, ERROR_TEMPORARY, 0);
    }
}

/* REFUSED_STREAM guarantees that the request was not processed, so any request may be retried. */
static void a_refused_stream_is_reported_as_unprocessed(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_get(bench, "/");

    h2_reset(h2_run_until_request(bench, "/"), NGHTTP2_REFUSED_STREAM);
    h2_run_until_done(call);
    h2_assert_failed(call, ERROR_TEMPORARY, ECONNREFUSED);
    assert_int_equal(bench->server.request_count, 1);
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/again"), 200, "/again");
}

static void an_error_status_counts_even_if_its_body_is_truncated(void **state)
{
    static const struct {
        uint32_t code;
        bool is_closed;
    } cases[] = {{NGHTTP2_NO_ERROR, false}, {NGHTTP2_INTERNAL_ERROR, false}, {0, true}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_get(bench, path);
        struct h2_request *request = h2_run_until_request(bench, path);

        h2_begin(request, 413, "content-length: 100\r\n");
        h2_send(request, "too", 3);
        if (cases[i].is_closed)
            h2_close(request->connection);
        else
            h2_reset(request, cases[i].code);
        h2_run_until_done(call);
        if (call->err.kind != ERROR_NONE)
            fail_msg("case %zu: %s", i, call->err.text);
        assert_int_equal(call->status, 413);
    }
}

static void answer_and_reset(void *data, struct h2_request *request)
{
    int status = strcmp(request->path, "/413") == 0 ? 413 : 200;

    (void)data;
    h2_answer(request, status, "", "enough");
    h2_reset(request, NGHTTP2_NO_ERROR);
}

/* As Go's server does: a complete response, then a reset to stop the upload. */
static void a_complete_response_counts_before_the_request_is_fully_sent(void **state)
{
    enum { SIZE = 2 * 1024 * 1024 };
    static const struct {
        const char *path;
        int status;
    } cases[] = {{"/413", 413}, {"/200", 200}};
    struct h2_bench *bench = *state;
    cleanup_free char *large = xcalloc(1, SIZE);

    bench->on_head = answer_and_reset;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, cases[i].path);

        start_upload(call, large, SIZE);
        h2_run_until_done(call);
        h2_assert_answered(call, cases[i].status, "enough");
    }
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 1);
}

static void freeing_the_client_cancels_its_calls(void **state)
{
    enum { SIZE = 2 * 1024 * 1024 };
    struct h2_bench *bench = *state;
    struct h2_call *begun = h2_call_new(bench, "/begun");
    struct h2_request *request = NULL;
    cleanup_free char *large = xcalloc(1, SIZE);
    cleanup_free char *url = NULL;

    begun->request.on_data = h2_on_data;
    begun->request.stall_timeout_ms = 10000;
    h2_call_start(begun);
    request = h2_run_until_request(bench, "/begun");
    h2_begin(request, 200, "");
    h2_send(request, "12", 2);
    h2_run_until_bytes(begun, 2);
    (void)h2_get(bench, "/waiting");
    (void)h2_run_until_request(bench, "/waiting");
    h2_bench_start_other(bench, (struct h2_options){.is_deaf = true});
    url = xasprintf("https://127.0.0.1:%d/connecting", bench->other.port);
    h2_call_start(h2_call_new_at(bench, &bench->other_tls, url));
    h2_run_until_open(bench, &bench->other, 1);
    start_upload(h2_call_new(bench, "/sending"), large, SIZE);
    (void)h2_get(bench, "/not-sent");
    http_client_free(bench->client);
    bench->client = NULL;
    h2_run_until_open(bench, &bench->server, 0);
    for (size_t i = 0; i < bench->call_count; i++)
        assert_int_equal(bench->calls[i]->done_count, 0);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(an_error_of_on_data_ends_only_its_call),
        test(on_data_may_cancel_its_own_call_and_another),
        test(callbacks_may_start_calls_and_cancel_them_at_once),
        test(on_done_may_cancel_its_own_call_and_another),
        test(on_done_may_cancel_a_call_that_has_already_completed),
        test(a_call_that_is_cancelled_before_it_is_sent_is_never_sent),
        test(the_only_call_can_be_cancelled_while_it_connects),
        test(the_stream_of_a_call_that_ends_early_is_reset_and_others_continue),
        test(a_call_may_be_cancelled_while_its_body_is_sent),
        test(stall_and_total_timeouts_end_a_call),
        test(a_stream_reset_fails_its_call_and_others_continue),
        test(a_truncated_stream_is_an_error),
        test(a_refused_stream_is_reported_as_unprocessed),
        test(an_error_status_counts_even_if_its_body_is_truncated),
        test(a_complete_response_counts_before_the_request_is_fully_sent),
        test(freeing_the_client_cancels_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
