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

static void one_object_is_followed_through_its_life(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen = {0};

    seen_put(bench, "x", 1);
    seen_put(bench, "y", 1);
    seen_watch(bench, "x", NULL, &seen);
    seen_expect(bench, &seen, "x=1");
    seen_run_until_watched(bench, 1);
    seen_put(bench, "y", 2);
    seen_put(bench, "x", 2);
    seen_expect(bench, &seen, "x=1 x=2");
    api_bench_remove(bench, MAPS "/x");
    seen_expect(bench, &seen, "x=1 x=2 .");
    seen_put(bench, "x", 3);
    seen_expect(bench, &seen, "x=1 x=2 . x=3");
    assert_string_equal(api_bench_log(bench), "LIST " MAPS "[x]; WATCH " MAPS "[x]");
    cluster_unwatch(seen.interest);
    cluster_unwatch(NULL);
    assert_null(bench->cluster->streams);
    assert_int_equal(bench->cluster->connections[0].watch_count, 0);
}

/* The API server's answers to writes say from where to watch. */
static void known_objects_are_watched_without_a_list(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen = {0};
    cleanup_json json_t *known = json_array();
    struct error err = {0};
    int64_t from = 0;

    seen_put(bench, "x", 1);
    json_array_append_new(known, json_deep_copy(api_bench_get(bench, MAPS "/x")));
    seen_put(bench, "x", 2); /* somebody changes it, before the other one is written */
    seen_put(bench, "y", 1);
    json_array_append_new(known, json_deep_copy(api_bench_get(bench, MAPS "/y")));
    api_bench_remove(bench, MAPS "/y");
    assert_int_equal(cluster_watch_known(bench->cluster, kind_builtin("v1", "ConfigMap"), "a", NULL,
                                         "l=m", known, seen_note, &seen, &from, &seen.interest,
                                         &err),
                     0);
    assert_int_equal(from, cluster_oldest_version(known));
    seen_expect(bench, &seen, "x=2 y-");
    seen_put(bench, "z", 1);
    seen_expect(bench, &seen, "x=2 y- z=1");
    assert_int_equal(api_bench_count(bench, "LIST"), 0);
    cluster_unwatch(seen.interest);
}

static void an_object_that_does_not_exist_is_reported(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen = {0};

    seen_watch(bench, "x", NULL, &seen);
    seen_expect(bench, &seen, ".");
    seen_put(bench, "x", 1);
    seen_expect(bench, &seen, ". x=1");
    cluster_unwatch(seen.interest);
}

static void more_than_four_names_are_watched_together(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct api_bench *bench = *state;
    struct seen seen[array_length(names)] = {{.text = ""}};
    struct seen late[3] = {{.text = ""}};

    for (size_t i = 0; i < 4; i++)
        seen_watch(bench, names[i], NULL, &seen[i]);
    for (size_t i = 0; i < 4; i++)
        seen_expect(bench, &seen[i], ".");
    seen_run_until_watched(bench, 4);
    assert_int_equal(api_bench_count(bench, "fieldSelector"), 8);
    for (size_t i = 4; i < array_length(names); i++)
        seen_watch(bench, names[i], NULL, &seen[i]);
    seen_expect(bench, &seen[5], ".");
    seen_run_until_watched(bench, 5);
    assert_int_equal(api_bench_count(bench, "fieldSelector"), 8);
    assert_int_equal(bench->server.request_count, 10);
    for (size_t i = 0; i < array_length(names); i++) {
        seen_put(bench, names[i], 7);
        seen_expect(bench, &seen[i], ". %s=7", names[i]);
    }
    /* Who joins later reads once. */
    (void)api_bench_log(bench);
    seen_watch(bench, "f", NULL, &late[0]);
    seen_watch(bench, "g", NULL, &late[1]);
    seen_expect(bench, &late[0], "f=7");
    seen_expect(bench, &late[1], ".");
    assert_string_equal(api_bench_log(bench), "GET " MAPS "/f; GET " MAPS "/g");
    seen_put(bench, "g", 1);
    seen_expect(bench, &late[1], ". g=1");
    assert_string_equal(seen[5].text, ". f=7");
    /* Unless it leaves before. */
    seen_watch(bench, "f", NULL, &late[2]);
    cluster_unwatch(late[2].interest);
    api_bench_run_idle(bench);
    assert_string_equal(late[2].text, "");
    seen_stop(seen, array_length(seen));
    seen_stop(late, 2);
}

