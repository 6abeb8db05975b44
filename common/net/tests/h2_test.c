/* SPDX-License-Identifier: Apache-2.0 */
/* What multiplexed calls send and what comes back. Their life: h2_life_test.c; what becomes of them
 * when the connection fails: h2_connection_test.c. */
#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void methods_bodies_and_headers_arrive_exactly(void **state)
{
    static const struct {
        const char *method, *path, *body, *type, *length;
    } cases[] = {
        {"GET", "/a/b?labelSelector=a%3Db&limit=500", NULL, NULL, NULL},
        {"GET", "/%7Ea%20b", NULL, NULL, NULL},
        {"DELETE", "/a", NULL, NULL, NULL},
        {"DELETE", "/a", "{}", "application/json", "2"},
        {"POST", "/", "{\"a\":1}", "application/json", "7"},
        {"POST", "/?dryRun=All", "", NULL, "0"},
        {"PUT", "/a", "abc", NULL, "3"},
        {"PATCH", "/a", "[]", "application/json-patch+json", "2"},
    };
    struct h2_bench *bench = *state;
    cleanup_free char *authority = xasprintf("127.0.0.1:%d", bench->server.port);

    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct http_header headers[] = {
            {"X-One", "1"}, {"X-Empty", ""}, {"Content-Type", cases[i].type}};
        struct h2_call *call = h2_call_new(bench, cases[i].path);
        const struct h2_request *request = NULL;

        call->request.method = cases[i].method;
        call->request.body = cases[i].body;
        call->request.body_size = cases[i].body ? strlen(cases[i].body) : 0;
        call->request.headers = headers;
        call->request.header_count = cases[i].type ? 3 : 2;
        h2_call_start(call);
        h2_run_until_done(call);
        h2_assert_answered(call, 200, cases[i].path);
        assert_int_equal(bench->server.request_count, i + 1);
        request = bench->server.requests[i];
        assert_string_equal(request->method, cases[i].method);
        assert_string_equal(request->path, cases[i].path);
        assert_string_equal(request->authority, authority);
        assert_string_equal(h2_request_header(request, ":scheme"), "https");
        assert_string_equal(h2_request_header(request, "user-agent"), "test/1");
        assert_string_equal(h2_request_header(request, "x-one"), "1");
        assert_string_equal(h2_request_header(request, "x-empty"), "");
        assert_string_equal(request->body.size ? request->body.data : "",
                            cases[i].body ? cases[i].body : "");
        if (cases[i].type)
            assert_string_equal(h2_request_header(request, "content-type"), cases[i].type);
        else
            assert_null(h2_request_header(request, "content-type"));
        if (cases[i].length)
            assert_string_equal(h2_request_header(request, "content-length"), cases[i].length);
        else
            assert_null(h2_request_header(request, "content-length"));
        assert_null(h2_request_header(request, "expect"));
        assert_null(h2_request_header(request, "authorization"));
        assert_null(h2_request_header(request, "accept-encoding"));
    }
    assert_int_equal(bench->server.connection_count, 1);
}

static void several_calls_share_a_connection_and_are_answered_in_any_order(void **state)
{
    static const char *const paths[] = {"/1", "/2", "/3", "/4", "/5"};
    struct h2_bench *bench = *state;
    struct h2_call *calls[array_length(paths)] = {0};

    for (size_t i = 0; i < array_length(paths); i++)
        calls[i] = h2_get(bench, paths[i]);
    for (size_t i = 0; i < array_length(paths); i++)
        (void)h2_run_until_request(bench, paths[i]);
    for (size_t i = array_length(paths); i > 0; i--) {
        h2_answer(h2_server_find(&bench->server, paths[i - 1]), 200, "", paths[i - 1]);
        h2_run_until_done(calls[i - 1]);
        h2_assert_answered(calls[i - 1], 200, paths[i - 1]);
        assert_int_equal(calls[0]->done_count, i == 1 ? 1 : 0);
    }
    assert_int_equal(bench->server.connection_count, 1);
    assert_int_equal(bench->server.request_count, array_length(paths));
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(methods_bodies_and_headers_arrive_exactly),
        test(several_calls_share_a_connection_and_are_answered_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
