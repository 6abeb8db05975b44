/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/objects/configuration.h"
#include "deployer/tests/sample.h"

#define CM "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}"
#define REQUIREMENT "requirements: [{jsonPath: a, operator: exists}]"
#define OBJECTS "resourceSelector: [{apiVersion: v1, kind: Pod, name: a, namespace: ns}]"

/* A document with these members, flow style without the braces. */
static json_t *document_of(const char *api_version, const char *members)
{
    cleanup_free char *text =
        xasprintf("{apiVersion: %s, kind: ProviderConfiguration, %s}", api_version, members);

    return sample_doc(text);
}

static struct manifest_config *config_of(const char *api_version, const char *members,
                                         struct mistakes *mistakes)
{
    cleanup_json json_t *document = document_of(api_version, members);
    struct manifest_config *config = NULL;
    int result = manifest_config_parse(document, &config, mistakes);

    assert_true((result < 0) == (config == NULL));
    return config;
}

static struct manifest_config *valid_config(const char *members)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct manifest_config *config = config_of(MANIFEST_API_VERSION, members, &mistakes);

    if (!config) {
        cleanup_free char *text = mistakes_text(&mistakes);

        fail_msg("%s: %s", members, text);
    }
    return config;
}

static const struct {
    const char *members, *expected;
} refused[] = {
    /* Decoding. */
    {"manifests: {}", "manifests: expected a list, got an object"},
    {"manifests: [a]", "manifests[0]: expected an object with the key 'manifest', got a string"},
    {"manifests: [{manifest: text}]", "manifests[0].manifest: expected an object, got a string"},
    {"readinessChecks: []", "readinessChecks: expected an object, got a list"},
    {"manifests: [{manifest: " CM ", annotateBeforeCreate: {a: 1}}]",
     "manifests[0].annotateBeforeCreate.a: expected a string, got a number"},
    {"manifests: [{manifest: " CM ", patchAfterDeployment: []}]",
     "manifests[0].patchAfterDeployment: expected an object, got a list"},
    /* Manifests. */
    {"manifests: [{policy: manage}]",
     "manifests[0].manifest: Required value: the object to be applied"},
    {"manifests: [{manifest: {}}]",
     "manifests[0].manifest: Required value: the object to be applied"},
    {"manifests: [{policy: own, manifest: " CM "}]", "manifests[0].policy: Invalid value: "},
    {"updateStrategy: replace", "updateStrategy: Invalid value: "},
    {"manifests: [{manifest: {kind: ConfigMap, metadata: {name: a}}}]", "manifests[0].manifest"},
    {"manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: a}}}]",
     "manifests[0].manifest"},
    {"manifests: [{manifest: " CM "}, {manifest: " CM "}]", "manifests[1].manifest"},
    {"manifests: [{manifest: {kind: List, items: [{kind: List, apiVersion: v1, items: []}]}}]",
     "manifests[0].manifest"},
    /* Custom checks. */
    {"readinessChecks: {custom: [{" OBJECTS ", " REQUIREMENT "}]}",
     "readinessChecks.custom[0].name: Required value"},
    {"readinessChecks: {custom: [{name: a, " REQUIREMENT "}]}",
     "readinessChecks.custom[0].resourceSelector: Required value"},
    {"readinessChecks: {custom: [{name: a, labelSelector: {apiVersion: v1, kind: Pod}, " REQUIREMENT
     "}]}",
     "readinessChecks.custom[0].labelSelector.matchLabels: Required value"},
    {"readinessChecks: {custom: [{name: a, labelSelector: {matchLabels: {a: b}}, " REQUIREMENT
     "}]}",
     "[readinessChecks.custom[0].labelSelector.apiVersion: Required value: apiVersion of the "
     "objects, readinessChecks.custom[0].labelSelector.kind: Required value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS "}]}",
     "readinessChecks.custom[0].requirements: Required value"},
    {"readinessChecks: {custom: [{name: a, default: true, " OBJECTS ", " REQUIREMENT "}]}",
     "readinessChecks.custom[0].requirements: Forbidden"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS ", requirements: [{operator: exists}]}]}",
     "readinessChecks.custom[0].requirements[0].jsonPath: Required value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: 'a[', operator: exists}]}]}",
     "readinessChecks.custom[0].requirements[0].jsonPath: Invalid value: invalid JSONPath"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS ", requirements: [{jsonPath: a}]}]}",
     "readinessChecks.custom[0].requirements[0].operator: Required value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: gt, values: [{value: 1}]}]}]}",
     "readinessChecks.custom[0].requirements[0].operator: Invalid value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: ==}]}]}",
     "readinessChecks.custom[0].requirements[0].values: Required value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: ==, values: [{value: 1}, {value: 2}]}]}]}",
     "readinessChecks.custom[0].requirements[0].values: Invalid value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: in, values: [{v: 1}]}]}]}",
     "readinessChecks.custom[0].requirements[0].values[0]: Required value"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: exists, valueFrom: {apiVersion: v1, kind: Pod, "
     "name: a, jsonPath: b}}]}]}",
     "readinessChecks.custom[0].requirements[0].valueFrom: Forbidden"},
    {"readinessChecks: {custom: [{name: a, " OBJECTS
     ", requirements: [{jsonPath: a, operator: =, values: [{value: 1}], valueFrom: {apiVersion: "
     "v1, kind: Pod, name: a, jsonPath: b}}]}]}",
     "readinessChecks.custom[0].requirements[0].valueFrom: Forbidden"},
    {"readinessChecks: {custom: [{name: a, targetName: '', " OBJECTS ", " REQUIREMENT "}]}",
     "readinessChecks.custom[0].targetName: Invalid value"},
    {"readinessChecks: {custom: [{name: a, resourceSelector: [{kind: Pod, name: a}], " REQUIREMENT
     "}]}",
     "readinessChecks.custom[0].resourceSelector[0].apiVersion: Required value"},
    {"readinessChecks: {custom: [{name: a, labelSelector: {apiVersion: v1, kind: Pod, min: 0, "
     "matchLabels: {a: b}}, " REQUIREMENT "}]}",
     "readinessChecks.custom[0].labelSelector.min: Invalid value"},
    /* Exports. */
    {"exports: {exports: [{jsonPath: a, fromResource: {apiVersion: v1, kind: Pod, name: a}}]}",
     "exports.exports[0].key: Required value"},
    {"exports: {exports: [{key: 'a[0]', jsonPath: a, fromResource: {apiVersion: v1, kind: Pod, "
     "name: a}}]}",
     "exports.exports[0].key: Invalid value"},
    {"exports: {exports: [{key: a..b, jsonPath: a, fromResource: {apiVersion: v1, kind: Pod, "
     "name: a}}]}",
     "exports.exports[0].key: Invalid value"},
    {"exports: {exports: [{key: a, fromResource: {apiVersion: v1, kind: Pod, name: a}}]}",
     "exports.exports[0].jsonPath: Required value"},
    {"exports: {exports: [{key: a, jsonPath: a, fromResource: {kind: Pod, name: a}}]}",
     "exports.exports[0].fromResource.apiVersion: Required value"},
    {"exports: {exports: [{key: a, jsonPath: a, fromResource: {apiVersion: v1, kind: Pod, name: "
     "a}, fromObjectRef: {apiVersion: v1, jsonPath: b}}]}",
     "exports.exports[0].fromObjectRef.kind: Required value"},
    /* Groups. */
    {"deletionGroups: [{}]", "deletionGroups[0]: Invalid value"},
    {"deletionGroups: [{predefinedResourceGroup: {type: crds}, customResourceGroup: {resources: "
     "[]}}]",
     "deletionGroups[0]: Invalid value"},
    {"deletionGroups: [{predefinedResourceGroup: {}}]",
     "deletionGroups[0].predefinedResourceGroup.type: Required value"},
    {"deletionGroupsDuringUpdate: [{predefinedResourceGroup: {type: all}}]",
     "deletionGroupsDuringUpdate[0].predefinedResourceGroup.type: Invalid value: \"all\": must "
     "be namespaced-resources"},
    {"deletionGroups: [{customResourceGroup: {deleteAllResources: true}}]",
     "deletionGroups[0].customResourceGroup.resources: Required value"},
    {"deletionGroups: [{customResourceGroup: {targetName: b, resources: [{apiVersion: v1, kind: "
     "Pod}]}}]",
     "deletionGroups[0].customResourceGroup.targetName: Forbidden"},
    {"deletionGroups: [{predefinedResourceGroup: {type: crds}, selectedResourceGroup: {resources: "
     "[{apiVersion: v1, kind: Pod, names: [a]}]}}]",
     "deletionGroups[0].selectedResourceGroup: Forbidden"},
    {"deletionGroups: [{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: "
     "v1, kind: Pod}]}, selectedResourceGroup: {waitOnly: true, matchLabels: {a: b}, resources: "
     "[{apiVersion: v1, kind: Pod}]}}]",
     "deletionGroups[0].selectedResourceGroup: Forbidden"},
    {"deletionGroups: [{customResourceGroup: {deleteAllResources: true, matchLabels: {a: b}, "
     "resources: [{apiVersion: v1, kind: Pod}]}}]",
     "deletionGroups[0].customResourceGroup.matchLabels: Forbidden"},
    {"deletionGroups: [{customResourceGroup: {deleteAllResources: true, waitOnly: true, "
     "resources: [{apiVersion: v1, kind: Pod}]}}]",
     "deletionGroups[0].customResourceGroup.waitOnly: Forbidden"},
    {"deletionGroups: [{predefinedResourceGroup: {type: empty}, selectedResourceGroup: "
     "{resources: [{apiVersion: v1, kind: Pod}]}}]",
     "deletionGroups[0].selectedResourceGroup: Required value: matchLabels"},
    {"deletionGroups: [{predefinedResourceGroup: {type: empty}, selectedResourceGroup: "
     "{waitOnly: true, forceDelete: true, resources: [{apiVersion: v1, kind: Pod, names: [a]}]}}]",
     "deletionGroups[0].selectedResourceGroup: Forbidden"},
    /* The rest. */
    {"continuousReconcile: {cron: '* * * * *', every: 1h}", "continuousReconcile: "},
    {"continuousReconcile: {cron: nonsense}", "continuousReconcile.cron: "},
    {"watch: {level: trigger}, continuousReconcile: {cron: 'TZ=Asia/Tokyo 0 1 * * *'}",
     "continuousReconcile.cron: Invalid value: time zones other than UTC"},
    {"watch: {level: always}", "watch.level: "},
    {"watch: {quietPeriod: 1ms}", "watch.quietPeriod: "},
    {"watch: {interval: soon}", "watch.interval: "},
    {"watch: trigger", "watch: expected an object, got a string"},
};

