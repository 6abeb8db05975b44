/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/checks_bench.h"

/* ---- Custom checks ---- */

static void requirements_on_named_objects(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(
        bench,
        "[{'name': 'my check', 'objects': ['v1 ConfigMap ns/a', 'v1 Namespace n'], " IS_READY "}]");
    assert_int_equal(bench->cluster->lookup_count, 2);
    bench_must_say(bench, "check my check: ConfigMap ns/a: was not read yet; "
                          "check my check: Namespace n: was not read yet");
    fake_deliver(bench->cluster, "configmaps ns/a", OBJECT("a", "Ready"));
    fake_deliver(bench->cluster, "namespaces n", OBJECT("n", "s3cret"));
    bench_must_say(bench,
                   "check my check: Namespace n: .status.phase: found a string, but operator "
                   "\"==\" does not hold");
    fake_deliver(bench->cluster, "configmaps ns/a", NULL);
    fake_deliver(bench->cluster, "namespaces n", OBJECT("n", "Ready"));
    bench_must_say(bench, "check my check: ConfigMap ns/a: does not exist");
    fake_deliver(bench->cluster, "configmaps ns/a", OBJECT("a", "Ready"));
    assert_true(bench->is_ready);
}

static void a_kind_may_appear_later(void **state)
{
    struct checks_bench *bench = *state;

    bench->cluster->lookup_error = ERROR_NOT_FOUND;
    bench_start(bench, "[{'objects': ['v1 ConfigMap ns/a'], " IS_READY "}]");
    bench_must_say(bench,
                   "check n: ConfigMap ns/a: does not exist; the cluster has no kind ConfigMap");
    bench->cluster->lookup_error = ERROR_NONE;
    fake_advance(bench->cluster, 1000);
    fake_deliver(bench->cluster, "configmaps ns/a", OBJECT("a", "Ready"));
    assert_true(bench->is_ready);
}

static void settled_objects_are_not_watched_while_custom_checks_wait(void **state)
{
    struct checks_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/c", "configmaps", CONFIG_MAP);
    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", DEPLOYMENT("d", "1"));
    bench_start(bench, "[{'objects': ['v1 Secret ns/s'], 'requirements': []}]");
    assert_false(fake_is_watched(bench->cluster, "configmaps ns/c"));
    assert_true(fake_is_watched(bench->cluster, "deployments ns/d"));
    fake_deliver(bench->cluster, "secrets ns/s", "{}");
    assert_true(bench->is_ready);
}

static void selected_objects_may_come_go_and_be_replaced(void **state)
{
    struct checks_bench *bench = *state;
    const char *all = "configmaps ?app=x";

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', " IS_READY "}]");
    bench_must_say(bench, "check n: ConfigMap with app=x: found 0 of 1 objects");
    bench_must_say(bench, "check n: ConfigMap with app=x: not listed yet");
    fake_deliver(bench->cluster, all, OBJECT("b", "Ready"));
    fake_deliver(bench->cluster, all, OBJECT("a", "Waiting"));
    fake_deliver(bench->cluster, all, OBJECT("c", "Ready"));
    fake_deliver(bench->cluster, all, NULL);
    bench_must_say(bench, "check n: ConfigMap ns/a: .status.phase: found a string");
    /* The one that was not ready is replaced by another one. */
    fake_deliver(bench->cluster, all, OBJECT("d", "Waiting"));
    fake_deliver_gone(bench->cluster, all, OBJECT("a", ""));
    fake_deliver_gone(bench->cluster, all, OBJECT("unknown", ""));
    bench_must_say(bench, "check n: ConfigMap ns/d: .status.phase: found a string");
    fake_deliver(bench->cluster, all, OBJECT("d", "Ready"));
    assert_true(bench->is_ready);
    assert_int_equal(bench->cluster->request_count, 0);
    assert_int_equal(bench->cluster->watch_count, 1);
}

