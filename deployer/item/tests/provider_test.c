/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

static char *mistakes_of(const char *config_yaml, const char *provider_yaml)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)!sample_run_parse(&sample, DEPLOY_ITEM_TYPE_CONTAINER, sample_config(config_yaml),
                            sample_doc(provider_yaml));
    assert_true((sample.run == NULL) == (sample.mistakes.errors > 0));
    return mistakes_text(&sample.mistakes);
}

static const struct {
    const char *yaml, *expected;
} cases[] = {
    {"{image: alpine}", ""},
    {"{apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1, kind: "
     "ProviderConfiguration, importValues: null}",
     ""},
    {"{unknown: 1}", ""},
    {"{apiVersion: other/v1}",
     "apiVersion: \"other/v1\": a landscaper.gardener.cloud/container item has a provider "
     "configuration of container.deployer.landscaper.gardener.cloud/v1alpha1"},
    {"{kind: ProviderStatus}", "kind: \"ProviderStatus\": must be ProviderConfiguration"},
    {"{image: 5}", "image: expected a string, got a number"},
    {"{command: x}", "command: expected a list of strings, got a string"},
    {"{args: [a, 1]}", "args[1]: expected a string, got a number"},
    /* The messages of the Go deployer. */
    {"{registryPullSecrets: [{}]}",
     "[registryPullSecrets[0].name: Required value: name must not be empty, "
     "registryPullSecrets[0].namespace: Required value: namespace must not be empty]"},
    {"{registryPullSecrets: [{name: a, namespace: b}, {name: c, namespace: ''}]}",
     "registryPullSecrets[1].namespace: Required value: namespace must not be empty"},
    {"{registryPullSecrets: [{name: '../x', namespace: b}]}",
     "registryPullSecrets[0].name: Invalid value: \"../x\": must be lower-case letters, digits, "
     "'-' "
     "and '.'"},
    {"{registryPullSecrets: {}}", "registryPullSecrets: expected a list, got an object"},
    {"{registryPullSecrets: [a]}", "registryPullSecrets[0]: expected an object, got a string"},
    {"{continuousReconcile: {cron: '* * 1 1 *'}}", ""},
    {"{continuousReconcile: {every: 5h}}", ""},
    {"{continuousReconcile: {}}", ""},
    {"{continuousReconcile: {cron: '@daily'}}", ""},
    {"{continuousReconcile: {cron: 'TZ=UTC */5 1-3,7 ? JAN-mar Mon'}}", ""},
    {"{continuousReconcile: {cron: '@every 5m'}}", ""},
    {"{continuousReconcile: {cron: '* * 1 1 *', every: 1h}}",
     "continuousReconcile: Invalid value: only one of cron and every can be set"},
    {"{continuousReconcile: {cron: foo}}", "continuousReconcile.cron: Invalid value: \"foo\": must "
                                           "be a cron expression of five fields"},
    {"{continuousReconcile: {cron: '* * *'}}", "continuousReconcile.cron: Invalid value: \"* * "
                                               "*\": must be a cron expression of five fields"},
    {"{continuousReconcile: {cron: '60 * * * *'}}",
     "continuousReconcile.cron: Invalid value: \"60 * * * *\": must be a cron expression of five "
     "fields"},
    {"{continuousReconcile: {cron: '5-1 * * * *'}}",
     "continuousReconcile.cron: Invalid value: \"5-1 * * * *\": must be a cron expression of five "
     "fields"},
    {"{continuousReconcile: {every: -3h}}", "continuousReconcile.every: Invalid value: \"-3h\": "
                                            "must be a duration greater than zero"},
    {"{continuousReconcile: 5}", "continuousReconcile: expected an object, got a number"},
    {"{env: [{name: A, value: b}, {name: B}]}", ""},
    {"{env: [{name: A, value: x}, {name: A, value: z}]}", "env[1].name: Duplicate value: \"A\""},
    {"{env: [{name: 1A}]}", "env[0].name: Invalid value: \"1A\": must be letters, digits, '_', '-' "
                            "or '.', not starting with a digit"},
    {"{env: [{name: OPERATION, value: DELETE}]}",
     "env[0].name: Forbidden: \"OPERATION\" is set by the deployer"},
    {"{env: [{name: LONGSHORE_X, value: a}]}",
     "env[0].name: Forbidden: \"LONGSHORE_X\" is set by the deployer"},
    {"{env: [{name: A, valueFrom: {secretKeyRef: {name: x, key: y}}}]}",
     "env[0].valueFrom: Forbidden: values can't be taken from other objects; use importValues"},
    {"{env: [{value: a}]}", "env[0].name: Required value: name of the variable"},
    {"{env: [{name: A, value: 5}]}", "env[0].value: expected a string, got a number"},
    {"{env: {A: b}}", "env: expected a list, got an object"},
    {"{resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1, memory: 1Gi, "
     "nvidia.com/gpu: 1}}}",
     ""},
    {"{resources: {requests: {cpu: much}}}",
     "resources.requests.cpu: Invalid value: \"much\": must "
     "be a quantity such as 500m, 1 or 64Mi"},
    {"{resources: {requests: {cpu: -1}}}", "resources.requests.cpu: Invalid value: \"-1\": must be "
                                           "a quantity such as 500m, 1 or 64Mi"},
    {"{resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}",
     "resources.requests.cpu: Invalid value: must not exceed its limit"},
    {"{resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}", ""},
    {"{resources: {limits: {nvidia.com/gpu: 2000m}}}", ""},
    {"{resources: {requests: {nvidia.com/gpu: 1}}}",
     "resources.requests.\"nvidia.com/gpu\": Invalid value: requires an equal "
     "limit"},
    {"{resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}",
     "resources.requests.\"nvidia.com/gpu\": Invalid value: must equal its limit"},
    {"{resources: {limits: {nvidia.com/gpu: 500m}}}",
     "resources.limits.\"nvidia.com/gpu\": Invalid value: must be a whole number"},
    {"{resources: {requests: {kubernetes.io/x: 1}}}", ""},
    {"{resources: {limits: {hugepages-2Mi: 4Mi, memory: 1Gi}}}", ""},
    {"{resources: {limits: {hugepages-2Mi: 4Mi}}}",
     "resources: Forbidden: huge pages require a cpu or memory request or limit"},
    {"{resources: {limits: {hugepages-2Mi: 3Mi, cpu: 1}}}",
     "resources.limits.hugepages-2Mi: Invalid value: must be a multiple of 2Mi"},
    {"{resources: {limits: {hugepages-x: 3Mi, cpu: 1}}}",
     "resources.limits.hugepages-x: Invalid value: \"x\": not a valid page size"},
    {"{tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}", ""},
    {"{tolerations: [{key: a, operator: Exists, tolerationSeconds: 5}]}",
     "tolerations[0].effect: Invalid value: must be NoExecute where tolerationSeconds is set"},
    {"{resources: {requests: {disk: 1}}}",
     "resources.requests.disk: Invalid value: \"disk\": must be cpu, memory, ephemeral-storage or "
     "domain/name"},
    {"{resources: {claims: [{name: gpu}]}}",
     "resources.claims: Forbidden: only requests and limits can be set"},
    {"{resources: {limits: {cpu: [1]}}}", "resources.limits.cpu: expected a quantity, got a list"},
    {"{terminationGracePeriodSeconds: 300}", ""},
    {"{terminationGracePeriodSeconds: 301}",
     "terminationGracePeriodSeconds: Invalid value: 301: must not be above 300 "
     "(pod.maxTerminationGracePeriodSeconds in the deployer's configuration)"},
    {"{terminationGracePeriodSeconds: 0}",
     "terminationGracePeriodSeconds: Invalid value: 0: must be between 1 and 2147483647"},
    {"{terminationGracePeriodSeconds: 5m}",
     "terminationGracePeriodSeconds: expected an integer, got a string"},
    {"{imagePullPolicy: Often}", "imagePullPolicy: Invalid value: \"Often\": must be Always, "
                                 "IfNotPresent or Never"},
    {"{runtimeClassName: 'G V'}", "runtimeClassName: Invalid value: \"G V\": must be lower-case "
                                  "letters, digits, '-' and '.'"},
    {"{nodeSelector: {a: 5}}", "nodeSelector.a: expected a string, got a number"},
    {"{nodeSelector: {'a b': c}}",
     "nodeSelector.a b: Invalid value: \"a b\": must be a valid label key"},
    {"{tolerations: [{key: a, operator: Exists}, {operator: Exists}]}", ""},
    {"{tolerations: [{key: a, operator: exists}]}",
     "tolerations[0].operator: Invalid value: \"exists\": must be Equal or Exists; did you mean "
     "\"Exists\"?"},
    {"{tolerations: [{}]}", "tolerations[0].key: Required value: a toleration without a key needs "
                            "the operator Exists"},
    {"{tolerations: [{key: a, operator: Exists, value: b}]}",
     "tolerations[0].value: Invalid value: must be empty with the operator Exists"},
    {"{blueprint: {inline: {filesystem: {blueprint.yaml: x}}}}", ""},
    {"{blueprint: {ref: {resourceName: b}}}",
     "componentDescriptor: Required value: needed because blueprint.ref "
     "names a resource of the component"},
    {"{blueprint: {ref: {}}, componentDescriptor: {ref: {componentName: c, version: v}}}",
     "blueprint.ref.resourceName: Required value: name of the blueprint's resource"},
    {"{blueprint: {}}", "blueprint: Required value: ref or inline"},
    {"{blueprint: {inline: {}}}",
     "blueprint.inline.filesystem: Required value: files of the blueprint"},
    {"{blueprint: {inline: {filesystem: 5}}}",
     "blueprint.inline.filesystem: expected an object of file names, or its text, got a number"},
    {"{blueprint: x}", "blueprint: expected an object, got a string"},
    {"{componentDescriptor: {}}", "componentDescriptor: Required value: ref or inline"},
    {"{componentDescriptor: {inline: {meta: {}}}}", ""},
    {"{componentDescriptor: {ref: {repositoryContext: 5, version: v}}}",
     "[componentDescriptor.ref.repositoryContext: expected an object, got a number, "
     "componentDescriptor.ref.componentName: Required value: name of the component]"},
};

