/* SPDX-License-Identifier: Apache-2.0 */
/* Each function of libcurl that connecting needs fails in turn: the call ends with an error, and
 * the next one succeeds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/descriptors.h"
#include "common/base/tests/fault.h"
#include "common/net/tests/http_bench.h"

enum { FAULTS_MAX = 200, OPTIONS_MIN = 20 };

/* Nothing listens there: a call that is not made to fail gets connection refused. */
static const char url[] = "https://127.0.0.1:1/path?s3cret";

static struct error fetch(struct bench *bench)
{
    static const struct http_header header = {"Accept", "text/plain"};
    struct got got = {0};
    struct http_request request = bench_request(bench, &got, url);
    struct error err = {0};

    request.is_multiplexed = true;
    request.headers = &header;
    request.header_count = 1;
    request.bearer = "t0ken";
    bench_fetch(&request, &got);
    assert_int_equal(got.done_count, 1);
    assert_int_equal(got.status, 0);
    err = got.err;
    got_done(&got);
    return err;
}

static void every_step_of_connecting_can_fail_and_is_reported(void **state)
{
    static const struct {
        const char *function;
        unsigned least; /* minimum number of call sites */
    } cases[] = {
        {"curl_easy_setopt", OPTIONS_MIN},
        {"curl_multi_add_handle", 1},
    };
    struct bench *bench = *state;
    unsigned descriptors = open_descriptors();

    for (size_t i = 0; i < array_length(cases); i++) {
        unsigned place = 1;

        for (;; place++) {
            struct error err = {0};
            bool has_struck = false;

            assert_true(place < FAULTS_MAX);
            fault_arm(cases[i].function, place, 0);
            err = fetch(bench);
            has_struck = fault_disarm();
            assert_null(strstr(err.text, "s3cret"));
            assert_null(strstr(err.text, "t0ken"));
            if (!has_struck) {
                assert_int_equal(err.os, ECONNREFUSED);
                break;
            }
            assert_true(err.kind == ERROR_INTERNAL || err.kind == ERROR_INVALID);
            assert_true(err.text[0]);
            bench_run_idle(bench);
            assert_int_equal(open_descriptors(), descriptors);
        }
        assert_true(place > cases[i].least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_step_of_connecting_can_fail_and_is_reported,
                                        bench_setup, bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