static void mistakes_are_named_by_their_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(refused); i++) {
        cleanup_mistakes struct mistakes mistakes = {0};
        struct manifest_config *config =
            config_of(MANIFEST_API_VERSION, refused[i].members, &mistakes);
        cleanup_free char *text = mistakes_text(&mistakes);

        if (config || !strstr(text, refused[i].expected))
            fail_msg("%s: %s", refused[i].members, text);
    }
}

static void another_kind_of_document_cannot_be_decoded(void **state)
{
    static const char *const documents[] = {
        "{}",
        "[]",
        "{apiVersion: " MANIFEST_API_VERSION ", kind: Configuration}",
        "{apiVersion: " MANIFEST_GROUP "/v1, kind: ProviderConfiguration}",
        "{apiVersion: " DEPLOYER_API_VERSION ", kind: ProviderConfiguration}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_json json_t *document = sample_doc(documents[i]);
        cleanup_mistakes struct mistakes mistakes = {0};
        struct manifest_config *config = NULL;

        assert_int_equal(manifest_config_parse(document, &config, &mistakes), -1);
        assert_true(mistakes.decode_errors > 0);
    }
}

static void an_empty_configuration_has_the_defaults(void **state)
{
    cleanup_manifest_config struct manifest_config *config = valid_config("manifests: []");

    (void)state;
    assert_int_equal(config->strategy, STRATEGY_UPDATE);
    assert_int_equal(config->input_count, 0);
    assert_true(config->is_default_check);
    assert_int_equal(config->rules, READINESS_DEFAULT);
    assert_int_equal(config->group_count, 0);
    assert_false(manifest_config_has_open_groups(config));
}