static void every_mistake_in_a_provider_configuration_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = mistakes_of(NULL, cases[i].yaml);

        assert_string_equal(text, cases[i].expected);
    }
}

static void an_invalid_image_reference_is_refused(void **state)
{
    static const char *const images[] = {"Upper/Case", "a b", "x:y:z", "@sha256:12", "-x"};

    (void)state;
    for (size_t i = 0; i < array_length(images); i++) {
        cleanup_free char *yaml = xasprintf("{image: '%s'}", images[i]);
        cleanup_free char *text = mistakes_of(NULL, yaml);

        assert_memory_equal(text, "image: Invalid value: ", strlen("image: Invalid value: "));
    }
}

static void mistakes_distinguish_decoding_from_validation(void **state)
{
    cleanup_sample_run struct sample_run decode = {0};
    cleanup_sample_run struct sample_run validate = {0};

    (void)state;
    assert_int_equal(sample_run_parse(&decode, DEPLOY_ITEM_TYPE_CONTAINER, sample_config(NULL),
                                      sample_doc("{image: []}")),
                     -1);
    assert_int_equal(decode.mistakes.decode_errors, 1);
    assert_int_equal(sample_run_parse(&validate, DEPLOY_ITEM_TYPE_CONTAINER, sample_config(NULL),
                                      sample_doc("{registryPullSecrets: [{}]}")),
                     -1);
    assert_int_equal(validate.mistakes.decode_errors, 0);
    assert_int_equal(validate.mistakes.errors, 2);
}

