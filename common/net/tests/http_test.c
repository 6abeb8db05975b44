/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses. For cancellation, errors and limits see http_life_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/http_bench.h"

static void a_response_has_status_headers_and_body(void **state)
{
    struct bench *bench = *state;
    struct got got = {.header_name = "CONTENT-type"};
    cleanup_free char *url = bench_url(&bench->server, "/path?query=1");
    struct http_request request = bench_request(bench, &got, url);

    bench->answer = "HTTP/1.1 404 Not Found\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\nno";
    bench_fetch(&request, &got);
    assert_int_equal(got.err.kind, ERROR_NONE);
    assert_int_equal(got.status, 404);
    assert_string_equal(got.body, "no");
    assert_string_equal(got.header, "text/x");
    assert_true(loopback_has(&bench->server, 0, "GET /path?query=1 HTTP/1.1\r\n"));
    assert_true(loopback_has(&bench->server, 0, "\r\nUser-Agent: test/1\r\n"));
    assert_false(loopback_has(&bench->server, 0, "Authorization"));
    assert_false(loopback_has(&bench->server, 0, "Accept-Encoding"));
    got_done(&got);
}

static void note_challenges(void *data, const struct http_response *response,
                            const struct error *err)
{
    struct got *got = data;

    assert_int_equal(err->kind, ERROR_NONE);
    assert_string_equal(http_response_header_at(response, "www-authenticate", 0), "Basic");
    assert_string_equal(http_response_header_at(response, "www-authenticate", 1), "Bearer x=\"y\"");
    assert_null(http_response_header_at(response, "www-authenticate", 2));
    assert_null(http_response_header(response, "absent"));
    assert_int_equal(http_retry_after_ms(response, 60000), 3000);
    got->done_count++;
}

static void repeated_headers_are_all_available(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct http_request request = bench_request(bench, &got, url);

    request.on_done = note_challenges;
    bench->answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nRetry-After: 3\r\n"
                    "WWW-Authenticate: Bearer x=\"y\"\r\nContent-Length: 0\r\n\r\n";
    bench_fetch(&request, &got);
    got_done(&got);
}

static void methods_and_bodies_are_sent_unchanged(void **state)
{
    static const struct {
        const char *method, *body, *first_line, *last;
    } cases[] = {
        {"GET", NULL, "GET / HTTP/1.1\r\n", "\r\n\r\n"},
        {"HEAD", NULL, "HEAD / HTTP/1.1\r\n", "\r\n\r\n"},
        {"DELETE", NULL, "DELETE / HTTP/1.1\r\n", "\r\n\r\n"},
        {"DELETE", "{}", "DELETE / HTTP/1.1\r\n", "Content-Length: 2\r\n\r\n{}"},
        {"POST", NULL, "POST / HTTP/1.1\r\n", "Content-Length: 0\r\n\r\n"},
        {"POST", "abc", "POST / HTTP/1.1\r\n", "Content-Length: 3\r\n\r\nabc"},
        {"PUT", "abc", "PUT / HTTP/1.1\r\n", "Content-Length: 3\r\n\r\nabc"},
        {"PATCH", "abc", "PATCH / HTTP/1.1\r\n", "Content-Length: 3\r\n\r\nabc"},
    };
    static const struct http_header headers[] = {{"X-One", "1"}, {"X-Empty", ""}};
    struct bench *bench = *state;

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (size_t i = 0; i < array_length(cases); i++) {
        struct got got = {0};
        cleanup_free char *url = bench_url(&bench->server, "/");
        struct http_request request = bench_request(bench, &got, url);

        request.method = cases[i].method;
        request.body = cases[i].body;
        request.body_size = cases[i].body ? strlen(cases[i].body) : 0;
        request.headers = headers;
        request.header_count = array_length(headers);
        bench_fetch(&request, &got);
        assert_int_equal(got.status, 200);
        assert_true(loopback_has(&bench->server, i, cases[i].first_line));
        assert_true(loopback_has(&bench->server, i, cases[i].last));
        assert_true(loopback_has(&bench->server, i, "\r\nX-One: 1\r\nX-Empty:\r\n"));
        assert_false(loopback_has(&bench->server, i, "Expect"));
        assert_false(loopback_has(&bench->server, i, "urlencoded"));
        got_done(&got);
    }
    assert_int_equal(bench->server.connection_count, 1);
}

static void success_is_streamed_and_everything_else_collected(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct got good = {0};
    struct got bad = {0};
    struct http_request request = bench_request(bench, &good, url);

    request.on_data = bench_on_data;
    bench->answer = "HTTP/1.1 206 Part\r\nContent-Length: 5\r\n\r\n12345";
    bench_fetch(&request, &good);
    assert_string_equal(good.data.data, "12345");
    assert_string_equal(good.body, "");

    request = bench_request(bench, &bad, url);
    request.on_data = bench_on_data;
    bench->answer = "HTTP/1.1 500 Oh\r\nContent-Length: 5\r\n\r\nsorry";
    bench_fetch(&request, &bad);
    assert_int_equal(bad.err.kind, ERROR_NONE);
    assert_int_equal(bad.data_count, 0);
    assert_string_equal(bad.body, "sorry");
    got_done(&good);
    got_done(&bad);
}