static void nothing_selected_is_not_ready(void **state)
{
    struct checks_bench *bench = *state;
    const char *all = "configmaps ?app=x";

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', " IS_READY "}]");
    fake_deliver(bench->cluster, all, NULL);
    bench_must_say(bench, "check n: ConfigMap with app=x: found 0 of 1 objects");
    fake_deliver(bench->cluster, all, OBJECT("a", "Ready"));
    assert_true(bench->is_ready);
}

static void a_list_is_not_complete_before_its_end(void **state)
{
    struct checks_bench *bench = *state;
    const char *all = "configmaps ?app=x";

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', " IS_READY "}]");
    fake_deliver(bench->cluster, all, OBJECT("a", "Ready"));
    bench_must_say(bench, "not listed yet");
    fake_deliver_error(bench->cluster, all, ERROR_TEMPORARY, "connection reset");
    bench_must_say(bench, "check n: ConfigMap with app=x: connection reset");
    fake_deliver(bench->cluster, all, OBJECT("b", "Waiting"));
    fake_deliver(bench->cluster, all, NULL);
    bench_must_say(bench, "ConfigMap ns/b");
    fake_deliver(bench->cluster, all, OBJECT("b", "Ready"));
    assert_true(bench->is_ready);
}

static void namespaces_and_a_minimum_limit_a_selection(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', 'namespaces': ['x', 'y'], 'min': 2, "
                       "'requirements': []}]");
    fake_deliver(bench->cluster, "configmaps x/?app=x", OBJECT("a", ""));
    fake_deliver(bench->cluster, "configmaps x/?app=x", NULL);
    bench_must_say(bench, "found 1 of 2 objects");
    fake_deliver(bench->cluster, "configmaps y/?app=x", OBJECT("a", ""));
    bench_must_say(bench, "not listed yet");
    fake_deliver(bench->cluster, "configmaps y/?app=x", NULL);
    assert_true(bench->is_ready);
}

static void a_minimum_of_none_is_ready_without_objects(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench,
                "[{'labels': 'v1 ConfigMap app=x', 'min': 0, 'namespaces': [], " IS_READY "}]");
    fake_deliver(bench->cluster, "configmaps ?app=x", NULL);
    assert_true(bench->is_ready);
}

static void the_objects_of_a_kind_that_vanishes_are_gone(void **state)
{
    struct checks_bench *bench = *state;
    const char *all = "configmaps ?app=x";

    bench_start(bench,
                "[{'labels': 'v1 ConfigMap app=x', " IS_READY "}, {'objects': ['v1 Secret ns/s'], "
                "'requirements': []}]");
    fake_deliver(bench->cluster, all, OBJECT("a", "Ready"));
    fake_deliver(bench->cluster, all, OBJECT("b", "Ready"));
    fake_deliver(bench->cluster, all, NULL);
    fake_deliver_error(bench->cluster, all, ERROR_NOT_FOUND, "404 page not found");
    bench->cluster->lookup_error = ERROR_NOT_FOUND;
    fake_advance(bench->cluster, 1000);
    bench_must_say(bench, "check n: ConfigMap with app=x: found 0 of 1 objects");
}

static void too_many_selected_objects_are_refused(void **state)
{
    struct checks_bench *bench = *state;
    const struct fake_part *interest = NULL;

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', 'requirements': []}]");
    interest = fake_interest(bench->cluster, "configmaps ?app=x");
    for (int i = 0; i < CHECK_OBJECTS_MAX + 1; i++) {
        cleanup_json json_t *object = json_object();
        char name[32];

        (void)snprintf(name, sizeof(name), "o%d", i * 7919 % 20011); /* in no order */
        doc_set_text(object, "metadata.name", name);
        interest->on_object(interest->data, object, NULL);
    }
    interest->on_object(interest->data, NULL, NULL);
    fake_run(bench->cluster);
    bench_must_say(bench, "ConfigMap with app=x: more than 10000 objects, use a narrower selector");
}

