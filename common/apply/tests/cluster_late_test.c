/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/cluster_internal.h"
#include "common/apply/tests/seen.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* So many names are watched together. */
enum { WIDE = 5 };

static void watch_all(struct api_bench *bench, struct seen *seen)
{
    for (size_t i = 0; i < WIDE; i++)
        seen_watch(bench, (char[]){(char)('a' + i), 0}, NULL, &seen[i]);
    seen_run_until_watched(bench, 1);
}

/* The Go deployer needs only the permission to get. */
static void without_the_permission_to_list_objects_are_read_regularly(void **state)
{
    struct api_bench *bench = *state;
    struct seen one = {0};
    struct seen absent = {0};
    struct seen all = {0};
    struct seen late = {0};
    struct api_rule *rule = api_bench_rule(bench, MAPS "?limit", -1, "403 Forbidden", "no list");

    seen_put(bench, "x", 1);
    seen_watch(bench, "x", NULL, &one);
    seen_watch(bench, "nothing", NULL, &absent);
    seen_watch(bench, NULL, "l=m", &all);
    seen_expect(bench, &one, "x=1");
    seen_expect(bench, &absent, ".");
    seen_expect(bench, &all, "!");
    assert_int_equal(all.err.kind, ERROR_DENIED);
    seen_put(bench, "x", 2);
    clock_fake_advance(&bench->clock, CLUSTER_POLL_MS);
    seen_expect(bench, &one, "x=1 x=2");
    seen_watch(bench, "x", NULL, &late);
    seen_expect(bench, &late, "x=2");
    (void)api_bench_rule(bench, "GET " MAPS "/x ", 1, "403 Forbidden", "no get");
    api_bench_remove(bench, MAPS "/x");
    clock_fake_advance(&bench->clock, CLUSTER_POLL_MS);
    api_bench_run_idle(bench);
    clock_fake_advance(&bench->clock, CLUSTER_POLL_MS);
    api_bench_run_idle(bench);
    /* One of the two read before. */
    assert_true((strcmp(one.text, "x=1 x=2 ! .") == 0 && strcmp(late.text, "x=2 .") == 0) ||
                (strcmp(late.text, "x=2 ! .") == 0 && strcmp(one.text, "x=1 x=2 .") == 0));
    assert_string_equal(absent.text, ".");
    /* With the permission the watch goes on. */
    rule->count = 0;
    clock_fake_advance(&bench->clock, 60000);
    seen_run_until_watched(bench, 3);
    api_bench_run_idle(bench);
    (void)api_bench_log(bench);
    clock_fake_advance(&bench->clock, 10 * CLUSTER_POLL_MS);
    api_bench_run_idle(bench);
    assert_string_equal(api_bench_log(bench), "");
    seen_stop(&one, 1);
    seen_stop(&absent, 1);
    seen_stop(&all, 1);
    seen_stop(&late, 1);
}

static void a_late_read_that_fails_is_repeated(void **state)
{
    struct api_bench *bench = *state;
    struct seen first[WIDE] = {{.text = ""}};
    struct seen one = {0};
    struct seen all = {0};

    seen_put(bench, "x", 1);
    watch_all(bench, first);
    (void)api_bench_rule(bench, "GET " MAPS "/x", 1, "401 Unauthorized", "who?");
    (void)api_bench_rule(bench, "GET " MAPS "?limit", 1, "401 Unauthorized", "who?");
    seen_watch(bench, "x", NULL, &one);
    seen_watch(bench, NULL, NULL, &all);
    seen_expect(bench, &one, "!");
    seen_expect(bench, &all, "!");
    clock_fake_advance(&bench->clock, CLUSTER_POLL_MS);
    seen_expect(bench, &one, "! x=1");
    seen_expect(bench, &all, "! x=1 .");
    clock_fake_advance(&bench->clock, 10 * CLUSTER_POLL_MS);
    api_bench_run_idle(bench);
    assert_string_equal(one.text, "! x=1");
    seen_stop(first, array_length(first));
    seen_stop(&one, 1);
    seen_stop(&all, 1);
}

