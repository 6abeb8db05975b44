/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deployer/run/idmap.h"

static const struct {
    const char *text, *user;
    unsigned uid;
    unsigned long first; /* 0: none is found */
} cases[] = {
    {"alice:100000:65536\n", "alice", 1000, 100000},
    {"bob:100000:65536\nalice:200000:65536\n", "alice", 1000, 200000},
    {"1000:300000:65536\n", "alice", 1000, 300000},
    {"1000:300000:65536", NULL, 1000, 300000},
    {"alice:100000:1000\nalice:400000:70000\n", "alice", 1000, 400000},
    {"alicia:100000:65536\n", "alice", 1000, 0},
    {"ali:100000:65536\n", "alice", 1000, 0},
    {"alice:100000\n", "alice", 1000, 0},
    {"alice:-5:65536\n", "alice", 1000, 0},
    {"alice:99999999999:65536\n", "alice", 1000, 0},
    {"alice:x:65536\n", "alice", 1000, 0},
    {"", "alice", 1000, 0},
    {"\n\n:::\n", "alice", 1000, 0},
};

static void finds_the_first_range_that_is_large_enough(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct idmap_range range = {0};
        struct error err = {0};
        int result =
            idmap_find_range(cases[i].text, cases[i].user, cases[i].uid, 65536, &range, &err);

        assert_int_equal(result, cases[i].first ? 0 : -1);
        assert_int_equal(range.first, cases[i].first);
        if (!cases[i].first)
            assert_int_equal(err.kind, ERROR_NOT_FOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_first_range_that_is_large_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
