/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/summary.h"
#include "common/base/memory.h"

static void the_first_five_parts_are_shown_and_the_others_counted(void **state)
{
    static const char *const expected[] = {
        NULL,
        "part 0",
        "part 0; part 1",
        "part 0; part 1; part 2",
        "part 0; part 1; part 2; part 3",
        "part 0; part 1; part 2; part 3; part 4",
        "part 0; part 1; part 2; part 3; part 4; and 1 more",
        "part 0; part 1; part 2; part 3; part 4; and 2 more",
    };
    struct summary summary = {0};

    (void)state;
    for (size_t count = 0; count < array_length(expected); count++) {
        cleanup_free char *text = NULL;

        for (size_t i = 0; i < count; i++)
            summary_add(&summary, "part %zu", i);
        text = summary_take(&summary);
        if (expected[count])
            assert_string_equal(text, expected[count]);
        else
            assert_null(text);
    }
}

static void long_parts_are_cut(void **state)
{
    cleanup_free char *part = xmalloc((size_t)SUMMARY_PART_SIZE * 2);
    cleanup_free char *text = NULL;
    struct summary summary = {0};

    (void)state;
    memset(part, 'x', (size_t)SUMMARY_PART_SIZE * 2);
    part[SUMMARY_PART_SIZE * 2 - 1] = '\0';
    summary_add(&summary, "%s", part);
    for (int i = 0; i < 7; i++)
        summary_add(&summary, "%s", part);
    text = summary_take(&summary);
    assert_true(strlen(text) <= (size_t)SUMMARY_PARTS_MAX * SUMMARY_PART_SIZE + 50);
    assert_non_null(strstr(text, "xxx; xxx"));
    assert_non_null(strstr(text, "; and 3 more"));
    assert_int_equal(text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_five_parts_are_shown_and_the_others_counted),
        cmocka_unit_test(long_parts_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
