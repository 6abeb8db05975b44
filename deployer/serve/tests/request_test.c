/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/serve/request.h"

static void parameters_are_decoded(void **state)
{
    static const struct {
        const char *head, *value;
    } cases[] = {
        {"GET /a?x=1 HTTP/1.1\r\n\r\n", "1"},
        {"GET /a?xx=0&x=2&x=3 HTTP/1.1\r\n\r\n", "2"},
        {"GET /a?x= HTTP/1.1\r\n\r\n", ""},
        {"GET /a?x=a%2Fb+c%20d HTTP/1.1\r\n\r\n", "a/b c d"},
        {"GET /a?x=%c3%A4 HTTP/1.1\r\n\r\n", "\xc3\xa4"},
        {"GET /a?x=1%00 HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=%0a HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=%7F HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=%4 HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=% HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=%g0 HTTP/1.1\r\n\r\n", NULL},
        {"GET /a?x=%41 HTTP/1.1\r\n\r\n", "A"},
        {"GET /a?x HTTP/1.1\r\n\r\n", NULL},
        {"GET /a HTTP/1.1\r\nReferer: b?x=1 \r\n\r\n", NULL},
        {"GET /a?y=1 HTTP/1.1\r\n\r\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *value = request_parameter(cases[i].head, strlen(cases[i].head), "x");

        if (cases[i].value)
            assert_string_equal(value, cases[i].value);
        else
            assert_null(value);
    }
}

static void headers_are_found_without_case_and_trimmed(void **state)
{
    static const struct {
        const char *head, *value;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "a"},
        {"GET / HTTP/1.1\r\nAccept: x\r\nhOST:\t b c \r\n\r\n", "b c"},
        {"GET / HTTP/1.1\nhost:a\n\n", "a"},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "a"},
        {"GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", NULL},
        {"GET / HTTP/1.1\r\nHosts: a\r\n\r\n", NULL},
        {"Host: a HTTP/1.1\r\n\r\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *value = request_header(cases[i].head, strlen(cases[i].head), "Host");

        if (cases[i].value)
            assert_string_equal(value, cases[i].value);
        else
            assert_null(value);
    }
}

static void gzip_is_sent_only_to_clients_that_accept_it(void **state)
{
    static const struct {
        const char *line;
        bool is_accepted;
    } cases[] = {
        {"Accept-Encoding: gzip", true},
        {"Accept-Encoding: gzip, deflate, br, zstd", true},
        {"accept-encoding: deflate , GZIP ; q=0.5", true},
        {"Accept-Encoding: br;q=1.0,gzip;q=1.0", true},
        {"Accept-Encoding: x-gzip", true},
        {"Accept-Encoding: *", true},
        {"Accept-Encoding: identity;q=0, *;q=0.001", true},
        {"Accept-Encoding: *;q=0, gzip", true},
        {"Accept-Encoding: gzip;q=0", false},
        {"Accept-Encoding: gzip; Q=0.000, *", false},
        {"Accept-Encoding: *, gzip;q=0", false},
        {"Accept-Encoding: *;q=0", false},
        {"Accept-Encoding: identity", false},
        {"Accept-Encoding: gzipped, notgzip", false},
        {"Accept-Encoding:", false},
        {"Accept-Encoding: ,;,", false},
        {"Accept: gzip", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *head = xasprintf("GET / HTTP/1.1\r\n%s\r\n\r\n", cases[i].line);

        if (request_accepts_gzip(head, strlen(head)) != cases[i].is_accepted)
            fail_msg("%s", cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_decoded),
        cmocka_unit_test(headers_are_found_without_case_and_trimmed),
        cmocka_unit_test(gzip_is_sent_only_to_clients_that_accept_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
