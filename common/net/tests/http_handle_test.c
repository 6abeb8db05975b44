/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and libcurl handles are reused by later calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/http_bench.h"

static int handles_made;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
void *__real_curl_easy_init(void);
void *__wrap_curl_easy_init(void);
void *__wrap_curl_easy_init(void)
{
    handles_made++;
    return __real_curl_easy_init();
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void connections_are_reused(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    uint64_t connections = 0;
    uint64_t requests = 0;

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12";
    for (int i = 0; i < 5; i++) {
        struct got got = {0};
        struct http_request request = bench_request(bench, &got, url);

        bench_fetch(&request, &got);
        got_done(&got);
    }
    http_client_counts(bench->client, &connections, &requests);
    assert_int_equal(connections, 1);
    assert_int_equal(requests, 5);
    assert_int_equal(bench->server.connection_count, 1);
}

static void a_handle_is_reused_without_anything_of_its_last_call(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    const struct http_header header = {"X-Mark", "of the first"};
    struct got first = {0}, second = {0};
    struct http_request request = bench_request(bench, &first, url);
    struct http_request plain = bench_request(bench, &second, url);

    bench->answer = "HTTP/1.1 500 No\r\nX-Answer: one\r\nContent-Length: 0\r\n\r\n";
    request.method = "POST";
    request.bearer = "t0ken";
    request.body = "the body";
    request.body_size = strlen("the body");
    request.headers = &header;
    request.header_count = 1;
    handles_made = 0;
    bench_fetch(&request, &first);
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    second.header_name = "X-Answer";
    bench_fetch(&plain, &second);
    assert_int_equal(second.status, 200);
    assert_null(second.header);
    assert_int_equal(handles_made, 1);
    assert_true(loopback_has(&bench->server, 0, "Bearer t0ken"));
    assert_true(loopback_has(&bench->server, 1, "GET / HTTP"));
    assert_false(loopback_has(&bench->server, 1, "Authorization"));
    assert_false(loopback_has(&bench->server, 1, "X-Mark"));
    assert_false(loopback_has(&bench->server, 1, "the body"));
    got_done(&first);
    got_done(&second);
}

/* A changed resolver configuration may be the reason: each handle has read it when it was made. */
static void no_handle_is_reused_after_a_failure(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct got good[2] = {{0}}, bad = {0}, next = {0};
    struct http_request failing = bench_request(bench, &bad, url);
    struct http_request last = bench_request(bench, &next, url);

    handles_made = 0;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (size_t i = 0; i < array_length(good); i++) {
        struct http_request request = bench_request(bench, &good[i], url);

        bench_start(&request, &good[i]);
    }
    for (size_t i = 0; i < array_length(good); i++) {
        bench_run_until_done(bench, &good[i]);
        got_done(&good[i]);
    }
    assert_int_equal(handles_made, array_length(good));
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    bench->is_closed_after = true;
    bench_fetch(&failing, &bad);
    assert_int_not_equal(bad.err.kind, ERROR_NONE);
    assert_int_equal(handles_made, array_length(good));
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    bench_fetch(&last, &next);
    assert_int_equal(handles_made, array_length(good) + 1);
    got_done(&next);
    got_done(&bad);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(connections_are_reused),
        test(a_handle_is_reused_without_anything_of_its_last_call),
        test(no_handle_is_reused_after_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
