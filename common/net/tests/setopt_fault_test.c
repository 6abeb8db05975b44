/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl refuses each option in its turn: the call is not made, and the reason is told. */
#include <curl/curl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/http_bench.h"

enum { OPTIONS_MAX = 200 };

static int left = -1; /* options until one is refused; -1: none is */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
CURLcode __real_curl_easy_setopt(CURL *easy, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    va_list arguments;
    void *value = NULL; /* as wide as every sort of value */

    va_start(arguments, option);
    value = va_arg(arguments, void *);
    va_end(arguments);
    if (left >= 0 && left-- == 0)
        return CURLE_UNKNOWN_OPTION;
    return __real_curl_easy_setopt(easy, option, value);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static ssize_t read_nothing(void *data, char *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)size;
    (void)err;
    return 0;
}

static const struct http_header header = {"Accept", "text/plain"};
static const struct http_tls tls = {.ca_pem = "ca", .cert_pem = "cert", .key_pem = "key"};
static const struct http_tls insecure = {.is_insecure = true, .server_name = "other"};

static const struct {
    const char *what;
    struct http_request request; /* what is told on top of URL and callbacks */
} cases[] = {
    {"plain", {.method = "GET", .headers = &header, .header_count = 1}},
    {"head", {.method = "HEAD"}},
    {"post", {.method = "POST", .body = "x", .body_size = 1, .bearer = "token"}},
    {"delete", {.method = "DELETE", .basic_user = "a", .basic_password = "b"}},
    {"upload", {.method = "PUT", .read_body = read_nothing, .body_size = 7}},
    {"tls", {.method = "GET", .tls = &tls, .redirects_max = 3}},
    {"insecure", {.method = "GET", .tls = &insecure, .is_own_connection = true}},
};

/* Whether the call was refused, with a reason. */
static bool is_refused(struct bench *bench, size_t i, int place, const char *url)
{
    struct got got = {0};
    struct http_request request = bench_request(bench, &got, url);
    struct http_request wanted = cases[i].request;
    struct http_call *call = NULL;
    struct error err = {0};
    int result = 0;

    wanted.url = request.url;
    wanted.is_plain_http_allowed = true;
    wanted.body_max = request.body_max;
    wanted.on_done = request.on_done;
    wanted.data = request.data;
    left = place;
    result = http_start(bench->client, &wanted, &call, &err);
    left = -1;
    if (result == 0) {
        http_cancel(call);
        return false;
    }
    if (err.kind == ERROR_NONE || !err.text[0])
        fail_msg("%s: no reason is told when option %d is refused", cases[i].what, place);
    return true;
}

static void an_option_that_is_refused_ends_the_call_before_it_begins(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *plain_url = bench_url(&bench->server, "/");

    for (size_t i = 0; i < array_length(cases); i++) {
        const char *url = cases[i].request.tls ? "https://127.0.0.1:1/" : plain_url;
        int place = 0;

        while (is_refused(bench, i, place, url)) {
            place++;
            assert_true(place < OPTIONS_MAX);
        }
        if (place < 15)
            fail_msg("%s: only %d options were refused", cases[i].what, place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_option_that_is_refused_ends_the_call_before_it_begins,
                                        bench_setup, bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
