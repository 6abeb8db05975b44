/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of calls, how they fail, and what callbacks may do to them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/http_bench.h"

static void body_limit_is_exact(void **state)
{
    static const struct {
        const char *answer;
        size_t max;
        enum error_kind kind;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234", 4, ERROR_NONE},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", 4, ERROR_TOO_LARGE},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n0\r\n\r\n", 4,
         ERROR_NONE},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n1\r\n5\r\n0\r\n\r\n", 4,
         ERROR_TOO_LARGE},
    };
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");

    for (size_t i = 0; i < array_length(cases); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        bench->answer = cases[i].answer;
        request.body_max = cases[i].max;
        bench_fetch(&request, &got);
        assert_int_equal(got.err.kind, cases[i].kind);
        if (cases[i].kind == ERROR_NONE)
            assert_string_equal(got.body, "1234");
        got_done(&got);
    }
}

static void the_body_of_an_error_response_is_truncated(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench->answer = "HTTP/1.1 403 No\r\nContent-Length: 10\r\n\r\n1234567890";
    request.body_max = 4;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_NONE);
    assert_int_equal(got.status, 403);
    assert_string_equal(got.body, "1234");
    got_done(&got);
}

static void endless_headers_end_the_call(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    cleanup_buffer struct buffer answer = {0};
    struct error err = {0};
    struct http_request request = bench_request(bench, &got, url);

    buffer_init(&answer, 600000);
    assert_int_equal(buffer_append_text(&answer, &err, "HTTP/1.1 200 OK\r\n"), 0);
    while (answer.size < 500000)
        assert_int_equal(buffer_append_text(&answer, &err, "A: %01000d\r\n", 0), 0);
    assert_int_equal(buffer_append_text(&answer, &err, "\r\n"), 0);
    bench->answer = answer.data;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_TOO_LARGE);
    got_done(&got);
}

static void connection_errors_are_temporary_and_do_not_show_the_query(void **state)
{
    static const char *const answers[] = {
        NULL, /* closed without a response */
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n12",
    };
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/path?s3cret");

    bench->is_closed_after = true;
    for (size_t i = 0; i < array_length(answers); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        bench->answer = answers[i];
        bench_fetch(&request, &got);
        assert_int_equal(got.err.kind, ERROR_TEMPORARY);
        assert_non_null(strstr(got.err.text, "/path\""));
        assert_null(strstr(got.err.text, "s3cret"));
        got_done(&got);
    }
}

static void connection_refused_is_temporary(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    struct loopback gone = {0};
    cleanup_free char *url = NULL;
    struct http_request request = {0};

    loopback_start(&gone, bench->loop, NULL, NULL);
    loopback_done(&gone);
    url = bench_url(&gone, "/path?s3cret");
    request = bench_request(bench, &got, url);
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_TEMPORARY);
    assert_int_equal(got.status, 0);
    assert_int_equal(got.err.os, ECONNREFUSED);
    assert_non_null(strstr(got.err.text, "GET \"http://127.0.0.1:"));
    assert_null(strstr(got.err.text, "s3cret"));
    got_done(&got);
}

static void an_error_status_counts_even_if_the_connection_breaks(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench->answer = "HTTP/1.1 413 Too large\r\nContent-Length: 100\r\n\r\n";
    bench->is_closed_after = true;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_NONE);
    assert_int_equal(got.status, 413);
    got_done(&got);
}

static void a_call_without_data_fails_after_the_stall_timeout(void **state)
{
    static const char *const answers[] = {NULL, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12"};
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");

    for (size_t i = 0; i < array_length(answers); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        bench->answer = answers[i];
        request.stall_timeout_ms = 40;
        bench_fetch(&request, &got);
        assert_int_equal(got.err.kind, ERROR_TEMPORARY);
        assert_int_equal(got.err.os, ETIMEDOUT);
        got_done(&got);
    }
}

static void a_call_fails_after_its_total_timeout(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    request.total_timeout_ms = 30;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_TEMPORARY);
    assert_int_equal(got.err.os, ETIMEDOUT);
    got_done(&got);
}

static int refuse_data(void *data, const struct http_response *response, const char *bytes,
                       size_t size, struct error *err)
{
    (void)data;
    (void)response;
    (void)bytes;
    (void)size;
    return error_set(err, ERROR_CONFLICT, "disk full");
}

static void an_error_of_on_data_ends_the_call(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12";
    request.on_data = refuse_data;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_CONFLICT);
    assert_string_equal(got.err.text, "disk full");
    got_done(&got);
}

static int fail_without_error(void *data, const struct http_response *response, const char *bytes,
                              size_t size, struct error *err)
{
    (void)data;
    (void)response;
    (void)bytes;
    (void)size;
    (void)err;
    return -1;
}

/* A bug of the caller must not look like a complete response. */
static void on_data_that_fails_without_an_error_is_an_internal_error(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12";
    request.on_data = fail_without_error;
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_INTERNAL);
    got_done(&got);
}

static void a_call_may_be_cancelled_before_it_is_sent(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench_start(&request, &got);
    http_cancel(got.call);
    http_cancel(NULL);
    bench_run_idle(bench);
    assert_int_equal(got.done_count, 0);
    assert_int_equal(bench->server.request_count, 0);
    got_done(&got);
}