static void the_default_rules_apply_to_selected_objects(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[{'labels': 'apps/v1 Deployment app=x', 'default': true}]");
    fake_deliver(bench->cluster, "deployments ?app=x", DEPLOYMENT("d", "0"));
    fake_deliver(bench->cluster, "deployments ?app=x", NULL);
    bench_must_say(bench, "check n: Deployment ns/d: ");
    fake_deliver(bench->cluster, "deployments ?app=x", DEPLOYMENT("d", "1"));
    assert_true(bench->is_ready);
}

static void a_selected_object_that_failed_for_good_ends_strict_checks(void **state)
{
    struct checks_bench *bench = *state;

    bench->rules = READINESS_STRICT;
    bench_start(bench, "[{'labels': 'batch/v1 Job app=x', 'default': true}]");
    fake_deliver(bench->cluster, "jobs ?app=x", FAILED_JOB);
    assert_int_equal(strncmp(bench->failure, "check n: Job ns/j: ", 19), 0);
}

static void a_check_can_be_about_another_cluster(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[{'target': 't', 'objects': ['v1 ConfigMap ns/a'], 'labels': "
                       "'v1 Secret app=x', 'requirements': []}]");
    assert_int_equal(bench->cluster->watch_count, 0);
    fake_deliver(bench->second, "configmaps ns/a", "{}");
    fake_deliver(bench->second, "secrets ?app=x", OBJECT("s", ""));
    fake_deliver(bench->second, "secrets ?app=x", NULL);
    fake_run(bench->cluster);
    assert_true(bench->is_ready);
}

static void a_target_that_was_not_resolved_is_refused(void **state)
{
    static const struct {
        const char *custom, *expected;
    } cases[] = {
        {"[{'target': 't', 'objects': ['v1 ConfigMap ns/a']}]",
         "check n: target t was not resolved"},
        {"[{'objects': ['v1 ConfigMap ns/a'], 'requirements': [{'path': '.a', 'op': '==', 'from': "
         "'v1 Secret ns/s', 'fromPath': '.b', 'fromTarget': 't'}]}]",
         "check n: target t of valueFrom was not resolved"},
        {"[{'disabled': true, 'target': 't', 'objects': ['v1 ConfigMap ns/a']}]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        void *prepared = NULL;
        struct checks_bench *bench = NULL;
        struct error err = {0};
        struct cluster *second = NULL;

        (void)bench_setup(&prepared);
        bench = prepared;
        second = steal(&bench->second);
        assert_int_equal(bench_try(bench, cases[i].custom, &err), cases[i].expected ? -1 : 0);
        assert_string_equal(err.text, cases[i].expected ? cases[i].expected : "");
        bench->second = second;
        (void)bench_teardown(&prepared);
    }
}

/* ---- Values of other objects ---- */

static void a_value_is_compared_with_that_of_another_object_whichever_changes(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench,
                "[{'objects': ['v1 ConfigMap ns/a'], 'labels': 'v1 ConfigMap app=x', " SAME_REVISION
                "}]");
    fake_deliver(bench->cluster, "configmaps ns/a", APPLIED("a", "1"));
    fake_deliver(bench->cluster, "configmaps ?app=x", APPLIED("b", "2"));
    fake_deliver(bench->cluster, "configmaps ?app=x", NULL);
    bench_must_say(bench,
                   "check n: ConfigMap ns/a: .applied: the value of valueFrom is not there yet");
    fake_deliver(bench->cluster, "secrets ns/s", NULL);
    bench_must_say(bench, "check n: valueFrom Secret ns/s: does not exist");
    fake_deliver(bench->cluster, "secrets ns/s", "{}");
    bench_must_say(bench, "check n: valueFrom Secret ns/s: .revision: found no value");
    fake_deliver(bench->cluster, "secrets ns/s", SOURCE("2"));
    bench_must_say(bench, "check n: ConfigMap ns/a: .applied: found a number");
    fake_deliver(bench->cluster, "secrets ns/s", SOURCE("1"));
    bench_must_say(bench, "check n: ConfigMap ns/b: .applied: found a number");
    fake_deliver_error(bench->cluster, "secrets ns/s", ERROR_TEMPORARY, "connection reset");
    bench_must_say(bench, "check n: valueFrom Secret ns/s: connection reset");
    fake_deliver(bench->cluster, "configmaps ?app=x", APPLIED("b", "1"));
    assert_true(bench->is_ready); /* the value that was read last counts */
}

static void selected_objects_are_compared_when_the_other_object_changes(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[{'labels': 'v1 ConfigMap app=x', " SAME_REVISION "}]");
    fake_deliver(bench->cluster, "configmaps ?app=x", APPLIED("b", "2"));
    fake_deliver(bench->cluster, "configmaps ?app=x", NULL);
    fake_deliver(bench->cluster, "secrets ns/s", SOURCE("1"));
    bench_must_say(bench, "check n: ConfigMap ns/b: .applied: found a number");
    fake_deliver(bench->cluster, "secrets ns/s", SOURCE("2"));
    assert_true(bench->is_ready);
}

static void a_value_can_come_from_another_cluster(void **state)
{
    struct checks_bench *bench = *state;
    struct error err = {0};
    struct checks_options options = {.cluster = bench->cluster,
                                     .on_ready = bench_on_ready,
                                     .on_failed = bench_on_failed,
                                     .data = bench};
    cleanup_json json_t *doc =
        parse("{'objects': ['v1 ConfigMap ns/a'], 'requirements': [{'path': '.applied', 'op': "
              "'==', 'from': 'v1 Secret ns/s', 'fromPath': '.revision', 'fromTarget': 't'}]}");

    bench->custom = xcalloc(1, sizeof(*bench->custom));
    bench->custom[0] = parse_check(doc);
    bench->custom_count = 1;
    bench->custom[0].requirements[0].value_from->cluster = bench->second;
    options.custom = bench->custom;
    options.custom_count = 1;
    assert_int_equal(checks_start(&options, &bench->checks, &err), 0);
    fake_deliver(bench->second, "secrets ns/s", SOURCE("1"));
    fake_deliver(bench->cluster, "configmaps ns/a", APPLIED("a", "1"));
    assert_true(bench->is_ready);
}

static void a_source_whose_kind_vanishes_has_no_value(void **state)
{
    struct checks_bench *bench = *state;

    bench_start(bench, "[{'objects': ['v1 ConfigMap ns/a'], " SAME_REVISION "}]");
    fake_deliver(bench->cluster, "secrets ns/s", SOURCE("1"));
    fake_deliver_error(bench->cluster, "secrets ns/s", ERROR_NOT_FOUND, "404 page not found");
    bench->cluster->lookup_error = ERROR_NOT_FOUND;
    fake_advance(bench->cluster, 1000);
    fake_deliver(bench->cluster, "configmaps ns/a", APPLIED("a", "1"));
    bench_must_say(bench, "check n: valueFrom Secret ns/s: the cluster has no kind Secret");
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(requirements_on_named_objects),
        test(a_kind_may_appear_later),
        test(settled_objects_are_not_watched_while_custom_checks_wait),
        test(selected_objects_may_come_go_and_be_replaced),
        test(nothing_selected_is_not_ready),
        test(a_list_is_not_complete_before_its_end),
        test(namespaces_and_a_minimum_limit_a_selection),
        test(a_minimum_of_none_is_ready_without_objects),
        test(the_objects_of_a_kind_that_vanishes_are_gone),
        test(too_many_selected_objects_are_refused),
        test(the_default_rules_apply_to_selected_objects),
        test(a_selected_object_that_failed_for_good_ends_strict_checks),
        test(a_check_can_be_about_another_cluster),
        cmocka_unit_test(a_target_that_was_not_resolved_is_refused),
        test(a_value_is_compared_with_that_of_another_object_whichever_changes),
        test(selected_objects_are_compared_when_the_other_object_changes),
        test(a_value_can_come_from_another_cluster),
        test(a_source_whose_kind_vanishes_has_no_value),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
