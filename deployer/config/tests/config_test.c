/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/data/duration.h"
#include "deployer/tests/sample.h"
#include "deployer/validation/formats.h"

/* All messages about a document: errors as one text, then the unknown fields. */
static char *mistakes_of(const char *yaml)
{
    cleanup_json json_t *doc = sample_doc(yaml);
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_config struct deployer_config *config = NULL;
    char *text = NULL;
    int result = config_parse(doc, &config, &mistakes);

    assert_int_equal(result, mistakes.errors > 0 ? -1 : 0);
    assert_true((config == NULL) == (mistakes.errors > 0));
    text = mistakes_text(&mistakes);
    for (size_t i = 0; i < mistakes.count; i++) {
        if (mistakes.items[i].kind == MISTAKE_UNKNOWN) {
            char *longer =
                xasprintf("%s?%s: %s", text, mistakes.items[i].path, mistakes.items[i].text);

            free(text);
            text = longer;
        }
    }
    return text;
}

static void no_document_gives_the_defaults(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(NULL);

    (void)state;
    assert_string_equal(config->identity, "");
    assert_string_equal(config->namespace_name, "default");
    assert_null(config->oci_config_files[0]);
    assert_string_equal(config->default_image.image, "ubuntu:18.04");
    assert_true(config->is_collecting);
    assert_int_equal(config->collection_ms, 3600 * 1000);
    assert_false(config->is_pod_kept);
    assert_int_equal(config->max_replicas, 1);
    assert_true(config->is_delete_run);
    assert_true(config->is_script_enabled);
    assert_int_equal(config->image_grace_ms, 300 * 1000);
    assert_int_equal(config->state_generations, 2);
    assert_true(config->is_electing);
    assert_int_equal(config->metrics_port, 8080);
    assert_int_equal(config->health_port, 8081);
    assert_non_null(doc_get(config->init.resources, "limits.memory"));
    assert_non_null(doc_get(config->wait.resources, "requests.cpu"));
    assert_null(config->runtime_class);
    assert_int_equal(config->grace_seconds, 30);
    assert_int_equal(config->max_grace_seconds, 300);
    assert_true(selector_matches(config->target_selector, NULL));
}

static const char go_file[] =
    "apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\n"
    "kind: Configuration\n"
    "identity: container-default\n"
    "namespace: ls-system\n"
    "oci: {configFiles: [/app/a, /app/b], allowPlainHttp: true, insecureSkipVerify: true}\n"
    "targetSelector: [{targets: [{name: a}]}]\n"
    "defaultImage: {image: 'alpine:3', command: [sh], args: [-c, x], imagePullPolicy: Never}\n"
    "initContainer: {image: 'r/init:v1', command: '', args: '', imagePullPolicy: Always}\n"
    "waitContainer: {image: 'r/wait:v1'}\n"
    "garbageCollection: {disable: true, worker: 5, requeueTimeSeconds: 60}\n"
    "debug: {keepPod: true}\n"
    "hpa: {maxReplicas: 3, averageCpuUtilization: 80, averageMemoryUtilization: 80}\n"
    "controller: {workers: 30, cacheSyncTimeout: 5m}\n";

static void every_field_of_the_go_deployer_is_read_or_reported_as_ignored(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(go_file);
    cleanup_free char *text = mistakes_of(go_file);

    (void)state;
    assert_string_equal(
        text, "?garbageCollection.worker: has no effect: one collector serves all objects"
              "?controller.workers: has no effect: one thread serves all items"
              "?controller.cacheSyncTimeout: has no effect: lists are always read to the end");
    assert_string_equal(config->identity, "container-default");
    assert_string_equal(config->namespace_name, "ls-system");
    assert_string_equal(config->oci_config_files[1], "/app/b");
    assert_true(config->oci_plain_http);
    assert_true(config->oci_insecure);
    assert_string_equal(config->default_image.image_pull_policy, "Never");
    assert_int_equal(json_array_size(config->default_image.args), 2);
    assert_int_equal(json_array_size(config->init.command), 0);
    assert_string_equal(config->init.image_pull_policy, "Always");
    assert_string_equal(config->wait.image, "r/wait:v1");
    assert_false(config->is_collecting);
    assert_int_equal(config->collection_ms, 60000);
    assert_true(config->is_pod_kept);
    assert_int_equal(config->max_replicas, 3);
}

