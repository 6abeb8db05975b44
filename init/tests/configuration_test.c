/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/data/doc.h"
#include "init/configuration.h"

static const struct {
    const char *text, *imports; /* NULL: none */
} imports[] = {
    {"{}", NULL},
    {"{\"importValues\": {\"a\": 1}}", "{\"a\": 1}"},
    {"{\"importValues\":\"abc\"}", "\"abc\""},
    {"{\"importValues\": null}", "null"},
    {"{\"importValues\" : [1, {\"b\": \"}\\\"\"}] , \"x\": 1}", "[1, {\"b\": \"}\\\"\"}]"},
    {"{\"x\": {\"importValues\": 1}, \"importValues\": 2 }", "2"},
    {"{\"importValues\": 123456789012345678901234567890}", "123456789012345678901234567890"},
    {"{\"importValues\": 1.10}", "1.10"},
    {"{\"importValues\": \"a\\u0000b\"}", "\"a\\u0000b\""},
    {"\n { \"importValues\" :\ttrue\n}", "true"},
    {"importValues:\n  key: val1\n", "{\"key\":\"val1\"}"},
    {"importValues: abc", "\"abc\""},
    {"{\"apiVersion\": \"container.deployer.landscaper.gardener.cloud/v1alpha1\", \"kind\": "
     "\"ProviderConfiguration\", \"importValues\": 3}",
     "3"},
};

static void import_values_are_passed_on_verbatim(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(imports); i++) {
        cleanup_configuration struct configuration configuration = {0};
        struct error err = {0};

        print_message("%s\n", imports[i].text);
        if (configuration_parse(imports[i].text, strlen(imports[i].text), &configuration, &err) < 0)
            fail_msg("%s", err.text);
        if (imports[i].imports)
            assert_string_equal(configuration.import_values, imports[i].imports);
        else
            assert_null(configuration.import_values);
    }
}

static void a_reference_and_a_blueprint_are_read(void **state)
{
    static const char text[] =
        "{\"componentDescriptor\": {\"ref\": {\"repositoryContext\": {\"type\": \"ociRegistry\"}, "
        "\"componentName\": \"example.com/a\", \"version\": \"1.0.0\"}}, "
        "\"blueprint\": {\"ref\": {\"resourceName\": \"bp\"}}}";
    cleanup_configuration struct configuration configuration = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(configuration_parse(text, strlen(text), &configuration, &err), 0);
    assert_true(configuration.has_descriptor);
    assert_string_equal(configuration.component_name, "example.com/a");
    assert_string_equal(configuration.component_version, "1.0.0");
    assert_string_equal(doc_text(configuration.repository_context, "type"), "ociRegistry");
    assert_string_equal(configuration.resource_name, "bp");
    assert_null(configuration.inline_descriptor);
    assert_null(configuration.inline_blueprint);
}

static void inline_overrides_reference(void **state)
{
    static const char text[] =
        "{\"componentDescriptor\": {\"inline\": {\"a\": 1}, \"ref\": {}}, "
        "\"blueprint\": {\"inline\": {\"filesystem\": {\"x\": \"y\"}}, \"ref\": {}}}";
    cleanup_configuration struct configuration configuration = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(configuration_parse(text, strlen(text), &configuration, &err), 0);
    assert_non_null(configuration.inline_descriptor);
    assert_null(configuration.component_name);
    assert_non_null(configuration.inline_blueprint);
    assert_null(configuration.resource_name);
}

static const struct {
    const char *text, *why;
} wrong[] = {
    {"", "expected an object"},
    {"[]", "expected an object"},
    {"{\"a\": ]", "line 1"},
    {"{\"importValues\": {\"a\": ]}", "line 1"},
    {"{\"importValues\": 1, \"importValues\": 2}", "duplicate key"},
    {"{\"componentDescriptor\": {}}", "componentDescriptor: neither"},
    {"{\"componentDescriptor\": {\"ref\": {}}}", "componentDescriptor: ref: componentName"},
    {"{\"componentDescriptor\": {\"ref\": {\"componentName\": \"a\"}}}", "version"},
    {"{\"componentDescriptor\": {\"ref\": {\"componentName\": \"a\", \"version\": 1}}}",
     "version: expected a string"},
    {"{\"componentDescriptor\": {\"ref\": {\"componentName\": \"a\", \"version\": \"1\", "
     "\"repositoryContext\": []}}}",
     "repositoryContext: expected an object"},
    {"{\"apiVersion\": \"v1\", \"kind\": \"ProviderConfiguration\"}", "apiVersion: expected"},
    {"{\"apiVersion\": \"manifest.deployer.landscaper.gardener.cloud/v1alpha1\", \"kind\": "
     "\"ProviderConfiguration\"}",
     "found \"manifest.deployer.landscaper.gardener.cloud/v1alpha1\""},
    {"apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ConfigMap\n",
     "kind: expected \"ProviderConfiguration\", found \"ConfigMap\""},
    {"{\"kind\": 5}", "kind: expected a string"},
    {"{\"blueprint\": {}}", "blueprint: neither"},
    {"{\"blueprint\": {\"ref\": {}}}", "resourceName"},
    {"{\"blueprint\": {\"ref\": {\"resourceName\": \"x\"}}}", "componentDescriptor"},
};

static void invalid_configurations_name_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct configuration configuration = {0};
        struct error err = {0};

        print_message("%s\n", wrong[i].text);
        assert_int_equal(
            configuration_parse(wrong[i].text, strlen(wrong[i].text), &configuration, &err), -1);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("'%s' is not in '%s'", wrong[i].why, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_values_are_passed_on_verbatim),
        cmocka_unit_test(a_reference_and_a_blueprint_are_read),
        cmocka_unit_test(inline_overrides_reference),
        cmocka_unit_test(invalid_configurations_name_the_field),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
