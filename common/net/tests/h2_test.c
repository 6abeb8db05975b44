/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses of multiplexed calls. Limits and large bodies: h2_body_test.c; errors and
 * cancellation: h2_life_test.c; connections: h2_connection_test.c and h2_trust_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static void methods_bodies_and_headers_are_sent_unchanged(void **state)
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

static void calls_share_a_connection_and_complete_in_any_order(void **state)
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

static void credentials_are_sent_in_their_header(void **state)
{
    static const struct {
        const char *bearer, *user, *password, *header;
    } cases[] = {
        {"t0ken", NULL, NULL, "Bearer t0ken"},
        {NULL, "user", "pass", "Basic dXNlcjpwYXNz"},
        {NULL, "user", NULL, "Basic dXNlcjo="},
    };
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, "/");

        call->request.bearer = cases[i].bearer;
        call->request.basic_user = cases[i].user;
        call->request.basic_password = cases[i].password;
        h2_call_start(call);
        h2_run_until_done(call);
        h2_assert_answered(call, 200, "/");
        assert_string_equal(h2_request_header(bench->server.requests[i], "authorization"),
                            cases[i].header);
    }
}

static void reserved_and_invalid_headers_are_refused(void **state)
{
    static const struct http_header cases[] = {
        {"Authorization", "Bearer t0ken"},
        {"authorization", "x"},
        {"Proxy-Authorization", "x"},
        {"Cookie", "a=b"},
        {"", "x"},
        {"a b", "x"},
        {"a:b", "x"},
        {"a", "x\r\nb: y"},
        {"a\n", "x"},
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, "/");
        struct error err = {0};

        call->request.headers = &cases[i];
        call->request.header_count = 1;
        assert_int_equal(http_start(bench->client, &call->request, &call->call, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "t0ken"));
    }
    h2_run_idle(bench);
    assert_int_equal(bench->server.connection_count, 0);
}

static void sequential_calls_reuse_the_connection_and_are_counted(void **state)
{
    struct h2_bench *bench = *state;
    uint64_t connections = 0;
    uint64_t requests = 0;

    bench->is_answering = true;
    for (int i = 0; i < 5; i++)
        h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    assert_int_equal(bench->server.connection_count, 1);
    http_client_counts(bench->client, &connections, &requests);
    assert_int_equal(connections, 1);
    assert_int_equal(requests, 5);
}

static void note_challenges(void *data, const struct http_response *response,
                            const struct error *err)
{
    struct h2_call *call = data;

    assert_int_equal(err->kind, ERROR_NONE);
    assert_string_equal(http_response_header_at(response, "WWW-Authenticate", 0), "Basic");
    assert_string_equal(http_response_header_at(response, "www-authenticate", 1), "Bearer x=\"y\"");
    assert_null(http_response_header_at(response, "www-authenticate", 2));
    assert_string_equal(http_response_header(response, "WwW-AUTHENTICATE"), "Basic");
    assert_null(http_response_header(response, "absent"));
    assert_int_equal(http_retry_after_ms(response, 60000), 3000);
    call->done_count++;
}

static void header_names_are_case_insensitive_and_may_repeat(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_call_new(bench, "/");

    call->request.on_done = note_challenges;
    h2_call_start(call);
    h2_answer(h2_run_until_request(bench, "/"), 401,
              "www-authenticate: Basic\r\nretry-after: 3\r\n"
              "www-authenticate: Bearer x=\"y\"\r\n",
              "");
    h2_run_until_done(call);
}

static void a_header_without_a_value_is_an_empty_string(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_call_new(bench, "/");

    call->header_name = "X-Empty";
    h2_call_start(call);
    h2_answer(h2_run_until_request(bench, "/"), 200, "x-empty: \r\n", "");
    h2_run_until_done(call);
    assert_non_null(call->header);
    assert_string_equal(call->header, "");
}

