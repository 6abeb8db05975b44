/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/removal_bench.h"

#define NAMESPACED "[{'type': 'namespaced'}]"
#define FORCED "[{'type': 'namespaced', 'force': true}]"
#define A "configmaps ns/a"

/* ---- What happens to one object ---- */

static void an_object_is_deleted_with_its_uid_and_is_gone_when_the_watch_says_so(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    bench_must_say(bench, "ConfigMap ns/a: was not read yet");
    assert_int_equal(bench->cluster->request_count, 0);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    bench_must_say(bench, "ConfigMap ns/a: exists");
    assert_non_null(fake_request(bench->cluster, "DELETE configmaps ns/a u-a")->may_send);
    /* Decided for this version: somebody else may take the object over in the meantime. */
    assert_string_equal(fake_request(bench->cluster, "DELETE configmaps ns/a u-a")->version, "7");
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    bench_must_say(bench, "ConfigMap ns/a: is being deleted");
    fake_deliver(bench->cluster, A, LIVE("a", "")); /* older than the deletion */
    fake_advance(bench->cluster, 600000);
    assert_int_equal(bench->cluster->request_count, 1);
    assert_false(bench->is_done);
    fake_deliver(bench->cluster, A, NULL);
    assert_string_equal(bench->removed, "ns/a deleted");
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->request_count, 1);
    assert_int_equal(bench->cluster->watch_count, 1);
}

static void the_verdict_decides_what_becomes_of_a_recorded_object(void **state)
{
    static const struct {
        const char *entry, *live, *request, *removed;
    } cases[] = {
        {"v1 ConfigMap ns/a u-a", NULL, "LIST configmaps ns/? metadata.name=a", "ns/a deleted"},
        {"v1 ConfigMap ns/a u-old", LIVE("a", ""), NULL, "ns/a replaced"},
        {"v1 ConfigMap ns/a", LIVE("a", ""), "DELETE configmaps ns/a u-a", "ns/a deleted"},
        {"v1 ConfigMap ns/a u-a",
         "{'metadata': {'name': 'a', 'uid': 'u-a', 'labels': {'owner': 'other'}}}", NULL,
         "ns/a moved"},
        {"v1 ConfigMap ns/a", "{'metadata': {'name': 'a', 'uid': 'u-a'}}", NULL, "ns/a foreign"},
        {"v1 ConfigMap ns/a u-a", "{'metadata': {'name': 'a', 'uid': 'u-a'}}",
         "DELETE configmaps ns/a u-a", "ns/a deleted"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        void *prepared = NULL;
        struct removal_bench *bench = NULL;

        (void)bench_setup(&prepared);
        bench = prepared;
        bench_add(bench, cases[i].entry);
        bench_start(bench, NAMESPACED);
        fake_deliver(bench->cluster, A, cases[i].live);
        assert_int_equal(bench->cluster->request_count, cases[i].request != NULL);
        if (cases[i].request)
            fake_answer(bench->cluster, cases[i].request, EMPTY_LIST);
        if (!bench->is_done)
            fake_deliver(bench->cluster, A, NULL);
        assert_string_equal(bench->removed, cases[i].removed);
        assert_true(bench->is_done);
        (void)bench_teardown(&prepared);
    }
}

static void an_object_that_is_replaced_after_its_deletion_is_gone(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, A, "{'metadata': {'uid': 'u-new', 'labels': {'owner': 'me'}}}");
    assert_string_equal(bench->removed, "ns/a deleted");
    assert_true(bench->is_done);
}

static void an_object_that_vanishes_during_a_request_is_gone(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

static void an_object_that_is_being_deleted_is_only_waited_for(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A,
                 LIVE("a", TERMINATING ", 'finalizers': ['example.org/x', 'y']"));
    bench_must_say(bench, "ConfigMap ns/a: waits for finalizers (example.org/x, y)");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_NONE);
    assert_int_equal(bench->cluster->request_count, 0);
    fake_deliver(bench->cluster, A, LIVE("a", TERMINATING));
    bench_must_say(bench, "ConfigMap ns/a: is being deleted");
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

/* ---- Before and after a deletion ---- */

