/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/version.h"

static void versions_are_parsed(void **state)
{
    static const char *const valid[] = {"0.0.0", "1.2.3", "1.2.3-foo", "1.2.3+build",
                                        "10.20.30-rc-1"};
    static const char *const invalid[] = {
        "",       "1",        "1.2",  "foo",    "01.1.1",         "1.02.1", "1.2.3.4",
        "v1.2.3", "1.2.3foo", "1..3", "1.2.-3", "4294967296.0.0", " 1.2.3", "1.2.3 "};
    struct version version = {7, 8, 9};

    (void)state;
    for (size_t i = 0; i < array_length(invalid); i++) {
        print_message("%s\n", invalid[i]);
        assert_false(version_parse(invalid[i], &version));
    }
    assert_int_equal(version.major, 7);
    for (size_t i = 0; i < array_length(valid); i++)
        assert_true(version_parse(valid[i], &version));
    assert_int_equal(version.major, 10);
    assert_int_equal(version.minor, 20);
    assert_int_equal(version.patch, 30);
}

static void versions_are_ordered(void **state)
{
    static const struct {
        const char *one, *other;
        int order;
    } rows[] = {
        {"1.2.3", "1.2.3", 0},  {"1.2.3", "1.2.3-rc1", 0}, {"1.2.3", "1.2.4", -1},
        {"1.10.0", "1.9.9", 1}, {"2.0.0", "1.9.9", 1},     {"0.4294967295.0", "1.0.0", -1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        struct version one, other;

        assert_true(version_parse(rows[i].one, &one));
        assert_true(version_parse(rows[i].other, &other));
        assert_int_equal(version_compare(one, other), rows[i].order);
        assert_int_equal(version_compare(other, one), -rows[i].order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_parsed),
        cmocka_unit_test(versions_are_ordered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
