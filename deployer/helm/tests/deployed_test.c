/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/helm/deployed.h"
#include "deployer/tests/sample.h"

#define RENDER "{helmDeployment: false}"
#define RELEASE "{helmDeployment: true}"
#define APPLIED "{managedResources: [{resource: {kind: a}}, {resource: {kind: b, uid: u}}]}"
#define RECORDED "{managedResources: [{policy: manage, resource: {kind: a}}]}"
#define INSTALLED                                                                                  \
    "{release: {name: app, namespace: apps}, managedResources: [{resource: {kind: a}}]}"

static void what_was_deployed_decides_on_the_deletion_and_on_changes(void **state)
{
    static const struct {
        const char *config, *status;
        bool is_uninstall, is_refused;
    } cases[] = {
        {RENDER, "null", false, false},
        {RELEASE, "null", true, false},
        {"{}", "null", true, false},
        {"null", "null", false, false},
        {RENDER, APPLIED, false, false},
        {RELEASE, APPLIED, false, true},
        {"{}", APPLIED, false, true},
        {"null", APPLIED, false, true},
        {RENDER, RECORDED, false, false},
        {RELEASE, RECORDED, true, false},
        {RENDER, INSTALLED, true, true},
        {RELEASE, INSTALLED, true, false},
        {"null", INSTALLED, true, false},
        {"{helmDeployment: 5}", APPLIED, false, true},
        {RELEASE, "{release: 5}", true, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *config = sample_doc(cases[i].config);
        cleanup_json json_t *status = sample_doc(cases[i].status);
        const json_t *given = json_is_null(config) ? NULL : config;
        struct error err = {0};

        print_message("%s %s\n", cases[i].config, cases[i].status);
        assert_int_equal(helm_is_uninstall(given, status), cases[i].is_uninstall);
        assert_int_equal(helm_check_deployed(given, status, &err), cases[i].is_refused ? -1 : 0);
        if (cases[i].is_refused)
            assert_non_null(strstr(err.text, "change it back"));
    }
}

static void a_release_is_uninstalled_whatever_the_configuration_says(void **state)
{
    static const struct {
        const char *config, *uninstall;
    } cases[] = {
        {"{name: other, helmDeployment: false, chart: 5}", "{wait: false}"},
        {"{helmDeploymentConfig: {uninstall: {wait: true, timeout: 3m, other: 1}}}",
         "{wait: true, timeout: 3m}"},
        {"{helmDeploymentConfig: {uninstall: {wait: 1, timeout: soon}}}", "{wait: false}"},
        {"{helmDeploymentConfig: {uninstall: {timeout: 1ms}}}", "{wait: false}"},
        {"null", "{wait: false}"},
    };
    cleanup_json json_t *status = sample_doc(INSTALLED);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *config = sample_doc(cases[i].config);
        cleanup_json json_t *wanted = sample_doc(cases[i].uninstall);
        cleanup_json json_t *made = helm_uninstall_config(config, status);

        print_message("%s\n", cases[i].config);
        assert_string_equal(doc_text(made, "name"), "app");
        assert_string_equal(doc_text(made, "namespace"), "apps");
        assert_true(doc_bool_or(made, "helmDeployment", false));
        assert_true(json_equal(doc_get(made, "helmDeploymentConfig.uninstall"), wanted));
    }
    assert_null(helm_uninstall_config(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_deployed_decides_on_the_deletion_and_on_changes),
        cmocka_unit_test(a_release_is_uninstalled_whatever_the_configuration_says),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