static void headers_that_nobody_reads_are_not_kept(void **state)
{
    static const struct {
        const char *path;
        bool is_headless;
        int status;
        const char *value;
    } cases[] = {
        {"/1", false, 200, "3"},
        {"/2", true, 200, NULL},
        {"/3", true, 429, "3"}, /* an error is for the retry */
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, cases[i].path);

        call->header_name = "Retry-After";
        call->request.is_headless = cases[i].is_headless;
        h2_call_start(call);
        h2_answer(h2_run_until_request(bench, cases[i].path), cases[i].status, "retry-after: 3\r\n",
                  "");
        h2_run_until_done(call);
        if (cases[i].value)
            assert_string_equal(call->header, cases[i].value);
        else
            assert_null(call->header);
    }
}

static void informational_responses_are_skipped(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_call_new(bench, "/");
    struct h2_request *request = NULL;

    call->header_name = "link";
    h2_call_start(call);
    request = h2_run_until_request(bench, "/");
    h2_inform(request, 103, "link: </a>; rel=preload\r\n");
    h2_run_idle(bench);
    h2_inform(request, 102, "");
    h2_answer(request, 200, "", "final");
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "final");
    assert_null(call->header);
}

static void trailers_are_accepted(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_get(bench, "/");
    struct h2_request *request = h2_run_until_request(bench, "/");

    h2_begin(request, 200, "");
    h2_send(request, "body", 4);
    h2_run_idle(bench);
    h2_end(request, "x-trailer: 1\r\n");
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "body");
}

static void success_is_streamed_and_everything_else_collected(void **state)
{
    static const struct {
        int status;
        const char *body, *data;
    } cases[] = {
        {200, "", "12345"}, {206, "", "12345"}, {302, "12345", ""},
        {404, "12345", ""}, {500, "12345", ""},
    };
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = xasprintf("/%zu", i);
        struct h2_call *call = h2_call_new(bench, path);
        struct h2_request *request = NULL;

        call->request.on_data = h2_on_data;
        call->request.body_max = cases[i].data[0] ? 1 : 0; /* does not limit streamed bodies */
        h2_call_start(call);
        request = h2_run_until_request(bench, path);
        h2_begin(request, cases[i].status, "location: /elsewhere\r\n");
        h2_send(request, "12", 2);
        if (cases[i].data[0])
            h2_run_until_bytes(call, 2); /* before the rest is sent */
        h2_send(request, "345", 3);
        h2_end(request, NULL);
        h2_run_until_done(call);
        h2_assert_answered(call, cases[i].status, cases[i].body);
        assert_string_equal(call->data.size ? call->data.data : "", cases[i].data);
    }
}

static void redirects_are_followed_only_on_request(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;

    call = h2_call_new(bench, "/old");
    call->header_name = "Location";
    h2_call_start(call);
    h2_answer(h2_run_until_request(bench, "/old"), 307, "location: /new\r\n", "moved");
    h2_run_until_done(call);
    h2_assert_answered(call, 307, "moved");
    assert_string_equal(call->header, "/new");

    call = h2_call_new(bench, "/older");
    call->request.redirects_max = 1;
    h2_call_start(call);
    h2_answer(h2_run_until_request(bench, "/older"), 307, "location: /new\r\n", "moved");
    h2_answer(h2_run_until_request(bench, "/new"), 200, "", "here");
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "here");
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(methods_bodies_and_headers_are_sent_unchanged),
        test(calls_share_a_connection_and_complete_in_any_order),
        test(credentials_are_sent_in_their_header),
        test(reserved_and_invalid_headers_are_refused),
        test(sequential_calls_reuse_the_connection_and_are_counted),
        test(header_names_are_case_insensitive_and_may_repeat),
        test(a_header_without_a_value_is_an_empty_string),
        test(headers_that_nobody_reads_are_not_kept),
        test(informational_responses_are_skipped),
        test(trailers_are_accepted),
        test(success_is_streamed_and_everything_else_collected),
        test(redirects_are_followed_only_on_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
