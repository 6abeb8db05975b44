/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/utf8.h"

static const struct {
    const char *text;
    size_t length;
    uint32_t code;
} good[] = {
    {"a", 1, 'a'},
    {"\x7f", 1, 0x7f},
    {"\xc2\x80", 2, 0x80},
    {"\xdf\xbf", 2, 0x7ff},
    {"\xe0\xa0\x80", 3, 0x800},
    {"\xed\x9f\xbf", 3, 0xd7ff},
    {"\xee\x80\x80", 3, 0xe000},
    {"\xef\xbf\xbf", 3, 0xffff},
    {"\xf0\x90\x80\x80", 4, 0x10000},
    {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
};

static void reads_the_edges_of_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        uint32_t code = 0;

        assert_int_equal(utf8_decode(good[i].text, strlen(good[i].text), &code), good[i].length);
        assert_int_equal(code, good[i].code);
    }
}

static void encodes_what_it_decodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        char bytes[4] = {0};

        assert_int_equal(utf8_put(good[i].code, bytes), good[i].length);
        assert_memory_equal(bytes, good[i].text, good[i].length);
    }
}

static void repairs_what_is_not_utf8(void **state)
{
    static const char bytes[] = "a\xff\xc3\xa4\xe2\x82\0z\xc3";
    cleanup_free char *text = utf8_repair(bytes, sizeof(bytes) - 1);
    cleanup_free char *empty = utf8_repair(NULL, 0);

    (void)state;
    assert_string_equal(text, "a\uFFFD\xc3\xa4\uFFFD\uFFFD\uFFFDz\uFFFD");
    assert_string_equal(empty, "");
}

static void never_reads_past_the_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        uint32_t code = 7;

        assert_int_equal(utf8_decode(good[i].text, good[i].length - 1, &code), 0);
        assert_int_equal(code, 7);
    }
}

static const char *const bad[] = {
    "\x80",             /* a continuation alone */
    "\xc0\x80",         /* overlong NUL */
    "\xc1\xbf",         /* overlong */
    "\xe0\x9f\xbf",     /* overlong */
    "\xf0\x8f\xbf\xbf", /* overlong */
    "\xed\xa0\x80",     /* surrogate */
    "\xed\xbf\xbf",     /* surrogate */
    "\xf4\x90\x80\x80", /* past U+10FFFF */
    "\xf5\x80\x80\x80", /* no such lead byte */
    "\xff",
    "\xc2x",
    "\xe2\x82x",
};

static void refuses_invalid_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        uint32_t code = 7;

        assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &code), 0);
        assert_int_equal(code, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_edges_of_every_length),
        cmocka_unit_test(encodes_what_it_decodes),
        cmocka_unit_test(repairs_what_is_not_utf8),
        cmocka_unit_test(never_reads_past_the_size),
        cmocka_unit_test(refuses_invalid_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
