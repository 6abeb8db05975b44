/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/data/base64.h"
#include "deployer/helm/capabilities.h"
#include "deployer/helm/rendered.h"
#include "deployer/tests/sample.h"

#define PROVIDER(more_)                                                                            \
    "{name: app, namespace: apps, chart: {ref: 'r.example/a:1'}, helmDeployment: false" more_ "}"

struct sample_chart {
    struct helm_config *helm;
    struct manifest_config *config;
    struct rendered rendered;
    struct mistakes mistakes;
};

static void sample_chart_init(struct sample_chart *sample, const char *provider)
{
    cleanup_json json_t *document = sample_doc(provider);

    *sample = (struct sample_chart){0};
    sample->helm = helm_config_read(document, &sample->mistakes);
    sample->config = manifest_config_for_chart(document, &sample->mistakes);
    assert_int_equal(sample->mistakes.errors, 0);
}

static void sample_chart_done(struct sample_chart *sample)
{
    helm_config_free(sample->helm);
    manifest_config_free(sample->config);
    rendered_done(&sample->rendered);
    mistakes_done(&sample->mistakes);
}
#define cleanup_sample_chart __attribute__((cleanup(sample_chart_done)))

static void add(struct sample_chart *sample, const char *name, const char *text)
{
    rendered_add(&sample->rendered, name, text, strlen(text));
}

static int make(struct sample_chart *sample, struct error *err)
{
    return rendered_objects(&sample->rendered, sample->helm, "item", sample->config, err);
}

#define CONFIG_MAP(name_) "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name_ "}\n"

static void every_document_of_every_file_becomes_an_object(void **state)
{
    cleanup_sample_chart struct sample_chart sample = {0};
    struct error err = {0};
    const json_t *first = NULL;

    (void)state;
    sample_chart_init(&sample, PROVIDER(""));
    add(&sample, "./rendered/app/b.yaml",
        "---\n# Source: app/b.yaml\n" CONFIG_MAP("one") "---\n" CONFIG_MAP("two") "---\n# empty\n");
    add(&sample, "rendered/app/a.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- {kind: ConfigMap, apiVersion: v1, metadata: {name: "
        "three, namespace: other, labels: {a: b}}}\n");
    add(&sample, "renderedX/a.yaml", "not: ours");
    add(&sample, "other", "not: ours");
    assert_int_equal(make(&sample, &err), 0);
    assert_int_equal(sample.config->input_count, 3);
    /* By name of the file: the list comes first. */
    first = json_array_get(doc_member(sample.config->inputs[0].manifest, "items"), 0);
    assert_string_equal(doc_text(first, "metadata.namespace"), "other");
    assert_string_equal(
        json_string_value(doc_member(doc_get(first, "metadata.labels"), LABEL_HELM_ITEM)), "item");
    assert_string_equal(sample.config->inputs[1].source, "app/b.yaml (document 1)");
    assert_string_equal(doc_text(sample.config->inputs[2].manifest, "metadata.namespace"), "apps");
}

static void a_namespace_that_is_created_is_kept(void **state)
{
    cleanup_sample_chart struct sample_chart sample = {0};
    struct error err = {0};

    (void)state;
    sample_chart_init(&sample, PROVIDER(", createNamespace: true"));
    assert_int_equal(make(&sample, &err), 0);
    assert_int_equal(sample.config->input_count, 1);
    assert_int_equal(sample.config->inputs[0].policy, POLICY_KEEP);
    assert_string_equal(doc_text(sample.config->inputs[0].manifest, "kind"), "Namespace");
}

static const struct {
    const char *text, *message;
} broken[] = {
    {"a: b\n---\nc: [\n", "line 4"},
    {"- a\n", "document 1 is not an object, but a list"},
    {CONFIG_MAP("a") "---\njust text\n", "document 2 is not an object"},
    {"a: 1\na: 2\n", "line 2"},
};

static void a_document_that_cannot_be_parsed_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(broken); i++) {
        cleanup_sample_chart struct sample_chart sample = {0};
        struct error err = {0};

        sample_chart_init(&sample, PROVIDER(""));
        add(&sample, "rendered/app/x.yaml", broken[i].text);
        assert_int_equal(make(&sample, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, "app/x.yaml") || !strstr(err.text, broken[i].message))
            fail_msg("%zu: %s", i, err.text);
    }
}

static void a_file_with_a_nul_byte_is_named(void **state)
{
    cleanup_sample_chart struct sample_chart sample = {0};
    struct error err = {0};

    (void)state;
    sample_chart_init(&sample, PROVIDER(""));
    add(&sample, "rendered/app/x.yaml", "a: 1\n");
    rendered_add(&sample.rendered, "rendered/app/y.yaml", NULL, 0);
    /* Beside the objects it does not matter. */
    rendered_add(&sample.rendered, "other", NULL, 0);
    assert_int_equal(make(&sample, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "app/y.yaml"));
    assert_non_null(strstr(err.text, "NUL"));
}