static void everything_is_read(void **state)
{
    cleanup_manifest_config struct manifest_config *config = valid_config(
        "updateStrategy: mergeOverwrite, manifests: [{policy: keep, manifest: " CM
        ", annotateBeforeCreate: {a: b}, annotateBeforeDelete: {c: d}, patchAfterDeployment: "
        "{spec: {e: 1}}, patchBeforeDelete: {spec: {f: 1}}}], "
        "readinessChecks: {disableDefault: true, strict: true, custom: [{name: ready, disabled: "
        "true, targetName: second, " OBJECTS ", labelSelector: {apiVersion: apps/v1, kind: "
        "Deployment, matchLabels: {a: b, c: d}, namespaces: [ns, m], min: 2}, requirements: "
        "[{jsonPath: .status.a, operator: notin, values: [{value: 1}, {value: {b: null}}]}, "
        "{jsonPath: b, operator: '!=',"
        "valueFrom: {apiVersion: v1, kind: Pod, name: p, "
        "namespace: q, jsonPath: c, targetName: third}}]}, {name: rules, default: true, " OBJECTS
        "}]}, exports: {exports: [{key: a.b, jsonPath: .data.x, fromResource: {apiVersion: v1, "
        "kind: Secret, name: s, namespace: ns}, fromObjectRef: {apiVersion: v1, kind: Secret, "
        "jsonPath: .data.y}, targetName: fourth}]}, "
        "deletionGroups: [{predefinedResourceGroup: {type: namespaced-resources, forceDelete: "
        "true}}, {customResourceGroup: {resources: [{apiVersion: v1, kind: Pod, names: [a], "
        "namespaces: [ns]}], deleteAllResources: true, targetName: fifth}}, "
        "{predefinedResourceGroup: {type: empty}, selectedResourceGroup: {matchLabels: {k: v}, "
        "waitOnly: true, resources: [{apiVersion: v1, kind: Pod}]}}], "
        "deletionGroupsDuringUpdate: [{predefinedResourceGroup: {type: empty}}]");
    const struct plan_input *input = &config->inputs[0];
    const struct custom_check *check = &config->checks[0];
    const struct export_rule *export = &config->exports[0];
    const struct removal_group *groups = config->groups;

    (void)state;
    assert_int_equal(config->strategy, STRATEGY_MERGE_OVERWRITE);
    assert_int_equal(config->input_count, 1);
    assert_int_equal(input->policy, POLICY_KEEP);
    assert_string_equal(doc_text(input->manifest, "metadata.name"), "a");
    assert_string_equal(doc_text(input->annotate_before_create, "a"), "b");
    assert_string_equal(doc_text(input->annotate_before_delete, "c"), "d");
    assert_int_equal(doc_integer_or(input->patch_after, "spec.e", 0), 1);
    assert_int_equal(doc_integer_or(input->patch_before_delete, "spec.f", 0), 1);
    assert_string_equal(input->source, "manifests[0].manifest");
    assert_false(config->is_default_check);
    assert_int_equal(config->rules, READINESS_STRICT);
    assert_int_equal(config->check_count, 2);
    assert_true(check->is_disabled);
    assert_string_equal(check->target_name, "second");
    assert_int_equal(check->object_count, 1);
    assert_string_equal(check->objects[0].namespace_name, "ns");
    assert_string_equal(check->label_selector, "a=b,c=d");
    assert_string_equal(check->label_namespaces[1], "m");
    assert_null(check->label_namespaces[2]);
    assert_int_equal(check->label_min, 2);
    assert_int_equal(check->requirement_count, 2);
    assert_int_equal(check->requirements[0].relation, REQUIREMENT_NOT_IN);
    assert_int_equal(json_array_size(check->requirements[0].values), 2);
    assert_int_equal(json_integer_value(json_array_get(check->requirements[0].values, 0)), 1);
    assert_string_equal(check->requirements[1].value_from->ref.name, "p");
    assert_true(config->checks[1].is_default);
    assert_string_equal(export->key, "a.b");
    assert_string_equal(export->path_text, ".data.x");
    assert_string_equal(export->reference_path_text, ".data.y");
    assert_string_equal(export->target_name, "fourth");
    assert_int_equal(config->group_count, 3);
    assert_int_equal(groups[0].type, REMOVAL_NAMESPACED);
    assert_true(groups[0].is_force);
    assert_int_equal(groups[1].type, REMOVAL_ALL);
    assert_string_equal(groups[1].resources[0].names[0], "a");
    assert_int_equal(groups[2].type, REMOVAL_SELECTED);
    assert_true(groups[2].is_wait_only);
    assert_int_equal(config->update_group_count, 1);
    assert_int_equal(config->update_groups[0].type, REMOVAL_NOTHING);
    assert_true(manifest_config_has_open_groups(config));
}

