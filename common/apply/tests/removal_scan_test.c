/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/removal_bench.h"

#define ALL "[{'type': 'all', 'resources': ['v1 ConfigMap']}]"
#define ITEM(name_)                                                                                \
    "{'metadata': {'name': '" name_ "', 'namespace': 'ns', 'uid': 'u-" name_ "', 'labels': "       \
    "{'a': 'b'}}}"

static void everything_that_matches_is_deleted_whoever_owns_it(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, ALL);
    bench_must_say(bench, "list of ConfigMap: not complete yet");
    fake_list_item(bench->cluster, "configmaps ?", ITEM("a"));
    fake_list_item(bench->cluster, "configmaps ?", ITEM("b"));
    assert_int_equal(bench->cluster->watch_count, 0);
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NONE);
    assert_int_equal(bench->cluster->lookup_count, 1); /* not again for each object */
    fake_deliver(bench->cluster, "configmaps ns/a", ITEM("a"));
    assert_null(fake_request(bench->cluster, "DELETE configmaps ns/a u-a")->version);
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, "configmaps ns/a", NULL);
    /* Another one of this name than the one in the list is not ours to delete. */
    fake_deliver(bench->cluster, "configmaps ns/b", "{'metadata': {'uid': 'u-new'}}");
    assert_true(bench->is_done);
    assert_string_equal(bench->removed, "");
    assert_int_equal(bench->cluster->request_count, 1);
    assert_int_equal(bench->cluster->list_count, 1);
}

static void lists_are_limited_to_namespaces_and_names(void **state)
{
    static const struct {
        const char *group;
        const char *lists[4]; /* in this order */
    } cases[] = {
        {"'resources': ['v1 ConfigMap'], 'namespaces': ['x', 'y']",
         {"configmaps x/?", "configmaps y/?"}},
        {"'resources': ['v1 ConfigMap'], 'names': ['a']", {"configmaps ? metadata.name=a"}},
        {"'resources': ['v1 ConfigMap'], 'names': ['a', 'b']", {"configmaps ?"}},
        {"'resources': ['v1 ConfigMap'], 'names': [], 'namespaces': []", {"configmaps ?"}},
        {"'resources': ['v1 ConfigMap', 'v1 Secret'], 'namespaces': ['x']",
         {"configmaps x/?", "secrets x/?"}},
        {"'resources': ['v1 Namespace']", {"namespaces ?"}},
        /* Objects without a namespace are in none of these. */
        {"'resources': ['v1 Namespace'], 'namespaces': ['x']", {NULL}},
        {"'resources': ['example.org/v1 Unknown', 'v1 Secret']", {"secrets ?"}},
        {"'resources': []", {NULL}},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *group = xasprintf("[{'type': 'all', %s}]", cases[i].group);
        void *prepared = NULL;
        struct removal_bench *bench = NULL;
        size_t count = 0;

        (void)bench_setup(&prepared);
        bench = prepared;
        bench_start(bench, group);
        for (; cases[i].lists[count]; count++)
            fake_list_done(bench->cluster, cases[i].lists[count], ERROR_NONE);
        assert_true(bench->is_done);
        assert_int_equal(bench->cluster->list_count, count);
        (void)bench_teardown(&prepared);
    }
}

static void objects_that_the_server_should_not_have_listed_stay(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, "[{'type': 'selected', 'resources': ['v1 ConfigMap'], 'labels': "
                       "{'a': 'b', 'c': 'd'}}]");
    fake_list_item(bench->cluster, "configmaps ?a=b,c=d", ITEM("a"));
    fake_list_done(bench->cluster, "configmaps ?a=b,c=d", ERROR_NONE);
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->watch_count, 0);
}

static void recorded_objects_are_reported_and_kept_ones_stay(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench->entries.entries[0].annotate_before_delete = parse("{'confirm': 'yes'}");
    bench_add(bench, "v1 ConfigMap ns/gone u-gone");
    bench_add(bench, "keep v1 ConfigMap ns/k u-k");
    bench_add(bench, "v1 Secret ns/s u-s");
    bench_start(bench, ALL);
    fake_list_item(bench->cluster, "configmaps ?", ITEM("a"));
    fake_list_item(bench->cluster, "configmaps ?", ITEM("k"));
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NONE);
    assert_false(fake_is_watched(bench->cluster, "configmaps ns/k"));
    fake_deliver(bench->cluster, "configmaps ns/a", ITEM("a"));
    fake_answer(bench->cluster, "GET configmaps ns/a", ITEM("a"));
    fake_answer(bench->cluster, "PUT configmaps ns/a", NULL);
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, "configmaps ns/a", NULL);
    assert_true(bench->is_done);
    assert_string_equal(bench->removed, "ns/k kept; ns/a deleted; ns/gone deleted");
}

static void groups_of_another_cluster_have_nothing_to_do_with_the_recorded_objects(void **state)
{
    struct removal_bench *bench = *state;

    /* It runs although nothing that is recorded is to be deleted. */
    bench_add(bench, "keep v1 ConfigMap ns/a u-a");
    bench_start(bench, "[{'type': 'all', 'resources': ['v1 ConfigMap'], 'target': 't'}]");
    assert_int_equal(bench->cluster->list_count, 0);
    fake_list_item(bench->second, "configmaps ?", ITEM("a"));
    fake_list_done(bench->second, "configmaps ?", ERROR_NONE);
    fake_deliver(bench->second, "configmaps ns/a", ITEM("a"));
    fake_answer(bench->second, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->second, "configmaps ns/a", NULL);
    fake_run(bench->cluster);
    assert_true(bench->is_done);
    assert_string_equal(bench->removed, "ns/a kept");
}

