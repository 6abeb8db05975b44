/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of multiplexed calls: limits, content-length, large bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void body_limit_is_exact(void **state)
{
    static const struct {
        int status;
        const char *headers, *body, *kept;
        enum error_kind kind;
    } cases[] = {
        {200, "content-length: 4\r\n", "1234", "1234", ERROR_NONE},
        {200, "", "1234", "1234", ERROR_NONE},
        {200, "content-length: 5\r\n", "12345", NULL, ERROR_TOO_LARGE},
        {200, "", "12345", NULL, ERROR_TOO_LARGE},
        /* An error body is truncated instead. */
        {403, "content-length: 4\r\n", "1234", "1234", ERROR_NONE},
        {403, "content-length: 5\r\n", "12345", "1234", ERROR_NONE},
        {403, "", "12345", "1234", ERROR_NONE},
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);

        call->request.body_max = 4;
        h2_call_start(call);
        h2_answer(h2_run_until_request(bench, path), cases[i].status, cases[i].headers,
                  cases[i].body);
        h2_run_until_done(call);
        if (cases[i].kind == ERROR_NONE)
            h2_assert_answered(call, cases[i].status, cases[i].kept);
        else
            h2_assert_failed(call, cases[i].kind, 0);
    }
}

static void endless_headers_end_only_their_call(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *other = h2_get(bench, "/other");
    struct h2_request *waiting = h2_run_until_request(bench, "/other");
    struct h2_call *call = h2_get(bench, "/");
    cleanup_buffer struct buffer headers = {0};
    struct error err = {0};

    buffer_init(&headers, 600000);
    while (headers.size < 500000)
        assert_int_equal(buffer_append_text(&headers, &err, "a: %01000d\r\n", 0), 0);
    h2_answer(h2_run_until_request(bench, "/"), 200, headers.data, "");
    h2_run_until_done(call);
    h2_assert_failed(call, ERROR_TOO_LARGE, 0);
    h2_answer(waiting, 200, "", "fine");
    h2_run_until_done(other);
    h2_assert_answered(other, 200, "fine");
}

static void a_body_must_be_as_long_as_its_announced_length(void **state)
{
    static const struct {
        const char *headers, *body;
    } cases[] = {
        {"content-length: 10\r\n", "12345"},
        {"content-length: 3\r\n", "12345"},
        {"content-length: 3\r\n", ""},
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_get(bench, path);

        h2_answer(h2_run_until_request(bench, path), 200, cases[i].headers, cases[i].body);
        h2_run_until_done(call);
        h2_assert_failed(call, ERROR_TEMPORARY, 0);
    }
}

static void responses_without_a_body_are_complete(void **state)
{
    static const struct {
        const char *method;
        int status;
        const char *headers;
    } cases[] = {
        {"HEAD", 200, "content-length: 1000\r\n"},
        {"GET", 304, "content-length: 1000\r\n"},
        {"GET", 204, ""},
        {"GET", 200, "content-length: 0\r\n"},
        {"GET", 200, ""},
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);

        call->request.method = cases[i].method;
        h2_call_start(call);
        h2_answer(h2_run_until_request(bench, path), cases[i].status, cases[i].headers, "");
        h2_run_until_done(call);
        h2_assert_answered(call, cases[i].status, "");
    }
}

static char *make_large(size_t size)
{
    char *bytes = xmalloc(size);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i % 23);
    return bytes;
}

/* A stream that is not read must not block another one, although they share the window of the
 * connection. */
static void large_responses_are_complete_while_a_watch_is_idle(void **state)
{
    static const char *const paths[] = {"/1", "/2"};
    enum { SIZE = 5 * 1024 * 1024 };
    struct h2_bench *bench = *state;
    struct h2_call *watch = h2_call_new(bench, "/watch");
    struct h2_request *watched = NULL;
    struct h2_call *calls[array_length(paths)] = {0};
    cleanup_free char *large = make_large(SIZE);

    watch->request.on_data = h2_on_data;
    watch->request.total_timeout_ms = 0;
    h2_call_start(watch);
    watched = h2_run_until_request(bench, "/watch");
    h2_begin(watched, 200, "");
    h2_send(watched, "first", 5);
    h2_run_until_bytes(watch, 5);
    for (size_t i = 0; i < array_length(paths); i++) {
        struct h2_request *request = NULL;

        calls[i] = h2_call_new(bench, paths[i]);
        calls[i]->request.on_data = h2_on_data;
        h2_call_start(calls[i]);
        request = h2_run_until_request(bench, paths[i]);
        h2_begin(request, 200, "");
        h2_send(request, large, SIZE);
        h2_end(request, NULL);
    }
    for (size_t i = 0; i < array_length(paths); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_answered(calls[i], 200, "");
        assert_int_equal(calls[i]->data.size, SIZE);
        assert_memory_equal(calls[i]->data.data, large, SIZE);
    }
    h2_send(watched, "last", 4);
    h2_run_until_bytes(watch, 9);
    assert_int_equal(watch->done_count, 0);
    assert_int_equal(bench->server.connection_count, 1);
}

static void concurrent_large_requests_are_complete(void **state)
{
    static const char *const paths[] = {"/1", "/2"};
    enum { SIZE = 2 * 1024 * 1024 };
    struct h2_bench *bench = *state;
    struct h2_call *calls[array_length(paths)] = {0};
    cleanup_free char *large = make_large(SIZE);

    bench->is_answering = true;
    for (size_t i = 0; i < array_length(paths); i++) {
        calls[i] = h2_call_new(bench, paths[i]);
        calls[i]->request.method = "POST";
        calls[i]->request.body = large;
        calls[i]->request.body_size = SIZE;
        h2_call_start(calls[i]);
    }
    for (size_t i = 0; i < array_length(paths); i++) {
        const struct h2_request *request = NULL;

        h2_run_until_done(calls[i]);
        h2_assert_answered(calls[i], 200, paths[i]);
        request = h2_server_find(&bench->server, paths[i]);
        assert_int_equal(request->body.size, SIZE);
        assert_memory_equal(request->body.data, large, SIZE);
        assert_string_equal(h2_request_header(request, "content-length"), "2097152");
    }
    assert_int_equal(bench->server.connection_count, 1);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(body_limit_is_exact),
        test(endless_headers_end_only_their_call),
        test(a_body_must_be_as_long_as_its_announced_length),
        test(responses_without_a_body_are_complete),
        test(large_responses_are_complete_while_a_watch_is_idle),
        test(concurrent_large_requests_are_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