static void second_targets_are_listed_once(void **state)
{
    cleanup_manifest_config struct manifest_config *config = valid_config(
        "readinessChecks: {custom: [{name: a, targetName: one, " OBJECTS ", " REQUIREMENT
        "}, {name: b, disabled: true, targetName: unused, " OBJECTS ", " REQUIREMENT
        "}, {name: c, targetName: one, " OBJECTS
        ", requirements: [{jsonPath: a, operator: =, valueFrom: {apiVersion: v1, kind: Pod, name: "
        "p, jsonPath: c, targetName: two}}]}]}, exports: {exports: [{key: a, jsonPath: a, "
        "targetName: three, fromResource: {apiVersion: v1, kind: Pod, name: a}}]}, "
        "deletionGroups: [{customResourceGroup: {deleteAllResources: true, targetName: four, "
        "resources: [{apiVersion: v1, kind: Pod}]}}], deletionGroupsDuringUpdate: "
        "[{customResourceGroup: {deleteAllResources: true, targetName: five, resources: "
        "[{apiVersion: v1, kind: Pod}]}}]");
    cleanup_json json_t *update = manifest_config_targets(config, false);
    cleanup_json json_t *deletion = manifest_config_targets(config, true);
    cleanup_free char *names = doc_dump(update);
    cleanup_free char *names_for_deletion = doc_dump(deletion);

    (void)state;
    assert_string_equal(names, "[\"one\",\"two\",\"three\",\"five\"]");
    assert_string_equal(names_for_deletion, "[\"four\"]");
}

