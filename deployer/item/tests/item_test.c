/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

static struct item *parse(const char *yaml)
{
    cleanup_json json_t *doc = sample_doc(yaml);
    struct error err = {0};
    struct item *item = NULL;

    assert_int_equal(item_parse(doc, &item, &err), 0);
    return item;
}

static void all_fields_of_an_item_are_read(void **state)
{
    cleanup_item struct item *item = parse(
        "metadata:\n"
        "  {name: nn, namespace: ns, uid: u, resourceVersion: '7', generation: 4,\n"
        "   deletionTimestamp: '2026-01-07T09:00:00Z',\n"
        "   finalizers: [other, finalizer.landscaper.gardener.cloud],\n"
        "   annotations: {landscaper.gardener.cloud/operation: test-reconcile,\n"
        "     container.deployer.landscaper.gardener.cloud/force-cleanup: '',\n"
        "     landscaper.gardener.cloud/delete-without-uninstall: 'true'}}\n"
        "spec: {type: t, target: {name: tg, namespace: x}, context: c, timeout: 1h30m,\n"
        "  updateOnChangeOnly: true, config: {a: 1}}\n"
        "status: {phase: Succeeded, jobID: j, jobIDFinished: i, observedGeneration: 3,\n"
        "  jobIDGenerationTime: '2026-01-07T09:00:00Z', lastReconcileTime: "
        "'2026-01-07T09:00:02Z',\n"
        "  transitionTimes: {initTime: '2026-01-07T09:00:01Z'}, exportRef: {name: e, namespace: "
        "ns},\n"
        "  providerStatus: {lastOperation: DELETE, podStatus: {podName: p, lastSuccessfulJobID: "
        "k}}}\n");

    (void)state;
    assert_string_equal(item->name, "nn");
    assert_string_equal(item->namespace_name, "ns");
    assert_string_equal(item->uid, "u");
    assert_string_equal(item->resource_version, "7");
    assert_int_equal(item->generation, 4);
    assert_true(item->is_deleting);
    assert_true(item->has_finalizer);
    assert_true(item->is_force_cleanup);
    assert_true(item->is_delete_without_uninstall);
    assert_true(item_is_test_reconcile(item));
    assert_string_equal(item->type, "t");
    assert_string_equal(item->target, "tg");
    assert_string_equal(item->context, "c");
    assert_int_equal(item->timeout_ms, 90 * 60 * 1000);
    assert_true(item->is_update_on_change_only);
    assert_int_equal(json_object_size(item->config), 1);
    assert_string_equal(item->phase, "Succeeded");
    assert_string_equal(item->job, "j");
    assert_string_equal(item->job_finished, "i");
    assert_int_equal(item->observed_generation, 3);
    assert_int_equal(item->init_unix_ms - item->job_generated_unix_ms, 1000);
    assert_int_equal(item->last_reconcile_unix_ms - item->init_unix_ms, 1000);
    assert_int_equal(item_deadline_unix_ms(item), item->init_unix_ms + 5400000);
    assert_string_equal(item->last_operation, "DELETE");
    assert_string_equal(item->last_successful_job, "k");
    assert_string_equal(item->last_pod, "p");
    assert_true(item->has_export);
    assert_int_equal(item->mistakes.count, 0);
}

static void an_empty_item_has_the_defaults(void **state)
{
    cleanup_item struct item *item =
        parse("{metadata: {name: nn, namespace: ns}, spec: {type: t}}");

    (void)state;
    assert_false(item->is_deleting);
    assert_false(item->has_finalizer);
    assert_null(item->operation);
    assert_null(item->target);
    assert_null(item->config);
    assert_string_equal(item->context, "default");
    assert_int_equal(item->timeout_ms, ITEM_TIMEOUT_DEFAULT_MS);
    assert_string_equal(item->phase, "");
    assert_true(item_is_finished(item)); /* both job ids empty */
    assert_int_equal(item_deadline_unix_ms(item), -1);
    assert_non_null(item->status);
    assert_int_equal(item->mistakes.count, 0);
}

static const struct {
    const char *timeout;
    int64_t ms;
    const char *expected;
} timeouts[] = {
    {"none", ITEM_TIMEOUT_NONE, ""},
    {"10m", 600000, ""},
    {"0", 0, ""},
    {"1.5h", 5400000, ""},
    {"soon", ITEM_TIMEOUT_DEFAULT_MS,
     "spec.timeout: Invalid value: \"soon\": must be none or a duration such as 90s, 10m or 1h30m"},
    {"-5s", ITEM_TIMEOUT_DEFAULT_MS, "spec.timeout: Invalid value: \"-5s\": must not be negative"},
};

static void a_timeout_is_a_duration_or_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(timeouts); i++) {
        cleanup_free char *yaml =
            xasprintf("{metadata: {name: nn, namespace: ns}, spec: {type: t, timeout: '%s'}}",
                      timeouts[i].timeout);
        cleanup_item struct item *item = parse(yaml);
        cleanup_free char *text = mistakes_text(&item->mistakes);

        assert_int_equal(item->timeout_ms, timeouts[i].ms);
        assert_string_equal(text, timeouts[i].expected);
    }
}

