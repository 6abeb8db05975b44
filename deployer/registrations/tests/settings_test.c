/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/settings.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

#define cleanup_settings __attribute__((cleanup(settings_done)))

static const char own[] = "namespace: deployers\n"
                          "clusterRole: mine\n"
                          "externalTypes: [example.com/a]\n"
                          "tokenSeconds: 3600\n"
                          "acceptance: manual\n";

/* As in the documentation of Landscaper v0.98, with our fields. */
static const char of_landscaper[] = "apiVersion: config.landscaper.gardener.cloud/v1alpha1\n"
                                    "kind: LandscaperConfiguration\n"
                                    "metrics: {port: 8080}\n"
                                    "deployerManagement:\n"
                                    "  disable: false\n"
                                    "  namespace: other\n"
                                    "  agent: {disable: true, name: default}\n"
                                    "  deployerRepositoryContext: {type: ociRegistry}\n";

static void both_forms_are_read(void **state)
{
    static const struct {
        const char *text, *namespace_name, *role;
        int64_t seconds;
        bool is_manual;
        size_t types, warnings;
    } cases[] = {
        {NULL, "ls-system", "landscaper:deployer", 7776000, false, 0, 0},
        {"{}", "ls-system", "landscaper:deployer", 7776000, false, 0, 0},
        {own, "deployers", "mine", 3600, true, 1, 0},
        {of_landscaper, "other", "landscaper:deployer", 7776000, false, 0, 2},
        {"kind: LandscaperConfiguration\nregistry: {}\n", "ls-system", "landscaper:deployer",
         7776000, false, 0, 0},
        {"namespaec: x\n", "ls-system", "landscaper:deployer", 7776000, false, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *document = cases[i].text ? sample_doc(cases[i].text) : NULL;
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_settings struct settings settings = {0};

        assert_int_equal(settings_parse(document, &settings, &mistakes), 0);
        assert_string_equal(settings.namespace_name, cases[i].namespace_name);
        assert_string_equal(settings.role, cases[i].role);
        assert_int_equal(settings.token_seconds, cases[i].seconds);
        assert_int_equal(settings.is_acceptance_manual, cases[i].is_manual);
        assert_int_equal(json_array_size(settings.external_types), cases[i].types);
        assert_int_equal(mistakes.count, cases[i].warnings);
    }
}

static void mistakes_name_the_field(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "expected an object"},
        {"tokenSeconds: 5\n", "tokenSeconds"},
        {"acceptance: never\n", "acceptance"},
        {"externalTypes: x\n", "externalTypes"},
        {"disable: true\n", "disable: Forbidden"},
        {"deployerManagement: {namespace: 5}\n", "deployerManagement.namespace"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *document = sample_doc(cases[i].text);
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_settings struct settings settings = {0};
        cleanup_free char *text = NULL;

        assert_int_equal(settings_parse(document, &settings, &mistakes), -1);
        text = mistakes_text(&mistakes);
        assert_non_null(strstr(text, cases[i].message));
    }
}

static void options_replace_fields(void **state)
{
    const struct registrations_values values = {.namespace_name = "a",
                                                .external_types = "x/y,z/w",
                                                .token_seconds = "700",
                                                .acceptance = "manual"};
    const struct registrations_values wrong = {.token_seconds = "1h"};
    const struct registrations_values absent = {.config = "/does/not/exist"};
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_settings struct settings settings = {0};
    cleanup_settings struct settings unused = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(settings_read(&values, &settings, &mistakes, &err), 0);
    assert_string_equal(settings.namespace_name, "a");
    assert_string_equal(settings.role, "landscaper:deployer");
    assert_int_equal(json_array_size(settings.external_types), 2);
    assert_int_equal(settings.token_seconds, 700);
    assert_true(settings.is_acceptance_manual);
    assert_int_equal(settings_read(&wrong, &unused, &mistakes, &err), -1);
    assert_non_null(strstr(err.text, "--token-seconds"));
    assert_int_equal(settings_read(&absent, &unused, &mistakes, &err), -1);
    assert_non_null(strstr(err.text, "/does/not/exist"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_read),
        cmocka_unit_test(mistakes_name_the_field),
        cmocka_unit_test(options_replace_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
