/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/state.h"

static void names_are_read_back(void **state)
{
    enum module_state parsed;

    (void)state;
    for (int one = MODULE_UNMANAGED; one <= MODULE_ERROR; one++) {
        assert_true(module_state_parse(module_state_name((enum module_state)one), &parsed));
        assert_int_equal(parsed, one);
    }
    assert_true(module_state_parse("", &parsed));
    assert_int_equal(parsed, MODULE_PROCESSING);
    assert_true(module_state_parse(NULL, &parsed));
    assert_int_equal(parsed, MODULE_PROCESSING);
    assert_false(module_state_parse("ready", &parsed));
}

static void modules_make_the_state_of_a_kyma(void **state)
{
    static const struct {
        enum module_state modules[3];
        size_t count;
        bool are_conditions_true;
        enum module_state expected;
        bool is_ready;
    } rows[] = {
        {{0}, 0, true, MODULE_READY, true},
        {{0}, 0, false, MODULE_PROCESSING, true},
        {{MODULE_READY, MODULE_PROCESSING}, 2, true, MODULE_PROCESSING, false},
        {{MODULE_READY, MODULE_WARNING, MODULE_PROCESSING}, 3, true, MODULE_WARNING, false},
        {{MODULE_ERROR, MODULE_WARNING}, 2, true, MODULE_ERROR, false},
        {{MODULE_READY, MODULE_UNMANAGED}, 2, true, MODULE_READY, true},
        {{MODULE_READY}, 1, false, MODULE_PROCESSING, true},
        /* One that is being removed keeps the Kyma from being Ready, whatever the conditions are
         * by mistake. */
        {{MODULE_READY, MODULE_DELETING}, 2, true, MODULE_PROCESSING, false},
        {{MODULE_WARNING, MODULE_READY}, 2, false, MODULE_WARNING, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        assert_int_equal(kyma_state(rows[i].modules, rows[i].count, rows[i].are_conditions_true),
                         rows[i].expected);
        assert_int_equal(modules_are_ready(rows[i].modules, rows[i].count), rows[i].is_ready);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(modules_make_the_state_of_a_kyma),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
