/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/data/base64.h"
#include "deployer/helm/type_helm.h"
#include "deployer/tests/sample.h"

#define COMMON "name: app, namespace: apps"
#define REF "chart: {ref: 'r.example/charts/app:1.2.3'}"

static const struct {
    const char *provider, *mistake;
} wrong[] = {
    {"{namespace: apps, " REF "}", "name: Required value"},
    {"{name: app, " REF "}", "namespace: Required value"},
    {"{" COMMON "}", "chart: Required value"},
    {"{" COMMON ", chart: {}}", "chart: Required value: must name a chart"},
    {"{" COMMON ", chart: {archive: {}}}", "chart.archive: Required value: raw or remote.url"},
    {"{" COMMON ", chart: {archive: {remote: {url: 'ftp://a/b'}}}}", "must begin with https://"},
    {"{" COMMON ", chart: {helmChartRepo: {helmChartRepoUrl: 'https://a', helmChartName: b}}}",
     "chart.helmChartRepo.helmChartVersion: Required value"},
    {"{" COMMON
     ", chart: {helmChartRepo: {helmChartRepoUrl: 'oci://a', helmChartName: b, helmChartVersion: "
     "'1'}}}",
     "use chart.ref"},
    {"{" COMMON ", chart: {ref: r.example/charts/app}}", "must have a tag or a digest"},
    {"{" COMMON ", chart: {ref: 'oci://r.example/charts/app:1'}}", "must have no scheme"},
    {"{" COMMON ", chart: {fromResource: {resourceName: a}}}", "no longer supported"},
    {"{" COMMON ", chart: {resourceRef: '!'}}", "chart.resourceRef: Invalid value"},
    /* {component: {name: a, version: "1"}, resource: {name: b, c: 1}} */
    {"{" COMMON
     ", chart: {resourceRef: 'e2NvbXBvbmVudDoge25hbWU6IGEsIHZlcnNpb246ICIxIn0sIHJlc291cmNlOiB7"
     "bmFtZTogYiwgYzogMX19'}}",
     "resource.c must be a string"},
    {"{" COMMON ", " REF ", helmDeploymentConfig: {install: {replace: true}}}",
     "helmDeploymentConfig.install.replace"},
    {"{" COMMON ", " REF ", helmDeploymentConfig: {uninstall: {atomic: true}}}",
     "helmDeploymentConfig.uninstall.atomic"},
    {"{" COMMON ", " REF ", helmDeploymentConfig: {upgrade: {timeout: soon}}}", "upgrade.timeout"},
    {"{" COMMON ", " REF ", exportsFromManifests: [{key: a}]}",
     "exportsFromManifests[0].jsonPath: Required value"},
    {"{" COMMON ", " REF ", exportsFromManifests: [{key: a, jsonPath: .b}, {key: b, jsonPath: .b}, "
     "{key: a, jsonPath: .c, fromResource: {apiVersion: v1, kind: c, name: d}}]}",
     "exportsFromManifests[2].key: Duplicate value: \"a\""},
    {"{" COMMON ", " REF ", exports: {exports: [{key: a, jsonPath: '.Values['}]}}",
     "exports.exports[0].jsonPath"},
    {"{" COMMON ", " REF ", exports: {exports: [{key: a, jsonPath: .b, fromResource: {kind: c}}]}}",
     "exports.exports[0].fromResource.apiVersion"},
    {"{" COMMON ", " REF ", updateStrategy: replace}", "updateStrategy"},
    {"{" COMMON ", " REF ", deletionGroups: [{predefinedResourceGroup: {type: all}}]}",
     "deletionGroups[0].predefinedResourceGroup.type"},
    {"{" COMMON ", " REF ", continuousReconcile: {cron: x, every: 1h}}", "continuousReconcile"},
    {"{" COMMON ", " REF ", values: [1]}", "values: expected an object"},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_free char *text = NULL;

        assert_int_equal(sample_run_parse(&sample, DEPLOY_ITEM_TYPE_HELM, sample_config(NULL),
                                          sample_doc(wrong[i].provider)),
                         -1);
        text = mistakes_text(&sample.mistakes);
        if (!strstr(text, wrong[i].mistake))
            fail_msg("%s: got %s", wrong[i].provider, text);
    }
}