static void many_names_at_once_are_one_watch(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen[30] = {{.text = ""}};

    for (size_t i = 0; i < array_length(seen); i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "n%zu", i);
        if (i % 2)
            seen_put(bench, name, 5);
        seen_watch(bench, name, NULL, &seen[i]);
    }
    for (size_t i = 0; i < array_length(seen); i++) {
        if (i % 2)
            seen_expect(bench, &seen[i], "n%zu=5", i);
        else
            seen_expect(bench, &seen[i], ".");
    }
    seen_run_until_watched(bench, 1);
    assert_string_equal(api_bench_log(bench), "LIST " MAPS "; WATCH " MAPS);
    assert_int_equal(bench->cluster->connections[0].watch_count, 1);
    seen_stop(seen, array_length(seen));
}

static void all_objects_that_match_are_followed(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen = {0};
    struct seen late = {0};

    seen_put(bench, "x", 1);
    seen_put(bench, "y", 2);
    seen_watch(bench, NULL, "l=m", &seen);
    seen_expect(bench, &seen, "x=1 y=2 .");
    seen_run_until_watched(bench, 1);
    assert_int_equal(api_bench_count(bench, "labelSelector=l%3Dm"), 2);
    seen_put(bench, "x", 3);
    seen_put(bench, "z", 4);
    api_bench_remove(bench, MAPS "/y");
    seen_expect(bench, &seen, "x=1 y=2 . x=3 z=4 y-");
    assert_int_equal(seen.err.kind, ERROR_NOT_FOUND);
    /* Who joins later lists once. */
    (void)api_bench_log(bench);
    seen_watch(bench, NULL, "l=m", &late);
    seen_expect(bench, &late, "x=3 z=4 .");
    assert_string_equal(api_bench_log(bench), "LIST " MAPS);
    api_bench_remove(bench, MAPS "/z");
    seen_expect(bench, &late, "x=3 z=4 . z-");
    assert_string_equal(seen.text, "x=1 y=2 . x=3 z=4 y- z-");
    cluster_unwatch(seen.interest);
    seen_put(bench, "x", 5);
    seen_expect(bench, &late, "x=3 z=4 . z- x=5");
    cluster_unwatch(late.interest);
    assert_null(bench->cluster->streams);
}

static void what_vanished_during_an_interruption_is_reported(void **state)
{
    struct api_bench *bench = *state;
    struct seen all = {0};
    struct seen one = {0};

    seen_put(bench, "x", 1);
    seen_put(bench, "y", 2);
    seen_watch(bench, NULL, "l=m", &all);
    seen_watch(bench, "y", NULL, &one);
    seen_expect(bench, &all, "x=1 y=2 .");
    seen_expect(bench, &one, "y=2");
    seen_run_until_watched(bench, 2);
    (void)api_bench_rule(bench, "watch=true", 2, "410 Gone", "too old");
    seen_break_watches(bench);
    api_bench_remove(bench, MAPS "/y");
    seen_expect(bench, &one, "y=2 ! .");
    seen_expect(bench, &all, "x=1 y=2 . ! y- .");
    seen_run_until_watched(bench, 4);
    seen_put(bench, "y", 3);
    seen_expect(bench, &one, "y=2 ! . y=3");
    cluster_unwatch(all.interest);
    cluster_unwatch(one.interest);
}

