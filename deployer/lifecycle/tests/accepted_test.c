/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/accepted.h"

#include <stdio.h>

#include "common/apply/tests/parse.h"

static void objects_are_found_by_their_keys_in_any_order(void **state)
{
    struct accepted accepted = {0};
    char key[32];

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(key, sizeof(key), "v1/ConfigMap/%u", i * 7 % 200);
        accepted_set(&accepted, key, "a", "b");
    }
    assert_int_equal(accepted.count, 200);
    for (unsigned i = 0; i < 200; i += 2) {
        (void)snprintf(key, sizeof(key), "v1/ConfigMap/%u", i);
        accepted_remove(&accepted, key);
        accepted_remove(&accepted, key); /* nothing more to remove */
    }
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(key, sizeof(key), "v1/ConfigMap/%u", i);
        assert_int_equal(accepted_find(&accepted, key) != NULL, i % 2);
    }
    assert_int_equal(accepted.count, 100);
    accepted_done(&accepted);
}

static void an_object_is_as_wanted_only_if_nothing_changed_it(void **state)
{
    static const struct {
        const char *live, *wanted, *now_live, *now_wanted;
        bool is_live, is_wanted;
    } cases[] = {
        {"0123456789abcdef", "fedcba9876543210", "0123456789abcdef", "fedcba9876543210", true,
         true},
        {"0123456789abcdef", "fedcba9876543210", "0123456789abcdee", "fedcba9876543210", false,
         true},
        {"0123456789abcdef", "fedcba9876543210", "0123456789abcdef", "fedcba9876543211", true,
         false},
        {NULL, "fedcba9876543210", "0123456789abcdef", "fedcba9876543210", false, false},
        {"0123456789abcdef", NULL, "0123456789abcdef", "fedcba9876543210", true, false},
        {"0123456789abcdef", NULL, "0123456789abcdef", NULL, true, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct accepted accepted = {0};

        accepted_set(&accepted, "other", "1", "1");
        assert_false(accepted_is(&accepted, "key", cases[i].now_wanted));
        accepted_set(&accepted, "key", "1", "2");
        accepted_set(&accepted, "key", cases[i].live, cases[i].wanted);
        assert_int_equal(accepted.count, 2);
        assert_int_equal(accepted_is_live(&accepted, "key", cases[i].now_live), cases[i].is_live);
        assert_int_equal(accepted_is(&accepted, "key", cases[i].now_wanted), cases[i].is_wanted);
        accepted_done(&accepted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_found_by_their_keys_in_any_order),
        cmocka_unit_test(an_object_is_as_wanted_only_if_nothing_changed_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