static void a_list_that_fails_is_repeated_and_its_objects_do_not_count(void **state)
{
    struct removal_bench *bench = *state;

    bench->cluster->lookup_error = ERROR_TEMPORARY;
    bench_start(bench, ALL);
    bench_must_say(bench, "list of ConfigMap: the cluster has no kind");
    bench->cluster->lookup_error = ERROR_NONE;
    bench->cluster->start_error = ERROR_INVALID;
    fake_advance(bench->cluster, 1000);
    bench_must_say(bench, "list of ConfigMap: list refused");
    bench->cluster->start_error = ERROR_NONE;
    fake_advance(bench->cluster, 1000);
    fake_list_item(bench->cluster, "configmaps ?", ITEM("a"));
    fake_list_done(bench->cluster, "configmaps ?", ERROR_GONE);
    bench_must_say(bench, "list of ConfigMap: the list failed");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_GONE);
    fake_advance(bench->cluster, 2000);
    fake_list_item(bench->cluster, "configmaps ?", NULL); /* too large to be read */
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NONE);
    bench_must_say(bench, "list of ConfigMap: object too large");
    fake_advance(bench->cluster, 4000);
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NONE);
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->watch_count, 0);
}

static void a_list_that_gets_404_says_nothing_until_the_kind_was_looked_up_again(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, ALL);
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NOT_FOUND);
    assert_false(bench->is_done);
    fake_advance(bench->cluster, 1000);
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NOT_FOUND);
    assert_int_equal(bench->cluster->forget_count, 2);
    bench->cluster->lookup_error = ERROR_NOT_FOUND;
    fake_advance(bench->cluster, 2000);
    assert_true(bench->is_done);
}

static void more_objects_than_fit_are_listed_again(void **state)
{
    struct removal_bench *bench = *state;
    char text[200];

    bench_start(bench, ALL);
    for (int i = 0; i < REMOVAL_LISTED_MAX + 1; i++) {
        (void)snprintf(text, sizeof(text),
                       "{'metadata': {'name': 'o%d', 'namespace': 'ns', 'uid': 'u'}}", i);
        fake_list_item(bench->cluster, "configmaps ?", text);
    }
    assert_false(fake_is_listing(bench->cluster, "configmaps ?"));
    fake_run(bench->cluster);
    assert_int_equal(bench->cluster->watch_count, REMOVAL_LISTED_MAX);
    for (int i = 0; i < REMOVAL_LISTED_MAX; i++) {
        (void)snprintf(text, sizeof(text), "o%d", i);
        assert_false(fake_is_listing(bench->cluster, "configmaps ?"));
        bench_absent(bench->cluster, "configmaps", "ns", text);
    }
    fake_list_done(bench->cluster, "configmaps ?", ERROR_NONE);
    assert_true(bench->is_done);
}

static void waiting_only_deletes_nothing_and_ends_when_none_is_left(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, "[{'type': 'selected', 'resources': ['v1 ConfigMap'], 'labels': "
                       "{'a': 'b'}, 'waitOnly': true, 'force': true}]");
    fake_list_item(bench->cluster, "configmaps ?a=b", ITEM("a"));
    fake_list_done(bench->cluster, "configmaps ?a=b", ERROR_NONE);
    fake_deliver(bench->cluster, "configmaps ns/a", ITEM("a"));
    bench_must_say(bench, "ConfigMap ns/a: exists");
    fake_deliver(bench->cluster, "configmaps ns/a",
                 "{'metadata': {'uid': 'u-a', 'deletionTimestamp': 'x', 'finalizers': ['f']}}");
    fake_deliver(bench->cluster, "configmaps ns/a", NULL);
    assert_false(bench->is_done); /* another one may have been created meanwhile */
    fake_list_item(bench->cluster, "configmaps ?a=b", ITEM("b"));
    fake_list_done(bench->cluster, "configmaps ?a=b", ERROR_NONE);
    bench_absent(bench->cluster, "configmaps", "ns", "b");
    fake_list_done(bench->cluster, "configmaps ?a=b", ERROR_NONE);
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->request_count, 1); /* that b is absent was confirmed */
}

static void a_group_that_could_remove_too_much_is_refused(void **state)
{
    struct removal_bench *bench = *state;
    struct error err = {0};

    assert_int_equal(
        bench_try(bench, "[{'type': 'selected', 'resources': ['v1 ConfigMap']}]", &err), -1);
    assert_string_equal(
        err.text, "deletion group: ConfigMap is not limited: add matchLabels, names or namespaces");
    assert_null(bench->removal);
}

static void it_can_be_cancelled_while_a_list_waits_to_be_repeated(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, ALL);
    fake_list_item(bench->cluster, "configmaps ?", ITEM("a"));
    fake_list_done(bench->cluster, "configmaps ?", ERROR_TEMPORARY);
    /* The teardown cancels. */
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(everything_that_matches_is_deleted_whoever_owns_it),
        cmocka_unit_test(lists_are_limited_to_namespaces_and_names),
        test(objects_that_the_server_should_not_have_listed_stay),
        test(recorded_objects_are_reported_and_kept_ones_stay),
        test(groups_of_another_cluster_have_nothing_to_do_with_the_recorded_objects),
        test(a_list_that_fails_is_repeated_and_its_objects_do_not_count),
        test(a_list_that_gets_404_says_nothing_until_the_kind_was_looked_up_again),
        test(more_objects_than_fit_are_listed_again),
        test(waiting_only_deletes_nothing_and_ends_when_none_is_left),
        test(a_group_that_could_remove_too_much_is_refused),
        test(it_can_be_cancelled_while_a_list_waits_to_be_repeated),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
