/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"

static const struct {
    const char *text;
    size_t column, indent, width;
    const char *printed;
} cases[] = {
    {"", 0, 0, 10, "\n"},
    {"one", 0, 0, 10, "one\n"},
    {"one two three", 0, 0, 13, "one two three\n"},
    {"one two three", 0, 0, 12, "one two\nthree\n"},
    {"one two three", 0, 2, 7, "one two\n  three\n"},
    {"one two three", 4, 4, 8, "one\n    two\n    three\n"},
    {"one  two ", 0, 0, 10, "one two\n"},
    {"/a/path/longer/than/the/line is kept", 0, 2, 10, "/a/path/longer/than/the/line\n  is kept\n"},
    {"a /a/path/longer/than/the/line", 0, 2, 10, "a\n  /a/path/longer/than/the/line\n"},
    {"first line\nsecond", 0, 2, 40, "first line\n  second\n"},
    {"one\n", 0, 2, 40, "one\n"},
    {"one\n\ntwo", 0, 2, 40, "one\n  \n  two\n"},
    /* Nine characters of two bytes each. */
    {"äöüäöü äö", 0, 0, 9, "äöüäöü äö\n"},
    {"äöüäöü äö", 0, 0, 8, "äöüäöü\näö\n"},
};

static void breaks_lines_only_at_blanks(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        wrap_print(out, cases[i].text, cases[i].column, cases[i].indent, cases[i].width);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, cases[i].printed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(breaks_lines_only_at_blanks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