static void add_prepared(struct removal_bench *bench)
{
    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench->entries.entries[0].annotate_before_delete = parse("{'confirm': 'yes'}");
    bench->entries.entries[0].patch_before_delete = parse("{'spec': {'suspend': false}}");
}

#define PREPARED                                                                                   \
    "{'metadata': {'name': 'a', 'uid': 'u-a', 'resourceVersion': '8', 'annotations': "             \
    "{'confirm': 'yes'}}, 'spec': {'suspend': false}}"
#define UNPREPARED                                                                                 \
    "{'metadata': {'name': 'a', 'uid': 'u-a', 'resourceVersion': '8'}, 'spec': {'suspend': true}}"

static void annotations_and_patch_are_written_before_the_deletion(void **state)
{
    struct removal_bench *bench = *state;
    cleanup_json json_t *expected = parse(PREPARED);

    add_prepared(bench);
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_answer(bench->cluster, "GET configmaps ns/a", UNPREPARED);
    assert_true(json_equal(fake_request(bench->cluster, "PUT configmaps ns/a")->body, expected));
    assert_string_equal(fake_request(bench->cluster, "PUT configmaps ns/a")->field_manager,
                        "manager");
    fake_answer(bench->cluster, "PUT configmaps ns/a", "{'metadata': {'resourceVersion': '9'}}");
    assert_string_equal(fake_request(bench->cluster, "DELETE configmaps ns/a u-a")->version, "9");
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->request_count, 3);
}

static void what_is_written_already_is_not_written_again(void **state)
{
    struct removal_bench *bench = *state;

    add_prepared(bench);
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_answer(bench->cluster, "GET configmaps ns/a", PREPARED);
    assert_string_equal(fake_request(bench->cluster, "DELETE configmaps ns/a u-a")->version, "8");
    assert_int_equal(bench->cluster->request_count, 2);
}

static void without_its_annotations_an_object_is_not_deleted(void **state)
{
    static const struct {
        enum error_kind kind;
        const char *text;
    } failures[] = {
        {ERROR_CONFLICT, "changed"},
        {ERROR_DENIED, "forbidden"},
        {ERROR_INVALID, "denied by a webhook"},
    };
    struct removal_bench *bench = *state;

    add_prepared(bench);
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_refuse(bench->cluster, "GET configmaps ns/a", ERROR_TEMPORARY, 503, "away");
    bench_must_say(bench, "ConfigMap ns/a: away");
    for (size_t i = 0; i < array_length(failures); i++) {
        fake_advance(bench->cluster, 30000);
        fake_answer(bench->cluster, "GET configmaps ns/a", UNPREPARED);
        fake_refuse(bench->cluster, "PUT configmaps ns/a", failures[i].kind, 400, failures[i].text);
        bench_must_say(bench, failures[i].text);
    }
    /* It was replaced: the watch is going to say so. */
    fake_advance(bench->cluster, 30000);
    fake_answer(bench->cluster, "GET configmaps ns/a", "{'metadata': {'uid': 'u-new'}}");
    bench_must_say(bench, "ConfigMap ns/a: the object was replaced");
    fake_advance(bench->cluster, 30000);
    bench->cluster->start_error = ERROR_INVALID;
    fake_answer(bench->cluster, "GET configmaps ns/a", UNPREPARED);
    bench_must_say(bench, "ConfigMap ns/a: request refused");
    assert_int_equal(fake_open_requests(bench->cluster), 0);
}

static void finalizers_are_removed_only_by_force_and_after_the_deletion(void **state)
{
    struct removal_bench *bench = *state;
    cleanup_json json_t *expected =
        parse("{'metadata': {'uid': 'u-a', 'resourceVersion': '8'}, 'data': {'x': 'y'}}");

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, FORCED);
    fake_deliver(bench->cluster, A, LIVE("a", ", 'finalizers': ['x']"));
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    assert_int_equal(fake_open_requests(bench->cluster), 0);
    fake_deliver(bench->cluster, A, LIVE("a", TERMINATING ", 'finalizers': ['x']"));
    fake_answer(bench->cluster, "GET configmaps ns/a",
                "{'metadata': {'uid': 'u-a', 'resourceVersion': '8', 'finalizers': ['x']}, 'data': "
                "{'x': 'y'}}");
    assert_true(json_equal(fake_request(bench->cluster, "PUT configmaps ns/a")->body, expected));
    fake_answer(bench->cluster, "PUT configmaps ns/a", NULL);
    fake_deliver(bench->cluster, A, LIVE("a", TERMINATING ", 'finalizers': ['x']"));
    assert_int_equal(fake_open_requests(bench->cluster), 0); /* that event was older */
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

