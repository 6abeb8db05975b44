/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "deployer/lifecycle/compared.h"

static void a_comparison_is_found_by_content_and_object(void **state)
{
    static struct compared compared;
    cleanup_json json_t *one = json_object(), *other = json_object();

    (void)state;
    assert_null(compared_find(&compared, one, "0123456789abcdef"));
    compared_add(&compared, one, "0123456789abcdef", "fedcba9876543210");
    assert_string_equal(compared_find(&compared, one, "0123456789abcdef"), "fedcba9876543210");
    assert_null(compared_find(&compared, other, "0123456789abcdef"));
    assert_null(compared_find(&compared, one, "0123456789abcdee"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_is_found_by_content_and_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
