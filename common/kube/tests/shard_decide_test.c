/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/shard_decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

enum { NOW_MS = 100000, DURATION_MS = 30000 };

/* One letter per bucket. Before: o ours, x another's, e another's and expired, f free, - no Lease.
 * After: T take, K keep, G give up, . nothing. */
static struct lease_record record_of(char letter)
{
    return (struct lease_record){
        .is_there = letter != '-',
        .is_ours = letter == 'o',
        .is_held = letter != '-' && letter != 'f',
        .duration_ms = DURATION_MS,
        .seen_ms = letter == 'e' ? NOW_MS - DURATION_MS : NOW_MS - DURATION_MS + 1,
    };
}

static void which_buckets_are_taken_kept_and_given_up(void **state)
{
    static const struct {
        const char *why, *before, *after;
        size_t members, least_held, first;
        bool is_stopping;
    } cases[] = {
        {"alone, all are ours", "----", "TTTT", 1, 4, 0, false},
        {"free and expired ones, but not another's", "f-ex", "TTT.", 1, 4, 0, false},
        {"two replicas: half of them", "----", "TT..", 2, 0, 0, false},
        {"beginning at its own place", "----", "..TT", 2, 0, 2, false},
        {"and around the end", "----", "T..T", 2, 0, 3, false},
        {"up to our share", "ooff", "KK..", 2, 0, 0, false},
        {"a remainder belongs to whoever is first", "-----", "TTT..", 2, 0, 0, false},
        {"a replica has joined", "oooo", "KKGG", 2, 0, 0, false},
        {"another one, which gets one of our two", "ooxx", "KG..", 3, 0, 0, false},
        {"or of five", "ooxxx", "KG...", 3, 0, 0, false},
        {"but not if it has one less", "ooxx.", "KK...", 3, 1, 0, false},
        {"nor while there is a free one", "ooxxf", "KK...", 3, 0, 0, false},
        {"nobody left to give to", "oooo", "KKKK", 1, 4, 0, false},
        {"stopping gives up all and takes none", "of-e", "G...", 1, 4, 0, true},
        {"more replicas than buckets", "ox", "K.", 5, 0, 0, false},
        {"one of them gets one", "-x", "T.", 5, 0, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        static const char letters[] = {
            [SHARD_NONE] = '.', [SHARD_TAKE] = 'T', [SHARD_KEEP] = 'K', [SHARD_GIVE_UP] = 'G'};
        struct lease_record records[SHARD_BUCKETS_MAX];
        struct shard_decision decisions[SHARD_BUCKETS_MAX];
        struct shard_view view = {
            .bucket_count = strlen(cases[i].after),
            .buckets = records,
            .member_count = cases[i].members,
            .least_held = cases[i].least_held,
            .first = cases[i].first,
            .is_stopping = cases[i].is_stopping,
            .duration_ms = DURATION_MS,
        };
        char after[SHARD_BUCKETS_MAX + 1] = "";

        for (size_t j = 0; j < view.bucket_count; j++)
            records[j] = record_of(cases[i].before[j] == '.' ? 'x' : cases[i].before[j]);
        shard_decide(&view, NOW_MS, decisions);
        for (size_t j = 0; j < view.bucket_count; j++) {
            after[j] = letters[decisions[j].action];
            assert_non_null(decisions[j].rule);
        }
        if (strcmp(after, cases[i].after) != 0)
            fail_msg("%s: %s", cases[i].why, after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_buckets_are_taken_kept_and_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
