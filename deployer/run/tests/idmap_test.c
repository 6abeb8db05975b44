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

        assert_int_equal(idmap_find_range(cases[i].text, cases[i].user, cases[i].uid, &range),
                         cases[i].first != 0);
        assert_int_equal(range.first, cases[i].first);
    }
}

static const struct {
    const char *subuid, *subgid;
    unsigned long first; /* 0: none is free */
} free_ranges[] = {
    {"", "", 100000},
    {"bob:100000:65536\n", "bob:100000:65536\n", 165536},
    {"bob:100000:65536\n", "", 165536},
    {"", "bob:100000:65536\n", 165536},
    {"bob:100000:65536\n", "bob:165536:65536\n", 231072},
    {"carol:165536:65536\nbob:100000:65536", "", 231072},
    /* Overlaps only the end, only the beginning, or lies inside of what would be suggested. */
    {"bob:150000:10\n", "", 150010},
    {"bob:1:99999\n", "", 100000},
    {"bob:1:100000\n", "", 100001},
    {"bob:165535:1\n", "", 165536},
    {"bob:165536:1\n", "", 100000},
    /* A gap is used if it is large enough. */
    {"bob:100000:65536\ncarol:231072:65536\n", "", 165536},
    {"bob:100000:65536\ncarol:231071:65536\n", "", 296607},
    {"broken\n:::\nbob:100000:65536\n", "\n\n", 165536},
    {"bob:100000:600000000\n", "", 0},
    {"bob:0:4294967295\n", "", 0},
    {"bob:600034465:1\nbob:100000:599934464\n", "", 0},
};

static void suggests_only_unused_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(free_ranges); i++) {
        struct idmap_range range = {0};

        assert_int_equal(
            idmap_find_free_range(free_ranges[i].subuid, free_ranges[i].subgid, &range),
            free_ranges[i].first != 0);
        assert_int_equal(range.first, free_ranges[i].first);
        assert_int_equal(range.count, free_ranges[i].first ? IDMAP_NEEDED : 0);
    }
}

static const struct {
    const char *subuid, *subgid, *user, *text; /* text NULL: both are found */
} advice[] = {
    {"alice:100000:65536\n", "alice:100000:65536\n", "alice", NULL},
    {"bob:100000:65536\n", "bob:100000:65536\n", "alice",
     "user \"alice\" has no range of 65536 subordinate ids in /etc/subuid and /etc/subgid; add one "
     "as root: usermod --add-subuids 165536-231071 --add-subgids 165536-231071 alice"},
    {"alice:100000:65536\n", "", "alice",
     "user \"alice\" has no range of 65536 subordinate ids in /etc/subgid; add one as root: "
     "usermod "
     "--add-subgids 165536-231071 alice"},
    {"", "alice:100000:65536\n", "alice",
     "user \"alice\" has no range of 65536 subordinate ids in /etc/subuid; add one as root: "
     "usermod "
     "--add-subuids 165536-231071 alice"},
    {"", "", NULL,
     "user \"1000\" has no range of 65536 subordinate ids in /etc/subuid and /etc/subgid; add one "
     "as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER"},
    {"bob:0:4294967295\n", "", "alice",
     "user \"alice\" has no range of 65536 subordinate ids in /etc/subuid, and no such range is "
     "free"},
};

static void explains_how_to_add_missing_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(advice); i++) {
        struct idmap_range uids = {0};
        struct idmap_range gids = {0};
        struct error err = {0};
        int result = idmap_find_ranges(advice[i].subuid, advice[i].subgid, advice[i].user, 1000,
                                       &uids, &gids, &err);

        assert_int_equal(result, advice[i].text ? -1 : 0);
        if (advice[i].text) {
            assert_int_equal(err.kind, ERROR_NOT_FOUND);
            assert_string_equal(err.text, advice[i].text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_first_range_that_is_large_enough),
        cmocka_unit_test(suggests_only_unused_ids),
        cmocka_unit_test(explains_how_to_add_missing_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