/* F24: the Go deployer drops exports and deletion groups of v1alpha1. */
static void the_old_version_has_bare_manifests_and_the_same_rest(void **state)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_manifest_config struct manifest_config *config =
        config_of(MANIFEST_API_VERSION_OLD,
                  "updateStrategy: patch, manifests: [" CM "], exports: {exports: [{key: a, "
                  "jsonPath: a, fromResource: {apiVersion: v1, kind: Pod, name: a}}]}, "
                  "deletionGroups: [{predefinedResourceGroup: {type: crds}}]",
                  &mistakes);

    (void)state;
    assert_non_null(config);
    assert_int_equal(config->strategy, STRATEGY_PATCH);
    assert_int_equal(config->inputs[0].policy, POLICY_MANAGE);
    assert_string_equal(doc_text(config->inputs[0].manifest, "kind"), "ConfigMap");
    assert_string_equal(config->inputs[0].source, "manifests[0]");
    assert_int_equal(config->export_count, 1);
    assert_int_equal(config->group_count, 1);
}

static void fields_without_effect_are_named(void **state)
{
    static const char *const paths[] = {"deleteTimeout",
                                        "readinessChecks.timeout",
                                        "readinessChecks.custom[0].timeout",
                                        "exports.defaultTimeout",
                                        "exports.exports[0].timeout",
                                        "exports.exports[0]",
                                        "watching",
                                        "manifests[0].extra"};
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_manifest_config struct manifest_config *config = config_of(
        MANIFEST_API_VERSION,
        "deleteTimeout: 1m, watching: [], readinessChecks: {timeout: 1m, custom: [{name: a, "
        "timeout: "
        "1m, " OBJECTS ", " REQUIREMENT "}]}, exports: {defaultTimeout: 1m, exports: [{key: a, "
        "jsonPath: a, timeout: 1m}]}, manifests: [{extra: 1, manifest: " CM "}]",
        &mistakes);

    (void)state;
    assert_non_null(config);
    assert_int_equal(config->export_count, 0);
    for (size_t i = 0; i < array_length(paths); i++) {
        bool is_found = false;

        for (size_t j = 0; j < mistakes.count; j++)
            is_found = is_found || strcmp(mistakes.items[j].path, paths[i]) == 0;
        if (!is_found)
            fail_msg("%s is not reported", paths[i]);
    }
}

