/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and exports that go on after everything is as wanted. */
#include "common/apply/exports.h"
#include "common/apply/tests/checks_bench.h"
#include "common/apply/tests/exports_parse.h"

static void count(void *data)
{
    ++*(size_t *)data;
}

/* ---- Checks ---- */

static void the_state_follows_the_objects(void **state)
{
    struct cluster *cluster = *state;
    struct object_ref ref = parse_ref("apps/v1 Deployment ns/d");
    cleanup_json json_t *doc = parse("{'objects': ['v1 ConfigMap ns/c'], " IS_READY "}");
    struct custom_check custom = parse_check(doc);
    struct checks *checks = NULL;
    size_t changes = 0;
    const struct checks_options options = {.cluster = cluster,
                                           .objects = &ref,
                                           .object_count = 1,
                                           .custom = &custom,
                                           .custom_count = 1,
                                           .on_change = count,
                                           .data = &changes};
    struct error err = {0};

    assert_int_equal(checks_start(&options, &checks, &err), 0);
    fake_run(cluster);
    assert_int_equal(checks_state(checks), CHECKS_UNKNOWN);
    fake_deliver(cluster, "deployments ns/d", DEPLOYMENT("d", "1"));
    assert_int_equal(checks_state(checks), CHECKS_UNKNOWN);
    fake_deliver(cluster, "configmaps ns/c", OBJECT("c", "Ready"));
    assert_int_equal(checks_state(checks), CHECKS_HOLD);
    changes = 0;
    fake_deliver(cluster, "deployments ns/d", DEPLOYMENT("d", "0"));
    assert_int_equal(checks_state(checks), CHECKS_FAIL);
    assert_int_equal(changes, 1);
    /* What was seen last may not be true any more. */
    fake_deliver_error(cluster, "deployments ns/d", ERROR_TEMPORARY, "away");
    assert_int_equal(checks_state(checks), CHECKS_UNKNOWN);
    assert_int_equal(changes, 2);
    fake_deliver(cluster, "deployments ns/d", DEPLOYMENT("d", "1"));
    assert_int_equal(checks_state(checks), CHECKS_HOLD);
    fake_deliver(cluster, "configmaps ns/c", NULL);
    assert_int_equal(checks_state(checks), CHECKS_FAIL);
    checks_cancel(checks);
    custom_check_done(&custom);
    object_ref_done(&ref);
}

static void an_object_that_failed_for_good_may_recover(void **state)
{
    struct cluster *cluster = *state;
    struct object_ref ref = parse_ref("batch/v1 Job ns/j");
    struct checks *checks = NULL;
    size_t changes = 0;
    const struct checks_options options = {.cluster = cluster,
                                           .objects = &ref,
                                           .object_count = 1,
                                           .rules = READINESS_STRICT,
                                           .on_change = count,
                                           .data = &changes};
    struct error err = {0};

    assert_int_equal(checks_start(&options, &checks, &err), 0);
    fake_run(cluster);
    fake_deliver(cluster, "jobs ns/j", FAILED_JOB);
    assert_int_equal(checks_state(checks), CHECKS_FAIL);
    fake_deliver(cluster, "jobs ns/j",
                 "{'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'j', "
                 "'namespace': 'ns'}, 'status': {'conditions': [{'type': 'Complete', 'status': "
                 "'True'}]}}");
    assert_int_equal(checks_state(checks), CHECKS_HOLD);
    checks_cancel(checks);
    object_ref_done(&ref);
}

/* ---- Exports ---- */

static const char *value_of(const struct exports *exports, size_t index)
{
    const json_t *value = NULL;

    switch (exports_find(exports, index, &value)) {
    case EXPORT_FOUND:
        return json_string_value(value);
    case EXPORT_ABSENT:
        assert_null(value);
        return "absent";
    case EXPORT_UNKNOWN:
        break;
    }
    assert_null(value);
    return "unknown";
}

static void values_follow_the_objects(void **state)
{
    struct cluster *cluster = *state;
    cleanup_json json_t *plain = parse("{'key': 'a', 'path': '.v'}");
    cleanup_json json_t *referring =
        parse("{'key': 'k', 'from': 'v1 ConfigMap ns/k', 'path': '.v', "
              "'ref': 'v1 Secret', 'refPath': '.w'}");
    struct export_rule rules[] = {parse_export(plain), parse_export(referring)};
    struct exports *exports = NULL;
    size_t changes = 0;
    const struct exports_options options = {
        .cluster = cluster, .rules = rules, .count = 2, .on_change = count, .data = &changes};
    struct error err = {0};

    assert_int_equal(exports_start(&options, &exports, &err), 0);
    fake_run(cluster);
    assert_string_equal(value_of(exports, 0), "unknown");
    fake_deliver(cluster, "configmaps ns/a", "{'v': 'one'}");
    fake_deliver(cluster, "configmaps ns/k", "{'v': {'name': 's'}}");
    assert_string_equal(value_of(exports, 0), "one");
    assert_string_equal(value_of(exports, 1), "unknown");
    fake_deliver(cluster, "secrets ns/s", "{'w': 'two'}");
    assert_string_equal(value_of(exports, 1), "two");
    changes = 0;
    fake_deliver(cluster, "configmaps ns/a", "{'v': 'other'}");
    assert_string_equal(value_of(exports, 0), "other");
    assert_int_equal(changes, 1);
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_TEMPORARY, "away");
    assert_string_equal(value_of(exports, 0), "unknown");
    assert_int_equal(changes, 2);
    fake_deliver(cluster, "configmaps ns/a", NULL);
    assert_string_equal(value_of(exports, 0), "absent");
    fake_deliver(cluster, "configmaps ns/a", "{'v': 'one'}");
    assert_string_equal(value_of(exports, 0), "one");
    fake_deliver_error(cluster, "secrets ns/s", ERROR_DENIED, "no");
    assert_string_equal(value_of(exports, 1), "unknown");
    fake_deliver(cluster, "configmaps ns/k", NULL);
    assert_string_equal(value_of(exports, 1), "absent");
    exports_cancel(exports);
    export_rule_done(&rules[0]);
    export_rule_done(&rules[1]);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        test(the_state_follows_the_objects),
        test(an_object_that_failed_for_good_may_recover),
        test(values_follow_the_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