/* A list that begins meanwhile is for those who wait for their own read, too. */
static void a_new_list_replaces_late_reads(void **state)
{
    struct api_bench *bench = *state;
    struct seen first[WIDE] = {{.text = ""}};
    struct seen one = {0};
    struct seen all = {0};

    seen_put(bench, "x", 1);
    watch_all(bench, first);
    (void)api_bench_rule(bench, "GET " MAPS "/x", 1, NULL, NULL);
    (void)api_bench_rule(bench, "GET " MAPS "?limit", 1, NULL, NULL);
    seen_watch(bench, "x", NULL, &one);
    seen_watch(bench, NULL, NULL, &all);
    api_bench_run_idle(bench);
    assert_string_equal(one.text, "");
    (void)api_bench_rule(bench, "watch=true", 1, "410 Gone", "too old");
    seen_break_watches(bench);
    seen_expect(bench, &all, "! x=1 .");
    seen_expect(bench, &one, "! x=1");
    seen_stop(first, array_length(first));
    seen_stop(&one, 1);
    seen_stop(&all, 1);
}

/* A read returns the newest state, and a watch may lag behind it. */
static void an_older_state_does_not_undo_a_newer_one(void **state)
{
    struct api_bench *bench = *state;
    struct seen first[WIDE] = {{.text = ""}};
    struct seen one = {0};
    struct seen all = {0};
    size_t held = 0;

    watch_all(bench, first);
    /* The events of these are held back. */
    held = bench->watcher_count;
    bench->watcher_count = 0;
    seen_put(bench, "x", 1);
    seen_put(bench, "x", 2);
    api_bench_remove(bench, MAPS "/x");
    seen_put(bench, "x", 3);
    seen_put(bench, "y", 1);
    bench->watcher_count = held;
    seen_watch(bench, "x", NULL, &one);
    seen_watch(bench, NULL, NULL, &all);
    seen_expect(bench, &one, "x=3");
    /* What the other one had read was reported to it, too. */
    seen_expect(bench, &all, "x=3 x=3 y=1 .");
    api_bench_replay(bench, 0);
    seen_put(bench, "x", 4);
    seen_expect(bench, &one, "x=3 x=4");
    seen_expect(bench, &all, "x=3 x=3 y=1 . x=4");
    seen_stop(first, array_length(first));
    seen_stop(&one, 1);
    seen_stop(&all, 1);
}

/* The list that a late interest reads is older than an event. */
static void an_object_that_is_gone_is_not_reported_by_an_older_list(void **state)
{
    struct api_bench *bench = *state;
    struct seen first = {0};
    struct seen late = {0};

    seen_put(bench, "x", 1);
    seen_put(bench, "y", 1);
    seen_watch(bench, NULL, "l=m", &first);
    seen_expect(bench, &first, "x=1 y=1 .");
    seen_run_until_watched(bench, 1);
    bench->is_holding = true;
    seen_watch(bench, NULL, "l=m", &late);
    while (bench->held_count == 0)
        api_bench_run_once(bench);
    api_bench_remove(bench, MAPS "/x");
    seen_put(bench, "y", 2);
    seen_expect(bench, &first, "x=1 y=1 . x- y=2");
    api_bench_release(bench);
    seen_expect(bench, &late, "x- y=2 .");
    api_bench_run_idle(bench);
    seen_stop(&first, 1);
    seen_stop(&late, 1);
}

static void interests_can_end_while_they_read(void **state)
{
    struct api_bench *bench = *state;
    struct seen first = {0};
    struct seen stopping[4] = {
        {.stop_at = "x=1"}, {.stop_at = "x=1"}, {.stop_at = "!"}, {.stop_at = "."}};

    seen_put(bench, "x", 1);
    seen_watch(bench, NULL, NULL, &first);
    seen_expect(bench, &first, "x=1 .");
    seen_run_until_watched(bench, 1);
    seen_watch(bench, "x", NULL, &stopping[0]);
    seen_expect(bench, &stopping[0], "x=1");
    seen_watch(bench, NULL, NULL, &stopping[1]);
    seen_expect(bench, &stopping[1], "x=1");
    (void)api_bench_rule(bench, "GET " MAPS "/x", 1, "401 Unauthorized", "who?");
    seen_watch(bench, "x", NULL, &stopping[2]);
    seen_expect(bench, &stopping[2], "!");
    seen_watch(bench, "y", NULL, &stopping[3]);
    seen_expect(bench, &stopping[3], ".");
    for (size_t i = 0; i < array_length(stopping); i++)
        assert_null(stopping[i].interest);
    cluster_unwatch(first.interest);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
#define timed(name_)                                                                               \
    cmocka_unit_test_setup_teardown(name_, api_bench_setup_fake, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        timed(without_the_permission_to_list_objects_are_read_regularly),
        timed(a_late_read_that_fails_is_repeated),
        test(a_new_list_replaces_late_reads),
        test(an_older_state_does_not_undo_a_newer_one),
        test(an_object_that_is_gone_is_not_reported_by_an_older_list),
        test(interests_can_end_while_they_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