static void errors_are_reported_and_retried(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen = {0};

    seen_put(bench, "x", 1);
    (void)api_bench_rule(bench, "GET " MAPS, 1, "401 Unauthorized", "who?");
    seen_watch(bench, "x", NULL, &seen);
    seen_expect(bench, &seen, "! x=1");
    assert_int_equal(seen.err.kind, ERROR_DENIED);
    assert_non_null(strstr(seen.err.text, "who?"));
    cluster_unwatch(seen.interest);
}

static void after_a_restore_of_etcd_lower_versions_are_believed(void **state)
{
    struct api_bench *bench = *state;
    struct seen one = {0};
    struct seen all = {0};

    seen_put(bench, "x", 1);
    seen_put(bench, "y", 1);
    seen_watch(bench, "x", NULL, &one);
    seen_watch(bench, NULL, "l=m", &all);
    seen_expect(bench, &one, "x=1");
    seen_expect(bench, &all, "x=1 y=1 .");
    seen_run_until_watched(bench, 2);
    bench->version = 10;
    seen_put(bench, "x", 0);
    (void)json_object_del(bench->objects, MAPS "/y");
    seen_break_watches(bench);
    while (!strstr(one.text, "x=0"))
        api_bench_run_once(bench);
    while (!strstr(all.text, "y-"))
        api_bench_run_once(bench);
    assert_non_null(strstr(all.text, "x=0"));
    seen_stop(&one, 1);
    seen_stop(&all, 1);
}

static void interests_can_end_and_begin_in_callbacks(void **state)
{
    struct api_bench *bench = *state;
    struct seen a = {.stop_at = "x=1"};
    struct seen b = {0};
    struct seen c = {0};
    struct seen d = {0};

    seen_put(bench, "x", 1);
    a.also = &b;
    /* The one that joined last is notified first. */
    seen_watch(bench, "x", NULL, &b);
    seen_watch(bench, "x", NULL, &a);
    seen_expect(bench, &a, "x=1");
    assert_string_equal(b.text, "");
    assert_null(bench->cluster->streams);
    c.bench = bench;
    c.also = &d;
    c.start_name = "x";
    seen_watch(bench, "x", NULL, &c);
    seen_expect(bench, &c, "x=1");
    seen_expect(bench, &d, "x=1");
    cluster_unwatch(d.interest);
    cluster_unwatch(c.interest);
    assert_null(bench->cluster->streams);
}