static void a_call_may_be_cancelled_while_it_waits_for_the_response(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    bench_start(&request, &got);
    bench_run_until_count(bench, &bench->server.request_count, 1);
    http_cancel(got.call);
    loopback_send(bench->last_connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    bench_run_idle(bench);
    assert_int_equal(got.done_count, 0);
    got_done(&got);
}

static void on_data_may_cancel_its_own_call(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    got.cancelled = &got.call;
    request.on_data = bench_on_data;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234567890";
    bench_start(&request, &got);
    bench_run_until_count(bench, &bench->server.request_count, 1);
    bench_run_idle(bench);
    assert_int_equal(got.data_count, 1);
    assert_int_equal(got.done_count, 0);
    got_done(&got);
}

static void on_data_may_cancel_a_call_that_waits(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    struct got other = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    cleanup_free char *other_url = bench_url(&bench->other, "/");
    struct http_request request = bench_request(bench, &got, url);
    struct http_request second = bench_request(bench, &other, other_url);

    bench_start(&second, &other);
    bench_run_until_count(bench, &bench->other.request_count, 1);
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12";
    got.cancelled = &other.call;
    request.on_data = bench_on_data;
    bench_fetch(&request, &got);
    bench_run_idle(bench);
    assert_int_equal(other.done_count, 0);
    got_done(&got);
    got_done(&other);
}

static void on_done_may_cancel_its_own_call_and_others(void **state)
{
    struct bench *bench = *state;
    struct got own = {0};
    struct got other = {0};
    struct got canceller = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    cleanup_free char *other_url = bench_url(&bench->other, "/");
    struct http_request request = bench_request(bench, &own, url);
    struct http_request second = bench_request(bench, &other, other_url);

    own.cancelled = &own.call;
    bench_start(&second, &other);
    bench_run_until_count(bench, &bench->other.request_count, 1);
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12";
    bench_fetch(&request, &own);
    request = bench_request(bench, &canceller, url);
    canceller.cancelled = &other.call;
    bench_fetch(&request, &canceller);
    bench_run_idle(bench);
    assert_int_equal(other.done_count, 0);
    got_done(&own);
    got_done(&other);
    got_done(&canceller);
}

struct chain {
    struct got got; /* first, for bench_on_done() */
    struct got next;
    const char *url;
};

static int start_next(void *data, const struct http_response *response, const char *bytes,
                      size_t size, struct error *err)
{
    struct chain *chain = data;
    struct http_request request = bench_request(chain->got.bench, &chain->next, chain->url);

    (void)response;
    (void)bytes;
    (void)size;
    (void)err;
    assert_true(http_client_is_busy(chain->got.bench->client));
    if (chain->next.call)
        return 0;
    bench_start(&request, &chain->next);
    http_cancel(chain->next.call); /* not sent yet */
    bench_start(&request, &chain->next);
    return 0;
}

static void on_data_may_start_calls_and_cancel_them_at_once(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct chain chain = {.url = url};
    struct http_request request = bench_request(bench, &chain.got, url);

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12";
    request.on_data = start_next;
    bench_fetch(&request, &chain.got);
    bench_run_until_done(bench, &chain.next);
    assert_int_equal(chain.next.status, 200);
    assert_int_equal(bench->server.request_count, 2);
    assert_false(http_client_is_busy(bench->client));
    got_done(&chain.got);
    got_done(&chain.next);
}

static void freeing_the_client_cancels_its_calls(void **state)
{
    struct bench *bench = *state;
    struct got got[3] = {{0}};
    cleanup_free char *url = bench_url(&bench->server, "/");

    for (size_t i = 0; i < array_length(got); i++) {
        struct http_request request = bench_request(bench, &got[i], url);

        request.stall_timeout_ms = 10000;
        bench_start(&request, &got[i]);
        if (i == 1)
            bench_run_until_count(bench, &bench->server.request_count, 1);
    }
    http_client_free(bench->client);
    bench->client = NULL;
    bench_run_idle(bench);
    for (size_t i = 0; i < array_length(got); i++) {
        assert_int_equal(got[i].done_count, 0);
        got_done(&got[i]);
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(body_limit_is_exact),
        test(the_body_of_an_error_response_is_truncated),
        test(endless_headers_end_the_call),
        test(connection_errors_are_temporary_and_do_not_show_the_query),
        test(connection_refused_is_temporary),
        test(an_error_status_counts_even_if_the_connection_breaks),
        test(a_call_without_data_fails_after_the_stall_timeout),
        test(a_call_fails_after_its_total_timeout),
        test(an_error_of_on_data_ends_the_call),
        test(on_data_that_fails_without_an_error_is_an_internal_error),
        test(a_call_may_be_cancelled_before_it_is_sent),
        test(a_call_may_be_cancelled_while_it_waits_for_the_response),
        test(on_data_may_cancel_its_own_call),
        test(on_data_may_cancel_a_call_that_waits),
        test(on_done_may_cancel_its_own_call_and_others),
        test(on_data_may_start_calls_and_cancel_them_at_once),
        test(freeing_the_client_cancels_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
