/* SPDX-License-Identifier: Apache-2.0 */
/* Each curl_easy_setopt() in turn fails: http_start() must fail with a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/net/tests/http_bench.h"

enum { OPTIONS_MAX = 200 };

static const struct http_header header = {"Accept", "text/plain"};
static const struct http_tls tls = {.ca_pem = "ca", .cert_pem = "cert", .key_pem = "key"};
static const struct http_tls insecure = {.is_insecure = true, .server_name = "other"};

static const struct {
    const char *what;
    struct http_request request; /* in addition to URL and callbacks */
} cases[] = {
    {"plain", {.method = "GET", .headers = &header, .header_count = 1}},
    {"head", {.method = "HEAD"}},
    {"post", {.method = "POST", .body = "x", .body_size = 1, .bearer = "token"}},
    {"delete", {.method = "DELETE", .basic_user = "a", .basic_password = "b"}},
    {"tls", {.method = "GET", .tls = &tls, .redirects_max = 3}},
    {"insecure", {.method = "GET", .tls = &insecure, .redirects_max = 1}},
};

/* Whether http_start() failed. */
static bool is_refused(struct bench *bench, size_t i, unsigned place, const char *url)
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
    fault_arm("curl_easy_setopt", place, 0);
    result = http_start(bench->client, &wanted, &call, &err);
    (void)fault_disarm();
    if (result == 0) {
        http_cancel(call);
        return false;
    }
    if (err.kind == ERROR_NONE || !err.text[0])
        fail_msg("%s: no error text when option %u fails", cases[i].what, place);
    return true;
}

static void a_rejected_curl_option_fails_http_start(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *plain_url = bench_url(&bench->server, "/");

    for (size_t i = 0; i < array_length(cases); i++) {
        const char *url = cases[i].request.tls ? "https://127.0.0.1:1/" : plain_url;
        unsigned place = 1;

        while (is_refused(bench, i, place, url)) {
            place++;
            assert_true(place < OPTIONS_MAX);
        }
        if (place < 16)
            fail_msg("%s: only %u options are set", cases[i].what, place - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rejected_curl_option_fails_http_start, bench_setup,
                                        bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