static void credentials_are_sent_to_their_host(void **state)
{
    static const struct {
        const char *bearer, *user, *password, *header;
    } cases[] = {
        {"t0ken", NULL, NULL, "\r\nAuthorization: Bearer t0ken\r\n"},
        {NULL, "user", "pass:word", "\r\nAuthorization: Basic dXNlcjpwYXNzOndvcmQ=\r\n"},
        {NULL, "user", NULL, "\r\nAuthorization: Basic dXNlcjo=\r\n"},
    };
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");

    bench->answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
    for (size_t i = 0; i < array_length(cases); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        request.bearer = cases[i].bearer;
        request.basic_user = cases[i].user;
        request.basic_password = cases[i].password;
        bench_fetch(&request, &got);
        assert_int_equal(got.status, 401);
        assert_int_equal(bench->server.request_count, i + 1);
        assert_true(loopback_has(&bench->server, i, cases[i].header));
        got_done(&got);
    }
}

static void redirect_or_answer(void *data, struct loopback_connection *connection,
                               const char *request)
{
    const char *location = data;
    cleanup_free char *header = xasprintf("Location: %s\r\n", location);

    if (strstr(request, " /start "))
        loopback_answer(connection, "307 There", header, "ignored");
    else
        loopback_answer(connection, "200 OK", "", "arrived");
}

static void redirects_keep_credentials_on_the_same_origin_only(void **state)
{
    struct bench *bench = *state;
    static const struct http_header range = {"Range", "bytes=3-"};
    cleanup_free char *url = bench_url(&bench->server, "/start");

    for (int is_basic = 0; is_basic < 2; is_basic++) {
        for (int is_other = 0; is_other < 2; is_other++) {
            struct loopback *target = is_other ? &bench->other : &bench->server;
            cleanup_free char *location = bench_url(target, "/end?signature=x");
            struct got got = {0};
            struct http_request request = bench_request(bench, &got, url);
            size_t last = 0;

            bench->server.on_request = redirect_or_answer;
            bench->server.data = location;
            bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\narrived";
            request.bearer = is_basic ? NULL : "t0ken";
            request.basic_user = is_basic ? "user" : NULL;
            request.headers = &range;
            request.header_count = 1;
            request.redirects_max = 3;
            bench_fetch(&request, &got);
            assert_int_equal(got.status, 200);
            assert_string_equal(got.body, "arrived");
            last = target->request_count - 1;
            assert_true(loopback_has(target, last, "GET /end?signature=x"));
            assert_true(loopback_has(target, last, "Range: bytes=3-"));
            assert_int_equal(loopback_has(target, last, "Authorization"), !is_other);
            got_done(&got);
        }
    }
}

static void redirects_are_followed_on_request_up_to_the_limit(void **state)
{
    static const struct {
        int redirects_max;
        enum error_kind kind;
        int status;
    } cases[] = {{0, ERROR_NONE, 302}, {2, ERROR_INVALID, 302}};
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");

    bench->answer = "HTTP/1.1 302 Round\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";
    for (size_t i = 0; i < array_length(cases); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        request.redirects_max = cases[i].redirects_max;
        bench_fetch(&request, &got);
        assert_int_equal(got.err.kind, cases[i].kind);
        assert_int_equal(got.status, cases[i].status);
        got_done(&got);
    }
    assert_int_equal(bench->server.request_count, 1 + 3);
}

static void redirects_to_other_protocols_and_with_users_are_not_followed(void **state)
{
    static const char *const locations[] = {"file:///etc/passwd", "ftp://127.0.0.1/",
                                            "http://user:password@127.0.0.1:1/"};
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/start");

    bench->server.on_request = redirect_or_answer;
    for (size_t i = 0; i < array_length(locations); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);
        cleanup_free char *location = xstrdup(locations[i]);

        bench->server.data = location;
        request.redirects_max = 3;
        bench_fetch(&request, &got);
        assert_int_not_equal(got.err.kind, ERROR_NONE);
        assert_int_not_equal(got.err.kind, ERROR_TEMPORARY);
        assert_null(strstr(got.err.text, "password"));
        got_done(&got);
    }
}