static const struct {
    const char *chart, *normalised;
    bool has_registry;
} charts[] = {
    {REF, "{\"ref\":\"r.example/charts/app:1.2.3\"}", true},
    {"chart: {archive: {raw: YQ==}}", "{\"raw\":\"YQ==\"}", false},
    {"chart: {archive: {remote: {url: 'https://a/b.tgz'}}}", "{\"url\":\"https://a/b.tgz\"}",
     false},
    {"chart: {archive: {raw: YQ==}, ref: 'a/b:1'}", "{\"raw\":\"YQ==\"}", false},
    {"chart: {helmChartRepo: {helmChartRepoUrl: 'https://a', helmChartName: b, helmChartVersion: "
     "'1'}}",
     "{\"repository\":{\"url\":\"https://a\",\"name\":\"b\",\"version\":\"1\"}}", false},
    /* Only if helm renders, and something is exported that only helm can compute. */
    {"helmDeployment: false, exports: {exports: [{key: a, jsonPath: .Values.a}]}, chart: {archive: "
     "{raw: YQ==}}",
     "{\"raw\":\"YQ==\",\"isValuesTemplateWanted\":true}", false},
    {"exports: {exports: [{key: a, jsonPath: .Values.a}]}, chart: {archive: {raw: YQ==}}",
     "{\"raw\":\"YQ==\"}", false},
};

static void the_chart_is_normalised_for_init(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(charts); i++) {
        cleanup_free char *provider = xasprintf("{" COMMON ", %s}", charts[i].chart);
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_free char *text = NULL;

        sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM, NULL, provider);
        text = doc_dump(json_object_get(sample.run->configuration, "chart"));
        assert_string_equal(text, charts[i].normalised);
        assert_int_equal(sample.run->has_registry_access, charts[i].has_registry);
        assert_true(sample.run->is_target_hidden && sample.run->is_state_fresh);
    }
}

static void a_resource_of_a_component_is_decoded(void **state)
{
    static const char key[] = "component: {name: example.com/app, version: 1.0.0}\n"
                              "resource: {name: chart}\n";
    cleanup_free char *encoded = base64_encode(key, strlen(key));
    cleanup_free char *provider = xasprintf("{" COMMON ", chart: {resourceRef: '%s'}}", encoded);
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM, NULL, provider);
    assert_string_equal(
        doc_text(sample.run->configuration, "componentDescriptor.ref.componentName"),
        "example.com/app");
    assert_string_equal(doc_text(sample.run->configuration, "chart.resource.name"), "chart");
    assert_true(sample.run->has_registry_access);
}

#define VALUES "--values /data/ls/script/values.json "

