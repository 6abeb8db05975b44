/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/tests/child.h"
#include "common/base/tests/fault.h"
#include "common/data/uuid.h"

static void has_the_canonical_form_of_version_4(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char text[UUID_TEXT_SIZE] = {0};

        uuid_make(text);
        assert_int_equal(strlen(text), 36);
        assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
        assert_int_equal(text[8], '-');
        assert_int_equal(text[13], '-');
        assert_int_equal(text[14], '4');
        assert_int_equal(text[18], '-');
        assert_non_null(strchr("89ab", text[19]));
        assert_int_equal(text[23], '-');
    }
}

static void two_uuids_differ(void **state)
{
    char texts[200][UUID_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        uuid_make(texts[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(texts[i], texts[j]);
    }
}

static void make_without_chance(void *data)
{
    char text[UUID_TEXT_SIZE] = {0};

    (void)data;
    fault_arm("getrandom", 1, EIO);
    uuid_make(text);
}

static void retries_after_a_signal_and_aborts_without_randomness(void **state)
{
    char text[UUID_TEXT_SIZE] = {0};

    (void)state;
    fault_arm("getrandom", 1, EINTR);
    uuid_make(text);
    assert_true(fault_disarm());
    assert_int_equal(strlen(text), 36);
    child_must_abort(make_without_chance, NULL, "getrandom: Input/output error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_canonical_form_of_version_4),
        cmocka_unit_test(two_uuids_differ),
        cmocka_unit_test(retries_after_a_signal_and_aborts_without_randomness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
