/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/http.h"

static void escapes_all_but_unreserved_characters(void **state)
{
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        {"", ""},
        {"AZaz09-._~", "AZaz09-._~"},
        {"a b", "a%20b"},
        {"a/b?c#d&e=f+g%h", "a%2Fb%3Fc%23d%26e%3Df%2Bg%25h"},
        {"key in (a,b)", "key%20in%20%28a%2Cb%29"},
        {"\xc3\xa4\x01\x7f\xff", "%C3%A4%01%7F%FF"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *escaped = http_url_escape(cases[i].text);

        assert_string_equal(escaped, cases[i].escaped);
    }
}

static void shows_urls_without_query_fragment_and_user(void **state)
{
    static const struct {
        const char *url, *shown;
    } cases[] = {
        {"https://host/path", "https://host/path"},
        {"https://host:5000/v2/a?token=secret", "https://host:5000/v2/a"},
        {"https://user:secret@host/path#secret", "https://host/path"},
        {"https://user@name:secret@host/p@th", "https://host/p@th"},
        {"https://host?secret", "https://host"},
        {"https://host#secret", "https://host"},
        {"https://[::1]:443/a", "https://[::1]:443/a"},
        {"user:secret@host/path?x", "host/path"},
        {"host/path?secret://x", "host/path"},
        {"a@b://c", "b://c"},
        {"", ""},
        {"https://", "https://"},
        {"https://a@", "https://"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *shown = http_url_redact(cases[i].url);

        assert_string_equal(shown, cases[i].shown);
    }
}

static void reads_retry_after(void **state)
{
    /* Sun, 06 Nov 1994 08:49:37 GMT */
    static const int64_t now = 784111777;
    static const struct {
        const char *text;
        uint32_t max_ms, ms;
    } cases[] = {
        {"0", 60000, 0},
        {"1", 60000, 1000},
        {"60", 60000, 60000},
        {"61", 60000, 60000},
        {"99999999999999999999999999", 60000, 60000},
        {"99999999999999999999999999", UINT32_MAX, UINT32_MAX},
        {"-1", 60000, 0},
        {"1.5", 60000, 0},
        {"", 60000, 0},
        {"soon", 60000, 0},
        {"Sun, 06 Nov 1994 08:49:47 GMT", 60000, 10000},
        {"Sunday, 06-Nov-94 08:49:47 GMT", 60000, 10000},
        {"Sun Nov  6 08:49:47 1994", 60000, 10000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 60000, 0},
        {"Sun, 06 Nov 1994 08:49:36 GMT", 60000, 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 60000, 60000},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++)
        assert_int_equal(http_parse_retry_after(cases[i].text, now, cases[i].max_ms), cases[i].ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_all_but_unreserved_characters),
        cmocka_unit_test(shows_urls_without_query_fragment_and_user),
        cmocka_unit_test(reads_retry_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