static void a_missing_image_is_replaced_by_the_default_and_its_command(void **state)
{
    static const char config[] =
        "defaultImage: {image: 'd:1', command: [run], args: [x], imagePullPolicy: Always}";
    cleanup_sample_run struct sample_run plain = {0};
    cleanup_sample_run struct sample_run args = {0};
    cleanup_sample_run struct sample_run named = {0};

    (void)state;
    sample_run_init(&plain, DEPLOY_ITEM_TYPE_CONTAINER, config, "{importValues: 1}");
    assert_string_equal(plain.run->image, "d:1");
    assert_string_equal(json_string_value(json_array_get(plain.run->command, 0)), "run");
    assert_string_equal(plain.run->image_pull_policy, "Always");

    sample_run_init(&args, DEPLOY_ITEM_TYPE_CONTAINER, config,
                    "{args: [z], imagePullPolicy: Never}");
    assert_null(args.run->command);
    assert_string_equal(json_string_value(json_array_get(args.run->args, 0)), "z");
    assert_string_equal(args.run->image_pull_policy, "Never");

    sample_run_init(&named, DEPLOY_ITEM_TYPE_CONTAINER, config, "{image: a}");
    assert_null(named.run->command);
    assert_null(named.run->image_pull_policy);
}

static void init_gets_the_configuration_of_the_item(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL,
                    "{image: a, importValues: {b: [1, 2.5, null]}, other: x}");
    assert_true(json_equal(sample.run->configuration, sample.item->config));
    assert_true(sample.run->has_import_values);
    assert_false(sample.run->is_continuous);
}