static void the_effective_configuration_reads_back_to_itself(void **state)
{
    static const char *const files[] = {
        "{}", go_file,
        "{deleteOperation: skip, imageGracePeriod: 90s, state: {generations: 3}, logTail: {lines: "
        "0}, leaderElection: {enabled: false, leaseName: a, leaseNamespace: b, leaseDuration: "
        "30s}, serve: {address: "
        "127.0.0.1, metricsPort: 0, healthPort: 1}, pod: {sharedVolumeSizeLimit: 1Gi, "
        "nodeSelector: {a: b}, tolerations: [{key: x, operator: Exists}], runtimeClassName: gvisor,"
        " priorityClassName: low, resources: {limits: {cpu: 1}}, terminationGracePeriodSeconds: "
        "45, "
        "maxTerminationGracePeriodSeconds: 50}, script: {image: 'a:1', command: "
        "[/bin/ash], enabled: false, imagePullPolicy: Never, resources: {limits: {cpu: 1}}}}"};

    (void)state;
    for (size_t i = 0; i < array_length(files); i++) {
        cleanup_config struct deployer_config *config = sample_config(files[i]);
        cleanup_json json_t *doc = config_document(config);
        cleanup_free char *yaml = doc_dump_yaml(doc);
        cleanup_config struct deployer_config *again = sample_config(yaml);
        cleanup_json json_t *doc_again = config_document(again);

        assert_true(json_equal(doc, doc_again));
    }
}

/* Compares the documented default of every field with the effective one. */
static size_t compare_defaults(const struct field_rule *rules, const json_t *effective)
{
    size_t compared = 0;

    for (const struct field_rule *rule = NULL; (rule = rules_next(rules, rule));) {
        const json_t *value = doc_member(effective, rule->name);
        cleanup_json json_t *fallback = rule->fallback ? sample_doc(rule->fallback) : NULL;

        if (rule->fields && json_is_object(value))
            compared += compare_defaults(rule->fields, value);
        if (!fallback)
            continue;
        if (rule->format == &FORMAT_DURATION) {
            int64_t documented = 0, used = 0;
            struct error err = {0};

            assert_int_equal(duration_parse(json_string_value(fallback), &documented, &err), 0);
            assert_int_equal(duration_parse(json_string_value(value), &used, &err), 0);
            assert_int_equal(documented, used);
        } else if (!json_equal(fallback, value)) {
            fail_msg("%s: the default is not %s", rule->name, rule->fallback);
        }
        compared++;
    }
    return compared;
}

static void documented_defaults_are_the_effective_ones(void **state)
{
    cleanup_config struct deployer_config *config = sample_config(NULL);
    cleanup_json json_t *effective = config_document(config);

    (void)state;
    assert_true(compare_defaults(CONFIG_FIELDS, effective) >= 25);
}

static const struct {
    const char *yaml, *expected;
} cases[] = {
    {"{}", ""},
    {"identity: 5", "identity: expected a string, got a number"},
    {"5", "expected an object, got a number"},
    {"namespace: A_b", "namespace: Invalid value: \"A_b\": must be lower-case letters, digits, '-' "
                       "and '.'"},
    {"kind: Other", "kind: Invalid value: \"Other\": must be Configuration"},
    {"colour: blue", "?colour: unknown field"},
    {"pod: {hostNetwork: true, securityContext: {}}",
     "?pod.hostNetwork: unknown field?pod.securityContext: unknown field"},
    {"pod: {terminationGracePeriodSeconds: 0}",
     "pod.terminationGracePeriodSeconds: Invalid value: 0: must be between 1 and 86400"},
    {"pod: {terminationGracePeriodSeconds: 30s}",
     "pod.terminationGracePeriodSeconds: expected an integer, got a string"},
    {"pod: {terminationGracePeriodSeconds: 20, maxTerminationGracePeriodSeconds: 10}",
     "pod.maxTerminationGracePeriodSeconds: Invalid value: 10: must not be below "
     "pod.terminationGracePeriodSeconds (20)"},
    {"oci: {cache: {path: /x}}", "?oci.cache: has no effect: nothing is cached between runs"},
    {"oci: {configFiles: [1, a]}", "oci.configFiles[0]: expected a string, got a number"},
    {"initContainer: {command: [1]}", "initContainer.command[0]: expected a string, got a number"},
    {"initContainer: {command: sh}",
     "initContainer.command: expected a list of strings, got a string"},
    {"initContainer: {imagePullPolicy: Sometimes}",
     "initContainer.imagePullPolicy: Invalid value: \"Sometimes\": must be Always, IfNotPresent or "
     "Never"},
    {"leaderElection: {leaseDuration: 1s}",
     "leaderElection.leaseDuration: Invalid value: \"1s\": must be a duration such as 90s, 5m or "
     "1h30m, at least 2000ms"},
    {"leaderElection: {leaseDuration: 2500ms}",
     "leaderElection.leaseDuration: Invalid value: must be whole seconds, at most 1h"},
    {"leaderElection: {leaseDuration: 61m}",
     "leaderElection.leaseDuration: Invalid value: must be whole seconds, at most 1h"},
    {"script: {enabled: 'no'}", "script.enabled: expected true or false, got a string"},
    {"script: {args: [-x]}", "script.args: Forbidden: arguments belong to the item; put "
                             "options of the interpreter into script.command"},
    {"script: {goImage: true}", "?script.goImage: unknown field; did you mean \"image\"?"},
    {"hpa: 3", "hpa: expected an object, got a number"},
    {"hpa: {maxReplicas: -1}",
     "hpa.maxReplicas: Invalid value: -1: must be between 0 and 2147483647"},
    {"controller: {cacheSyncTimeout: soon}",
     "controller.cacheSyncTimeout: Invalid value: \"soon\": must be a duration such as 90s, 5m or "
     "1h30m, at least 1ms?controller.cacheSyncTimeout: has no effect: lists are always read to "
     "the end"},
    {"waitContainer: {name: x}",
     "?waitContainer.name: has no effect: the containers' names are fixed"},
    {"deleteOperation: maybe", "deleteOperation: Invalid value: \"maybe\": must be run or skip"},
    {"{debug: {keepPod: 'yes'}, hpa: []}",
     "[debug.keepPod: expected true or false, got a string, hpa: expected an object, got a list]"},
    {"pod: {sharedVolumeSizeLimit: much}", "pod.sharedVolumeSizeLimit: Invalid value: \"much\": "
                                           "must be a quantity such as 500m, 1 or 64Mi"},
    {"targetSelector: {labels: [{key: a, operator: '=', values: [b]}]}", ""},
    {"targetSelector: [{labels: [{key: a, operation: '=', value: b}]}]",
     "targetSelector[0].labels[0].operator: Required value: one of =, ==, !=, in, notin, exists, "
     "!, gt, lt?targetSelector[0].labels[0].operation: unknown field; did you mean \"operator\"?"
     "?targetSelector[0].labels[0].value: unknown field; did you mean \"values\"?"},
    {"targetSelector: 5", "targetSelector: expected a list, got a number"},
    {"initContainer: {env: [{name: HTTPS_PROXY, value: 'http://proxy.example:3128'}]}", ""},
    {"initContainer: {env: [{name: IMPORTS_PATH, value: x}]}",
     "initContainer.env[0].name: Forbidden: \"IMPORTS_PATH\" is set by the deployer"},
    {"defaultImage: {env: []}", "?defaultImage.env: unknown field"},
    {"{oci: {caBundle: pem}, initContainer: {env: [{name: SSL_CERT_DIR, value: /x}]}}",
     "initContainer.env: Forbidden: \"SSL_CERT_DIR\" can't be combined with oci.caBundle: add the "
     "certificates to one of them"},
    {"namespaces: [shop, orders]", ""},
    {"namespaces: [A_b]", "namespaces[0]: Invalid value: \"A_b\": must be lower-case letters, "
                          "digits, '-' and '.'"},
};