/* F25: an item without a usable configuration can be deleted. */
static void a_deletion_needs_only_the_groups(void **state)
{
    static const struct {
        const char *document;
        bool is_valid;
        size_t groups;
    } rows[] = {
        {"null", true, 0},
        {"{kind: Other, manifests: 5}", true, 0},
        {"{deletionGroups: [{predefinedResourceGroup: {type: crds}}], updateStrategy: wrong}", true,
         1},
        {"{deletionGroups: [{predefinedResourceGroup: {type: crds}}, {}]}", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *document = sample_doc(rows[i].document);
        bool is_valid = false;
        cleanup_manifest_config struct manifest_config *config =
            manifest_config_for_deletion(document, &is_valid);

        assert_int_equal(is_valid, rows[i].is_valid);
        assert_int_equal(config->group_count, rows[i].groups);
    }
}

/* Manifests contain Secrets: no message may quote them. */
static void messages_never_contain_values_of_manifests(void **state)
{
    static const char *const documents[] = {
        "manifests: [{manifest: CANARY}]",
        "manifests: [{manifest: {kind: Secret, data: {CANARY: CANARY}}}]",
        "manifests: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: CANARY}, "
        "annotateBeforeCreate: [CANARY], patchAfterDeployment: CANARY, patchBeforeDelete: CANARY}]",
        "manifests: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: a}}, "
        "annotateBeforeCreate: {a: [CANARY]}}]",
        "readinessChecks: {custom: [{name: a, " OBJECTS
        ", requirements: [{jsonPath: a, operator: in, values: [CANARY, {x: CANARY}]}]}]}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_mistakes struct mistakes mistakes = {0};
        struct manifest_config *config = config_of(MANIFEST_API_VERSION, documents[i], &mistakes);
        cleanup_free char *text = mistakes_text(&mistakes);

        if (config || strstr(text, "CANARY"))
            fail_msg("%s: %s", documents[i], text);
    }
}

static void what_is_watched_is_kept_without_manifests(void **state)
{
    cleanup_json json_t *document = document_of(
        MANIFEST_API_VERSION,
        "manifests: [{manifest: " CM "}], watch: {level: trigger, quietPeriod: 1m, interval: 2h}, "
        "continuousReconcile: {every: 1h}, exports: {exports: [{key: a, jsonPath: .a, "
        "fromResource: {apiVersion: v1, kind: Pod, name: a, namespace: ns}}]}");
    cleanup_manifest_config struct manifest_config *config = manifest_config_for_watch(document);
    cleanup_manifest_config struct manifest_config *plain = valid_config("manifests: []");

    (void)state;
    assert_non_null(config);
    assert_int_equal(config->input_count, 0);
    assert_null(json_object_get(config->document, "manifests"));
    assert_int_equal(config->export_count, 1);
    assert_int_equal(config->late.level, LATE_LEVEL_TRIGGER);
    assert_int_equal(config->late.quiet_ms, 60 * 1000);
    assert_int_equal(config->late.interval_ms, 2 * 60 * 60 * 1000);
    assert_int_equal(manifest_config_late_rules(document).level, LATE_LEVEL_TRIGGER);
    assert_int_equal(plain->late.level, LATE_LEVEL_NONE);
    assert_int_equal(manifest_config_late_rules(NULL).level, LATE_LEVEL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named_by_their_field),
        cmocka_unit_test(another_kind_of_document_cannot_be_decoded),
        cmocka_unit_test(an_empty_configuration_has_the_defaults),
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(second_targets_are_listed_once),
        cmocka_unit_test(the_old_version_has_bare_manifests_and_the_same_rest),
        cmocka_unit_test(fields_without_effect_are_named),
        cmocka_unit_test(a_deletion_needs_only_the_groups),
        cmocka_unit_test(messages_never_contain_values_of_manifests),
        cmocka_unit_test(what_is_watched_is_kept_without_manifests),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