static void requests_that_cannot_be_sent_are_refused_without_quoting_secrets(void **state)
{
    static const struct http_header authorization = {"authorization", "s3cret"};
    static const struct http_header cookie = {"Cookie", "s3cret"};
    static const struct http_header injected = {"X-A", "a\r\nX-B: s3cret"};
    static const struct http_header no_name = {"", "s3cret"};
    static const struct http_header odd_name = {"a:b", "s3cret"};
    static const struct {
        const char *method, *url, *bearer, *user, *password;
        const struct http_header *header;
        bool is_plain_refused;
    } cases[] = {
        {"GET", "http://127.0.0.1:1/?s3cret", NULL, NULL, NULL, NULL, true},
        {"GET", "https://user:s3cret@127.0.0.1:1/", NULL, NULL, NULL, NULL, false},
        {"GET", "https://s3cret@127.0.0.1:1/", NULL, NULL, NULL, NULL, false},
        {"GET", "ftp://127.0.0.1:1/", NULL, NULL, NULL, NULL, false},
        {"GET", "file:///etc/passwd", NULL, NULL, NULL, NULL, false},
        {"GET", "not a url?s3cret", NULL, NULL, NULL, NULL, false},
        {"GET", "", NULL, NULL, NULL, NULL, false},
        {"GET", "https://", NULL, NULL, NULL, NULL, false},
        {"get", "https://127.0.0.1:1/", NULL, NULL, NULL, NULL, false},
        {"GET /", "https://127.0.0.1:1/", NULL, NULL, NULL, NULL, false},
        {"GET", "https://127.0.0.1:1/", "s3cret\n", NULL, NULL, NULL, false},
        {"GET", "https://127.0.0.1:1/", NULL, "u\r", "p", NULL, false},
        {"GET", "https://127.0.0.1:1/", NULL, "u", "s3cret\n", NULL, false},
        {"GET", "https://127.0.0.1:1/", NULL, NULL, NULL, &authorization, false},
        {"GET", "https://127.0.0.1:1/", NULL, NULL, NULL, &cookie, false},
        {"GET", "https://127.0.0.1:1/", NULL, NULL, NULL, &injected, false},
        {"GET", "https://127.0.0.1:1/", NULL, NULL, NULL, &no_name, false},
        {"GET", "https://127.0.0.1:1/", NULL, NULL, NULL, &odd_name, false},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, cases[i].url);
        struct http_call *call = NULL;
        struct error err = {0};

        request.method = cases[i].method;
        request.bearer = cases[i].bearer;
        request.basic_user = cases[i].user;
        request.basic_password = cases[i].password;
        request.headers = cases[i].header;
        request.header_count = cases[i].header ? 1 : 0;
        request.is_plain_http_allowed = !cases[i].is_plain_refused;
        assert_int_equal(http_start(bench->client, &request, &call, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "s3cret"));
        assert_null(call);
    }
}

static void a_certificate_without_key_is_refused(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    const struct http_tls tls = {.cert_pem = "x"};
    struct http_request request = bench_request(bench, &got, "https://127.0.0.1:1/");
    struct http_call *call = NULL;
    struct error err = {0};

    request.tls = &tls;
    assert_int_equal(http_start(bench->client, &request, &call, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void a_missing_trust_file_is_named(void **state)
{
    struct bench *bench = *state;
    struct got got = {0};
    const struct http_tls tls = {.ca_file = "/nowhere/ca.pem"};
    struct http_request request = bench_request(bench, &got, "https://127.0.0.1:1/");
    struct http_call *call = NULL;
    struct error err = {0};

    request.tls = &tls;
    assert_int_equal(http_start(bench->client, &request, &call, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "/nowhere/ca.pem"));
}

/* The answer of the proxy to CONNECT is not the response to a request. */
static void a_proxy_that_refuses_the_connection_is_an_error(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *proxy = bench_url(&bench->server, "");

    bench->answer = "HTTP/1.1 403 Forbidden\r\nX-Reason: policy\r\nContent-Length: 2\r\n\r\nno";
    (void)setenv("https_proxy", proxy, 1);
    for (int is_multiplexed = 0; is_multiplexed < 2; is_multiplexed++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, "https://api.example/");

        request.is_multiplexed = is_multiplexed;
        bench_fetch(&request, &got);
        assert_int_equal(got.err.kind, ERROR_TEMPORARY);
        assert_int_equal(got.status, 0);
        assert_true(loopback_has(&bench->server, (size_t)is_multiplexed,
                                 "CONNECT api.example:443 HTTP/1.1\r\n"));
        got_done(&got);
    }
    (void)unsetenv("https_proxy");
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_response_has_status_headers_and_body),
        test(repeated_headers_are_all_available),
        test(methods_and_bodies_are_sent_unchanged),
        test(success_is_streamed_and_everything_else_collected),
        test(credentials_are_sent_to_their_host),
        test(redirects_keep_credentials_on_the_same_origin_only),
        test(redirects_are_followed_on_request_up_to_the_limit),
        test(redirects_to_other_protocols_and_with_users_are_not_followed),
        test(requests_that_cannot_be_sent_are_refused_without_quoting_secrets),
        test(a_certificate_without_key_is_refused),
        test(a_missing_trust_file_is_named),
        test(a_proxy_that_refuses_the_connection_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