static void the_document_says_which_types_are_served(void **state)
{
    static const struct {
        const char *document;
        bool has_container, has_script, has_manifest;
        const char *lease;
    } rows[] = {
        {"{}", true, true, false, "container-deployer-longshore"},
        {"{manifest: {enabled: true}}", true, true, true, "container-deployer-longshore"},
        {"{script: {enabled: false}}", true, false, false, "container-deployer-longshore"},
        {"{apiVersion: " MANIFEST_API_VERSION ", kind: Configuration}", false, false, true,
         "manifest-deployer-longshore"},
        {"{apiVersion: " MANIFEST_API_VERSION_OLD ", kind: Configuration, identity: a, export: "
         "{defaultTimeout: 5m}, hpa: {maxReplicas: 2, averageCpuUtilization: 80}, controller: "
         "{workers: 30, cacheSyncTimeout: 2m}}",
         false, false, true, "manifest-deployer-longshore"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_config struct deployer_config *config = sample_config(rows[i].document);
        cleanup_json json_t *document = config_document(config);
        cleanup_config struct deployer_config *again = NULL;
        cleanup_mistakes struct mistakes mistakes = {0};

        assert_int_equal(config_parse(document, &again, &mistakes), 0);
        assert_int_equal(config->is_container_enabled, rows[i].has_container);
        assert_int_equal(config->is_script_enabled, rows[i].has_script);
        assert_int_equal(config->is_manifest_enabled, rows[i].has_manifest);
        assert_int_equal(again->is_manifest_enabled, rows[i].has_manifest);
        assert_int_equal(again->is_container_enabled, rows[i].has_container);
        assert_string_equal(config->lease_name, rows[i].lease);
    }
}

static void every_mistake_is_reported_with_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = mistakes_of(cases[i].yaml);

        assert_string_equal(text, cases[i].expected);
    }
}

static void a_malformed_file_is_reported_as_one_mistake(void **state)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct deployer_config *config = NULL;

    (void)state;
    assert_int_equal(config_load("/nonexistent/config.yaml", &config, &mistakes), -1);
    assert_int_equal(mistakes.errors, 1);
    assert_null(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_document_gives_the_defaults),
        cmocka_unit_test(every_field_of_the_go_deployer_is_read_or_reported_as_ignored),
        cmocka_unit_test(the_effective_configuration_reads_back_to_itself),
        cmocka_unit_test(documented_defaults_are_the_effective_ones),
        cmocka_unit_test(the_document_says_which_types_are_served),
        cmocka_unit_test(every_mistake_is_reported_with_its_path),
        cmocka_unit_test(a_malformed_file_is_reported_as_one_mistake),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