/* ---- Groups ---- */

static void groups_run_in_order_and_what_none_takes_stays(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 Namespace n u-n");
    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_add(bench, "v1 ConfigMap ns/b u-b");
    bench_add(bench, "v1 Secret ns/s u-s");
    bench_start(bench, "[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'names': ['b']}, "
                       "{'type': 'empty'}, {'type': 'custom', 'resources': ['v1 ConfigMap']}, "
                       "{'type': 'cluster-scoped'}]");
    assert_true(fake_is_watched(bench->cluster, "configmaps ns/b"));
    assert_int_equal(bench->cluster->watch_count, 1);
    bench_absent(bench->cluster, "configmaps", "ns", "b");
    assert_true(fake_is_watched(bench->cluster, A));
    assert_int_equal(bench->cluster->watch_count, 2);
    bench_absent(bench->cluster, "configmaps", "ns", "a");
    bench_absent(bench->cluster, "namespaces", NULL, "n");
    assert_string_equal(bench->removed, "ns/b deleted; ns/a deleted; n deleted");
    assert_true(bench->is_done);
}

static void kept_objects_are_reported_and_never_touched(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "keep v1 ConfigMap ns/a u-a");
    bench_add(bench, "ignore v1 ConfigMap ns/b u-b");
    bench_start(bench, NAMESPACED);
    assert_string_equal(bench->removed, "ns/a kept; ns/b kept");
    assert_true(bench->is_done);
    assert_int_equal(bench->cluster->watch_count, 0);
}

static void nothing_to_remove_is_done_at_once(void **state)
{
    struct removal_bench *bench = *state;

    bench_start(bench, "[]");
    assert_true(bench->is_done);
}

static void objects_that_hang_do_not_hold_up_the_others(void **state)
{
    struct removal_bench *bench = *state;
    enum { COUNT = 3 * REMOVAL_PARALLEL_MAX };
    char text[200];

    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(text, sizeof(text), "v1 ConfigMap ns/o%d", i);
        bench_add(bench, text);
    }
    bench_start(bench, NAMESPACED);
    for (int i = 0; i < COUNT; i++) {
        char object[200];

        (void)snprintf(text, sizeof(text), "configmaps ns/o%d", i);
        (void)snprintf(object, sizeof(object),
                       "{'metadata': {'uid': 'u%d', 'labels': {'owner': 'me'}}}", i);
        fake_deliver(bench->cluster, text, object);
        assert_true(fake_open_requests(bench->cluster) <= REMOVAL_PARALLEL_MAX);
    }
    bench_must_say(bench, "; and 43 more");
    /* All are deleted although none is gone yet; one vanishes while it waits for its request. */
    (void)snprintf(text, sizeof(text), "configmaps ns/o%d", COUNT - 1);
    fake_deliver(bench->cluster, text, NULL);
    for (int i = 0; i < COUNT - 1; i++) {
        (void)snprintf(text, sizeof(text), "DELETE configmaps ns/o%d u%d", i, i);
        fake_answer(bench->cluster, text, NULL);
    }
    assert_int_equal(bench->cluster->request_count, COUNT - 1);
    for (int i = 0; i < COUNT - 1; i++) {
        (void)snprintf(text, sizeof(text), "configmaps ns/o%d", i);
        fake_deliver(bench->cluster, text, NULL);
    }
    assert_true(bench->is_done);
}

/* ---- Cancelling ---- */