/* What FILE_HELM_SEEN renders, with its base64. */
#define SEEN "rendered/app/" FILE_HELM_SEEN

static void what_templates_see_is_exported_and_is_not_an_object(void **state)
{
    static const char seen[] = "{\"Values\":{\"a\":{\"b\":7}},\"Chart\":{\"version\":\"1.2.3\"},"
                               "\"Release\":{\"Name\":\"app\"},\"Capabilities\":{\"KubeVersion\":{"
                               "\"Major\":\"1\"}}}";
    cleanup_json json_t *document = sample_doc(
        PROVIDER(", exportsFromManifests: [{key: x.y, jsonPath: Values.a.b}, {key: v, jsonPath: "
                 ".Chart.Version}], exports: {exports: [{key: name, jsonPath: .Release.Name}, "
                 "{key: m, jsonPath: .Capabilities.KubeVersion.Major}]}"));
    cleanup_rendered struct rendered rendered = {0};
    cleanup_manifest_config struct manifest_config *config = NULL;
    cleanup_json json_t *exports = NULL;
    cleanup_free char *encoded = base64_encode(seen, strlen(seen));
    cleanup_free char *file =
        xasprintf("---\n# Source: app/" FILE_HELM_SEEN "\n" MEMBER_HELM_SEEN ": %s\n", encoded);
    cleanup_free char *text = NULL;
    struct error err = {0};

    (void)state;
    rendered_add(&rendered, SEEN, file, strlen(file));
    assert_int_equal(rendered_config(&rendered, document, "item", &config, &exports, &err), 0);
    assert_int_equal(config->input_count, 0);
    text = doc_dump_sorted(exports);
    assert_string_equal(text, "{\"m\":\"1\",\"name\":\"app\",\"v\":\"1.2.3\",\"x\":{\"y\":7}}");
}

static void values_that_were_not_rendered_are_an_error(void **state)
{
    static const char *const files[] = {NULL,
                                        "",
                                        "a: b\n",
                                        "- a\n",
                                        "a: [",
                                        MEMBER_HELM_SEEN ": '!'\n",
                                        MEMBER_HELM_SEEN ": W10=\n"};
    cleanup_json json_t *document =
        sample_doc(PROVIDER(", exports: {exports: [{key: k, jsonPath: .Values.a}]}"));

    (void)state;
    for (size_t i = 0; i < array_length(files); i++) {
        cleanup_rendered struct rendered rendered = {0};
        struct manifest_config *config = NULL;
        json_t *exports = NULL;
        struct error err = {0};

        if (files[i])
            rendered_add(&rendered, SEEN, files[i], strlen(files[i]));
        assert_int_equal(rendered_config(&rendered, document, "item", &config, &exports, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, "did not render the values"));
    }
}

static const struct {
    const char *discovery, *versions;
} discoveries[] = {
    {"{items: [{metadata: {name: apps}, versions: [{version: v1, resources: [{responseKind: {kind: "
     "Deployment}}, {responseKind: {kind: ReplicaSet}}]}]}, {metadata: {name: x.io}, versions: "
     "[{version: v1}, {version: v2}]}]}",
     "[\"apps/v1\",\"x.io/v1\",\"x.io/v2\",\"apps/v1/Deployment\",\"apps/v1/ReplicaSet\"]"},
    {"{groups: [{versions: [{groupVersion: apps/v1}]}]}", "[\"apps/v1\"]"},
    {"{items: [{}, 5, {metadata: {name: a}, versions: [{version: v1, resources: [{}]}]}]}",
     "[\"a/v1\"]"},
    {"null", "[]"},
};

static void capabilities_are_read_from_discovery(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(discoveries); i++) {
        cleanup_json json_t *discovery = sample_doc(discoveries[i].discovery);
        cleanup_json json_t *versions = helm_api_versions(discovery);
        cleanup_free char *text = doc_dump(versions);

        assert_string_equal(text, discoveries[i].versions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_document_of_every_file_becomes_an_object),
        cmocka_unit_test(a_namespace_that_is_created_is_kept),
        cmocka_unit_test(a_document_that_cannot_be_parsed_is_named),
        cmocka_unit_test(a_file_with_a_nul_byte_is_named),
        cmocka_unit_test(what_templates_see_is_exported_and_is_not_an_object),
        cmocka_unit_test(values_that_were_not_rendered_are_an_error),
        cmocka_unit_test(capabilities_are_read_from_discovery),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