static void odd_names_are_watched_without_a_field_selector_or_refused(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "a%2fb"};
    struct api_bench *bench = *state;
    struct seen seen = {0};
    struct error err = {0};

    (void)api_bench_put(bench, MAPS "/a,b=c", "{\"spec\": {\"n\": 1}}");
    seen_watch(bench, "a,b=c", NULL, &seen);
    seen_expect(bench, &seen, "a,b=c=1");
    seen_run_until_watched(bench, 1);
    assert_string_equal(api_bench_log(bench), "LIST " MAPS "; WATCH " MAPS);
    cluster_unwatch(seen.interest);
    for (size_t i = 0; i < array_length(bad); i++) {
        assert_int_equal(cluster_watch(bench->cluster, kind_builtin("v1", "ConfigMap"), "a", bad[i],
                                       NULL, seen_note, &seen, &seen.interest, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_int_equal(cluster_watch(bench->cluster, kind_builtin("v1", "ConfigMap"), "a/b", "x",
                                   NULL, seen_note, &seen, &seen.interest, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(bench->cluster->streams);
}

static void watches_are_limited_and_spread_over_connections(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen[CLUSTER_WATCHES_MAX] = {{.text = ""}};
    struct seen refused = {0};
    struct error err = {0};

    for (size_t i = 0; i < array_length(seen); i++) {
        char label[16];

        (void)snprintf(label, sizeof(label), "n=%zu", i);
        seen_watch(bench, NULL, label, &seen[i]);
    }
    for (size_t i = 0; i < CLUSTER_CONNECTIONS_MAX; i++)
        assert_int_equal(bench->cluster->connections[i].watch_count, CLUSTER_CONNECTION_WATCHES);
    assert_ptr_not_equal(bench->cluster->connections[0].kube, bench->cluster->connections[1].kube);
    assert_int_equal(cluster_watch(bench->cluster, kind_builtin("v1", "ConfigMap"), "a", "x", NULL,
                                   seen_note, &refused, &refused.interest, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_non_null(strstr(err.text, "too many watches at server \"http://127.0.0.1:"));
    seen_stop(seen, array_length(seen));
    seen_watch(bench, "x", NULL, &refused);
    cluster_unwatch(refused.interest);
}

static void one_watch_of_a_cluster_has_bookmarks_if_they_are_limited(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen[3] = {{.text = ""}};

    cluster_pool_limit_bookmarks(bench->pool);
    seen_watch(bench, "x", NULL, &seen[0]);
    seen_watch(bench, "y", NULL, &seen[1]);
    seen_watch(bench, NULL, "l=m", &seen[2]);
    seen_run_until_watched(bench, 3);
    assert_int_equal(api_bench_count(bench, "watch=true"), 3);
    assert_int_equal(api_bench_count(bench, "allowWatchBookmarks=true"), 1);
    /* Another one takes over when that one ends. */
    cluster_unwatch(seen[0].interest);
    seen_break_watches(bench);
    while (api_bench_count(bench, "watch=true") < 5)
        api_bench_run_once(bench);
    assert_int_equal(api_bench_count(bench, "allowWatchBookmarks=true"), 2);
    seen_stop(&seen[1], 2);
    assert_null(bench->cluster->bookmarked);
}

/* A server that sends nothing any more is noticed by the absence of bookmarks, and what the other
 * streams have missed is not known. */
static void when_bookmarks_stop_all_watches_of_the_cluster_are_renewed(void **state)
{
    struct api_bench *bench = *state;
    struct seen seen[2] = {{.text = ""}};

    cluster_pool_limit_bookmarks(bench->pool);
    seen_watch(bench, "x", NULL, &seen[0]);
    seen_watch(bench, "y", NULL, &seen[1]);
    seen_run_until_watched(bench, 2);
    /* Longer than the stall timeout, which is checked in four steps. */
    for (int step = 0; step < 5; step++) {
        api_bench_run_idle(bench);
        assert_int_equal(api_bench_count(bench, "watch=true"), 2);
        clock_fake_advance(&bench->clock, 40000);
    }
    /* The client backs off, but not for as long as a stream without bookmarks may be silent. */
    for (int step = 0; step < 60 && api_bench_count(bench, "watch=true") < 4; step++) {
        api_bench_run_idle(bench);
        clock_fake_advance(&bench->clock, 1000);
    }
    assert_int_equal(api_bench_count(bench, "watch=true"), 4);
    assert_int_equal(api_bench_count(bench, "allowWatchBookmarks=true"), 2);
    seen_stop(seen, array_length(seen));
}

int main(void)
{
#define test_fake(name_)                                                                           \
    cmocka_unit_test_setup_teardown(name_, api_bench_setup_fake, api_bench_teardown)
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(one_object_is_followed_through_its_life),
        test(known_objects_are_watched_without_a_list),
        test(an_object_that_does_not_exist_is_reported),
        test(more_than_four_names_are_watched_together),
        test(many_names_at_once_are_one_watch),
        test(all_objects_that_match_are_followed),
        test(what_vanished_during_an_interruption_is_reported),
        test(errors_are_reported_and_retried),
        test(after_a_restore_of_etcd_lower_versions_are_believed),
        test(interests_can_end_and_begin_in_callbacks),
        test(odd_names_are_watched_without_a_field_selector_or_refused),
        test(watches_are_limited_and_spread_over_connections),
        test(one_watch_of_a_cluster_has_bookmarks_if_they_are_limited),
        test_fake(when_bookmarks_stop_all_watches_of_the_cluster_are_renewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