static void run_script(struct removal_bench *bench, int steps)
{
    for (int step = 0; step < steps && bench->removal; step++) {
        switch (step) {
        case 0:
            fake_run(bench->cluster);
            break;
        case 1:
            fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_NONE);
            break;
        case 2:
            fake_deliver(bench->cluster, A, LIVE("a", ""));
            break;
        case 3:
            fake_answer(bench->cluster, "GET configmaps ns/a", UNPREPARED);
            break;
        case 4:
            fake_refuse(bench->cluster, "PUT configmaps ns/a", ERROR_TEMPORARY, 503, "away");
            break;
        case 5:
            fake_advance(bench->cluster, 1000);
            break;
        case 6:
            fake_answer(bench->cluster, "GET configmaps ns/a", PREPARED);
            break;
        case 7:
            fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
            break;
        case 8:
            fake_deliver(bench->cluster, A, NULL);
            break;
        case 9:
            fake_answer_lookup(bench->cluster, "Secret", ERROR_NONE);
            break;
        case 10:
            fake_list_item(bench->cluster, "secrets ?",
                           "{'metadata': {'name': 's', 'namespace': 'ns', 'uid': 'u-s'}}");
            break;
        case 11:
            fake_list_done(bench->cluster, "secrets ?", ERROR_NONE);
            break;
        case 12:
            bench_absent(bench->cluster, "secrets", "ns", "s");
            break;
        default:
            break;
        }
    }
}

static void it_can_be_cancelled_at_every_point(void **state)
{
    (void)state;
    removal_cancel(NULL);
    for (int steps = 0; steps < 14; steps++) {
        void *prepared = NULL;
        struct removal_bench *bench = NULL;
        struct error err = {0};

        (void)bench_setup(&prepared);
        bench = prepared;
        add_prepared(bench);
        bench->cluster->is_lookup_slow = true;
        assert_int_equal(bench_try(bench,
                                   "[{'type': 'namespaced'}, {'type': 'all', 'resources': "
                                   "['v1 Secret']}]",
                                   &err),
                         0);
        run_script(bench, steps);
        assert_int_equal(bench->is_done, steps >= 13);
        (void)bench_teardown(&prepared); /* cancels, and fails if anything is left */
    }
}

static void it_can_be_cancelled_from_inside_its_callback(void **state)
{
    static const char *const groups[] = {
        NAMESPACED,
        "[{'type': 'all', 'resources': ['example.org/v1 Unknown']}]",
        "[{'type': 'crds'}]",
    };

    (void)state;
    for (size_t i = 0; i < array_length(groups); i++) {
        void *prepared = NULL;
        struct removal_bench *bench = NULL;

        (void)bench_setup(&prepared);
        bench = prepared;
        bench->cancel_at = 1;
        bench_add(bench, "v1 ConfigMap ns/a u-a");
        bench_add(bench, "v1 ConfigMap ns/b u-b");
        bench_add(bench, "example.org/v1 Unknown ns/x u-x");
        if (i == 2)
            bench_add(bench, "keep v1 ConfigMap ns/k u-k");
        bench_start(bench, groups[i]);
        if (bench->removal)
            bench_absent(bench->cluster, "configmaps", "ns", "a");
        assert_null(bench->removal);
        assert_false(bench->is_done);
        assert_string_equal(bench->removed, i == 2 ? "ns/k kept" : "ns/x deleted");
        (void)bench_teardown(&prepared);
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(an_object_is_deleted_with_its_uid_and_is_gone_when_the_watch_says_so),
        cmocka_unit_test(the_verdict_decides_what_becomes_of_a_recorded_object),
        test(an_object_that_is_replaced_after_its_deletion_is_gone),
        test(an_object_that_vanishes_during_a_request_is_gone),
        test(an_object_that_is_being_deleted_is_only_waited_for),
        test(annotations_and_patch_are_written_before_the_deletion),
        test(what_is_written_already_is_not_written_again),
        test(without_its_annotations_an_object_is_not_deleted),
        test(finalizers_are_removed_only_by_force_and_after_the_deletion),
        test(groups_run_in_order_and_what_none_takes_stays),
        test(kept_objects_are_reported_and_never_touched),
        test(nothing_to_remove_is_done_at_once),
        test(objects_that_hang_do_not_hold_up_the_others),
        cmocka_unit_test(it_can_be_cancelled_at_every_point),
        cmocka_unit_test(it_can_be_cancelled_from_inside_its_callback),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