static const struct {
    const char *provider;
    struct helm_situation situation;
    const char *arguments;
} lines[] = {
    {"helmDeployment: false",
     {.left_ms = -1, .version = 3},
     "template app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--include-crds --skip-schema-validation --output-dir /data/ls/shared/state/rendered"},
    {"createNamespace: true",
     {.left_ms = 5500, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --create-namespace --timeout 5s"},
    {"helmDeploymentConfig: {install: {atomic: true}, upgrade: {force: true, wait: true, timeout: "
     "3s, takeOwnership: true, skipSchemaValidation: true}}",
     {.left_ms = 5500, .is_upgrade = true, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --force --skip-schema-validation --take-ownership --wait "
     "--timeout 3s"},
    {"helmDeploymentConfig: {install: {atomic: true, force: true}}",
     {.left_ms = -1, .version = 4},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --rollback-on-failure --force-replace --server-side=false "
     "--timeout 86400s"},
    /* An option cannot make the operation longer than the job. */
    {"helmDeploymentConfig: {install: {timeout: 1h}}",
     {.left_ms = 5500, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --timeout 5s"},
    /* As in the Go deployer, an upgrade does not create it. */
    {"createNamespace: true",
     {.left_ms = 5500, .is_upgrade = true, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --timeout 5s"},
    /* What helm needs to roll back is part of the job, too. */
    {"helmDeploymentConfig: {install: {atomic: true}}",
     {.left_ms = 600000, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --atomic --timeout 450s"},
    {"helmDeploymentConfig: {upgrade: {atomic: true, timeout: 10m}}",
     {.left_ms = 600000, .is_upgrade = true, .version = 4},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --rollback-on-failure --server-side=false --timeout 450s"},
    {"helmDeploymentConfig: {upgrade: {atomic: true, timeout: 3s}}",
     {.left_ms = 600000, .is_upgrade = true, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --atomic --timeout 3s"},
    /* The time of the job has ended while the target was asked. */
    {"helmDeploymentConfig: {install: {timeout: 3s}}",
     {.left_ms = 0, .version = 3},
     "upgrade app /data/ls/shared/chart/chart.tgz --namespace apps " VALUES
     "--install --history-max 10 --timeout 1s"},
    {"helmDeploymentConfig: {uninstall: {wait: true}}",
     {.left_ms = 10, .is_delete = true, .version = 3},
     "uninstall app --namespace apps --ignore-not-found --wait --timeout 1s"},
};

static char *join(const json_t *arguments)
{
    char *line = xstrdup("");

    for (size_t i = 0; i < json_array_size(arguments); i++) {
        char *longer = xasprintf("%s%s%s", line, i ? " " : "",
                                 json_string_value(json_array_get(arguments, i)));

        free(line);
        line = longer;
    }
    return line;
}

static void command_lines_follow_configuration_and_situation(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lines); i++) {
        cleanup_free char *provider = xasprintf("{" COMMON ", " REF ", %s}", lines[i].provider);
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_free char *line = NULL;

        sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM, NULL, provider);
        helm_run_prepare(sample.run, &lines[i].situation);
        line = join(sample.run->args);
        assert_string_equal(line, lines[i].arguments);
    }
}

static void capabilities_are_passed_as_far_as_they_fit(void **state)
{
    cleanup_json json_t *versions = json_array();
    cleanup_sample_run struct sample_run sample = {0};
    struct helm_situation situation = {
        .left_ms = -1, .version = 3, .kube_version = "v1.37.0", .api_versions = versions};

    (void)state;
    for (int i = 0; i < 10000; i++)
        (void)json_array_append_new(versions, json_string("example.com/v1/AnExampleOfAKind"));
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM, NULL,
                    "{" COMMON ", " REF ", helmDeployment: false}");
    helm_run_prepare(sample.run, &situation);
    assert_in_range(json_array_size(sample.run->args), 1000, 10000);
    assert_string_equal(json_string_value(json_array_get(sample.run->args, 12)), "v1.37.0");
}

static void main_gets_values_and_nothing_of_the_target(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM,
                    "helm: {image: 'h:1', command: [/helm], resources: {limits: {memory: 1Gi}}}",
                    "{" COMMON ", " REF ", values: {a: {b: 1}}, helmDeployment: false}");
    assert_string_equal(sample.run->image, "h:1");
    assert_string_equal(doc_text(sample.run->resources, "limits.memory"), "1Gi");
    assert_int_equal(sample.run->file_count, 1);
    assert_string_equal(sample.run->files[0].data, "{\"a\":{\"b\":1}}");
    assert_int_equal(sample.run->file_mode, 0440);
    assert_int_equal(json_array_size(sample.run->env), 3); /* no KUBECONFIG */
}

static void fields_of_container_items_have_no_effect(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_HELM, NULL,
                    "{" COMMON ", " REF
                    ", image: 'evil:1', env: [{name: KUBECONFIG, value: x}], args: [a]}");
    assert_string_not_equal(sample.run->image, "evil:1");
    assert_int_equal(json_array_size(sample.run->env), 4);
    assert_int_equal(sample.mistakes.count, 3); /* unknown fields */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(the_chart_is_normalised_for_init),
        cmocka_unit_test(a_resource_of_a_component_is_decoded),
        cmocka_unit_test(command_lines_follow_configuration_and_situation),
        cmocka_unit_test(capabilities_are_passed_as_far_as_they_fit),
        cmocka_unit_test(main_gets_values_and_nothing_of_the_target),
        cmocka_unit_test(fields_of_container_items_have_no_effect),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