static const struct {
    const char *spec, *expected;
} malformed[] = {
    {"5", "spec: expected an object, got a number"},
    {"{type: 5}", "spec.type: expected a string, got a number"},
    {"{type: t, target: x}", "spec.target: expected an object, got a string"},
    {"{type: t, target: {}}", "spec.target.name: Required value: name of the target"},
    {"{type: t, target: {name: [a]}}", "spec.target.name: expected a string, got a list"},
    {"{type: t, context: {}}", "spec.context: expected a string, got an object"},
    {"{type: t, context: A b, target: {name: A b}}",
     "[spec.target.name: Invalid value: \"A b\": must be lower-case letters, digits, '-' and '.', "
     "spec.context: Invalid value: \"A b\": must be lower-case letters, digits, '-' and '.']"},
    {"{type: t, config: text}", "spec.config: expected an object, got a string"},
    {"{type: t, timeout: 10}", "spec.timeout: expected a string, got a number"},
    {"{type: t, updateOnChangeOnly: 1}",
     "spec.updateOnChangeOnly: expected true or false, got a number"},
    {"{type: t, config: {}, target: null, timeout: null}", ""},
};

static void a_malformed_field_is_a_mistake_and_the_item_is_still_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(malformed); i++) {
        cleanup_free char *yaml =
            xasprintf("{metadata: {name: nn, namespace: ns}, spec: %s}", malformed[i].spec);
        cleanup_item struct item *item = parse(yaml);
        cleanup_free char *text = mistakes_text(&item->mistakes);

        assert_string_equal(text, malformed[i].expected);
        assert_string_equal(item->name, "nn");
    }
}

static void a_malformed_status_is_ignored(void **state)
{
    cleanup_item struct item *item =
        parse("{metadata: {name: nn, namespace: ns, generation: x, finalizers: {}, annotations: 5},"
              " spec: {type: t}, status: {phase: 5, jobID: {}, conditions: 1, transitionTimes: "
              "{initTime: never}, providerStatus: []}}");
    cleanup_item struct item *none =
        parse("{metadata: {name: nn, namespace: ns}, spec: {type: t}, status: 7}");

    (void)state;
    assert_string_equal(item->phase, "");
    assert_string_equal(item->job, "");
    assert_int_equal(item->init_unix_ms, 0);
    assert_true(json_is_object(none->status));
}

static void an_item_without_a_name_is_an_error(void **state)
{
    static const char *const documents[] = {"5", "{}", "{metadata: {name: nn}}",
                                            "{metadata: {namespace: nn}}", "{metadata: 5}"};

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_json json_t *doc = sample_doc(documents[i]);
        struct item *item = NULL;
        struct error err = {0};

        assert_int_equal(item_parse(doc, &item, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(item);
    }
}

static const struct {
    const char *annotations, *type, *target;
} responsible[] = {
    {"{}", "t", "tg"},
    {"{landscaper.gardener.cloud/deployer-type: o, "
     "landscaper.gardener.cloud/deployer-target-name: other}",
     "o", "other"},
    {"{landscaper.gardener.cloud/deployer-type: o, "
     "landscaper.gardener.cloud/deployer-target-name: .noTargetName}",
     "o", NULL},
    /* The annotation of the target alone is not sufficient. */
    {"{landscaper.gardener.cloud/deployer-target-name: other}", "t", "tg"},
    {"{landscaper.gardener.cloud/deployer-type: o}", "o", "tg"},
};

static void annotations_override_the_spec(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(responsible); i++) {
        cleanup_free char *yaml = xasprintf(
            "{metadata: {name: nn, namespace: ns, annotations: %s}, spec: {type: t, target: {name: "
            "tg}}}",
            responsible[i].annotations);
        cleanup_item struct item *item = parse(yaml);

        assert_string_equal(item_effective_type(item), responsible[i].type);
        if (responsible[i].target)
            assert_string_equal(item_effective_target(item), responsible[i].target);
        else
            assert_null(item_effective_target(item));
    }
}

static void an_unreadable_item_has_a_mistake_and_a_configuration(void **state)
{
    cleanup_json json_t *doc = sample_doc(
        "{metadata: {name: a, namespace: ns}, spec: {type: t, target: {name: x}}, status: "
        "{jobID: j}, unreadable: nested too deep}");
    cleanup_item struct item *item = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(item_parse(doc, &item, &err), 0);
    assert_string_equal(item->job, "j");
    assert_string_equal(item_effective_target(item), "x");
    /* Otherwise it could be deleted without a DELETE run. */
    assert_non_null(item->config);
    assert_int_equal(mistakes_fail(&item->mistakes, &err), -1);
    assert_non_null(strstr(err.text, "nested too deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unreadable_item_has_a_mistake_and_a_configuration),
        cmocka_unit_test(all_fields_of_an_item_are_read),
        cmocka_unit_test(an_empty_item_has_the_defaults),
        cmocka_unit_test(a_timeout_is_a_duration_or_none),
        cmocka_unit_test(a_malformed_field_is_a_mistake_and_the_item_is_still_read),
        cmocka_unit_test(a_malformed_status_is_ignored),
        cmocka_unit_test(an_item_without_a_name_is_an_error),
        cmocka_unit_test(annotations_override_the_spec),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
