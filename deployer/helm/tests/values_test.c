/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/helm/values.h"
#include "deployer/tests/sample.h"

static const struct {
    const char *defaults, *values, *subcharts, *merged;
} merges[] = {
    {"{a: 1}", "{b: 2}", "[]", "{\"a\":1,\"b\":2}"},
    {"{a: {b: 1, c: 2}}", "{a: {b: 3}}", "[]", "{\"a\":{\"b\":3,\"c\":2}}"},
    {"{a: {b: 1}}", "{a: 5}", "[]", "{\"a\":5}"},
    {"{a: 5, b: 6}", "{a: null}", "[]", "{\"b\":6}"},
    {"{a: {b: 1, c: 2}}", "{a: {b: null}}", "[]", "{\"a\":{\"c\":2}}"},
    {"null", "{a: 1}", "null", "{\"a\":1}"},
    /* Globals override those of subcharts, and of their subcharts; other tables do not get them. */
    {"{global: {a: 1}, sub: {global: {a: 1, b: 2}, deep: {global: {}}, x: {}}, z: {global: {}}}",
     "{global: {a: 3}}", "[{name: sub}, {name: gone}, 5]",
     "{\"global\":{\"a\":3},\"sub\":{\"deep\":{\"global\":{\"a\":3,\"b\":2}},"
     "\"global\":{\"a\":3,\"b\":2},\"x\":{}},\"z\":{\"global\":{}}}"},
    {"{a: null, sub: {b: null, c: {d: null, e: 1}}}", "{}", "[{name: sub}]",
     "{\"a\":null,\"sub\":{\"c\":{\"e\":1}}}"},
    {"{global: 5, sub: {a: 1}}", "{}", "[{name: sub}]", "{\"global\":5,\"sub\":{\"a\":1}}"},
};

static void values_override_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(merges); i++) {
        cleanup_json json_t *defaults = sample_doc(merges[i].defaults);
        cleanup_json json_t *values = sample_doc(merges[i].values);
        cleanup_json json_t *subcharts = sample_doc(merges[i].subcharts);
        cleanup_json json_t *merged = helm_merge_values(defaults, values, subcharts);
        cleanup_free char *text = doc_dump_sorted(merged);

        assert_string_equal(text, merges[i].merged);
    }
}

static void a_value_that_is_missing_is_named(void **state)
{
    cleanup_json json_t *document = sample_doc(
        "{name: app, namespace: apps, chart: {ref: 'r.example/a:1'}, exports: {exports: [{key: k, "
        "jsonPath: .Values.missing}]}}");
    cleanup_json json_t *seen = sample_doc("{Values: {}}");
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_manifest_config struct manifest_config *config =
        manifest_config_for_chart(document, &mistakes);
    json_t *exports = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(helm_value_exports(config, seen, &exports, &err), -1);
    assert_non_null(strstr(err.text, "export \"k\""));
    assert_non_null(strstr(err.text, ".Values.missing"));
}

static void fields_of_a_chart_begin_with_a_capital_letter(void **state)
{
    cleanup_json json_t *chart = sample_doc("{version: 1.2.3, appVersion: a, IsRoot: true}");
    cleanup_json json_t *fields = helm_chart_fields(chart);
    cleanup_free char *text = doc_dump_sorted(fields);

    (void)state;
    assert_string_equal(text, "{\"AppVersion\":\"a\",\"IsRoot\":true,\"Version\":\"1.2.3\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_override_defaults),
        cmocka_unit_test(a_value_that_is_missing_is_named),
        cmocka_unit_test(fields_of_a_chart_begin_with_a_capital_letter),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