static void items_can_add_to_node_selection_and_runtime_but_not_override_them(void **state)
{
    static const char config[] = "pod: {runtimeClassName: gvisor, nodeSelector: {pool: runs}, "
                                 "tolerations: [{key: runs, operator: Exists}]}";
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_free char *runtime = mistakes_of(config, "{runtimeClassName: runc}");
    cleanup_free char *same =
        mistakes_of(config, "{runtimeClassName: gvisor, nodeSelector: {pool: runs}}");
    cleanup_free char *nodes = mistakes_of(config, "{nodeSelector: {pool: control-plane}}");

    (void)state;
    assert_string_equal(
        runtime, "runtimeClassName: Forbidden: the deployer's configuration sets \"gvisor\"");
    assert_string_equal(same, "");
    assert_string_equal(nodes,
                        "nodeSelector.pool: Forbidden: the deployer's configuration sets \"runs\"");
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, config,
                    "{nodeSelector: {arch: arm64}, tolerations: [{key: b, operator: Exists, extra: "
                    "1}]}");
    assert_string_equal(sample.run->runtime_class, "gvisor");
    assert_string_equal(doc_text(sample.run->node_selector, "pool"), "runs");
    assert_string_equal(doc_text(sample.run->node_selector, "arch"), "arm64");
    assert_int_equal(json_array_size(sample.run->tolerations), 2);
    assert_null(doc_member(json_array_get(sample.run->tolerations, 1), "extra"));
}

static void unknown_types_and_missing_configurations_are_mistakes(void **state)
{
    cleanup_sample_run struct sample_run other = {0};
    cleanup_sample_run struct sample_run missing = {0};
    cleanup_free char *other_text = NULL;
    cleanup_free char *missing_text = NULL;

    (void)state;
    assert_int_equal(
        sample_run_parse(&other, "landscaper.gardener.cloud/mock", sample_config(NULL), NULL), -1);
    other_text = mistakes_text(&other.mistakes);
    assert_string_equal(other_text, "spec.type: Invalid value: \"landscaper.gardener.cloud/mock\": "
                                    "unsupported type, must be " DEPLOY_ITEM_TYPE_CONTAINER
                                    ", " DEPLOY_ITEM_TYPE_SCRIPT ", " DEPLOY_ITEM_TYPE_HELM
                                    " or " DEPLOY_ITEM_TYPE_MANIFEST);
    assert_int_equal(
        sample_run_parse(&missing, DEPLOY_ITEM_TYPE_CONTAINER, sample_config(NULL), NULL), -1);
    missing_text = mistakes_text(&missing.mistakes);
    assert_string_equal(missing_text,
                        "spec.config: Required value: provider configuration missing");
}

static void a_manifest_item_does_not_run_as_a_pod(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_free char *text = NULL;

    (void)state;
    assert_int_equal(
        sample_run_parse(&sample, DEPLOY_ITEM_TYPE_MANIFEST, sample_config(NULL), NULL), -1);
    text = mistakes_text(&sample.mistakes);
    assert_non_null(strstr(text, "do not run as a pod"));
    assert_null(strstr(text, "did you mean"));
}

static void only_the_first_of_hundreds_of_mistakes_are_kept(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_free char *text = NULL;
    json_t *env = json_array();

    (void)state;
    for (size_t i = 0; i < 900; i++)
        (void)json_array_append_new(env, json_integer(1));
    assert_int_equal(sample_run_parse(&sample, DEPLOY_ITEM_TYPE_CONTAINER, sample_config(NULL),
                                      json_pack("{s:o}", "env", env)),
                     -1);
    assert_int_equal(sample.mistakes.count, MISTAKES_MAX);
    assert_int_equal(sample.mistakes.dropped, 900 - MISTAKES_MAX);
    text = mistakes_text(&sample.mistakes);
    assert_non_null(strstr(text, ", and 836 more]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_in_a_provider_configuration_is_reported),
        cmocka_unit_test(an_invalid_image_reference_is_refused),
        cmocka_unit_test(mistakes_distinguish_decoding_from_validation),
        cmocka_unit_test(a_missing_image_is_replaced_by_the_default_and_its_command),
        cmocka_unit_test(init_gets_the_configuration_of_the_item),
        cmocka_unit_test(items_can_add_to_node_selection_and_runtime_but_not_override_them),
        cmocka_unit_test(unknown_types_and_missing_configurations_are_mistakes),
        cmocka_unit_test(a_manifest_item_does_not_run_as_a_pod),
        cmocka_unit_test(only_the_first_of_hundreds_of_mistakes_are_kept),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
