/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/manifest/status.h"
#include "deployer/tests/sample.h"

static void a_status_of_the_go_deployer_is_read_and_written_unchanged(void **state)
{
    cleanup_json json_t *document = sample_doc(
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: ["
        "{policy: manage, resource: {apiVersion: apiextensions.k8s.io/v1, kind: "
        "CustomResourceDefinition, name: things.example.com, uid: u1}},"
        "{policy: keep, resource: {apiVersion: v1, kind: Namespace, name: ns, uid: u2}},"
        "{policy: fallback, resource: {apiVersion: v1, kind: Secret, name: s, namespace: ns, uid: "
        "u3}, annotateBeforeDelete: {a: b}, patchBeforeDelete: {spec: {suspend: false}}}]}");
    cleanup_manifest_status struct manifest_status status = {0};
    cleanup_json json_t *written = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_status_parse(document, &status, &err), 0);
    assert_int_equal(status.inventory.count, 3);
    assert_true(status.inventory.entries[0].is_crd);
    assert_false(status.inventory.entries[1].is_namespaced);
    assert_int_equal(status.inventory.entries[1].policy, POLICY_KEEP);
    assert_true(status.inventory.entries[2].is_namespaced);
    assert_string_equal(status.inventory.entries[2].ref.uid, "u3");
    assert_null(status.cluster);
    written = manifest_status_document(&status.inventory, NULL);
    assert_true(json_equal(written, document));
}

static void the_old_version_is_flat_and_managed(void **state)
{
    cleanup_json json_t *document =
        sample_doc("{apiVersion: " MANIFEST_API_VERSION_OLD ", kind: ProviderStatus, "
                   "managedResources: [{apiVersion: v1, kind: Secret, name: s, namespace: ns}]}");
    cleanup_manifest_status struct manifest_status status = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_status_parse(document, &status, &err), 0);
    assert_int_equal(status.inventory.count, 1);
    assert_int_equal(status.inventory.entries[0].policy, POLICY_MANAGE);
    assert_null(status.inventory.entries[0].ref.uid);
}

static void our_additions_survive_and_are_dispensable(void **state)
{
    cleanup_json json_t *document = sample_doc(
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, longshore: {cluster: c0ffee},"
        " managedResources: [{policy: manage, resource: {apiVersion: v1, kind: Secret, name: s}, "
        "longshore: {finalizers: [a/b], ownerReferences: [{uid: x}]}}]}");
    cleanup_json json_t *damaged = sample_doc(
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, longshore: 5, "
        "managedResources: [{policy: manage, resource: {apiVersion: v1, kind: Secret, name: s}, "
        "longshore: {finalizers: a, ownerReferences: 5}}]}");
    cleanup_manifest_status struct manifest_status status = {0}, other = {0};
    cleanup_json json_t *written = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_status_parse(document, &status, &err), 0);
    assert_string_equal(status.cluster, "c0ffee");
    written = manifest_status_document(&status.inventory, status.cluster);
    assert_true(json_equal(written, document));
    assert_int_equal(manifest_status_parse(damaged, &other, &err), 0);
    assert_null(other.inventory.entries[0].own_finalizers);
}

static void no_status_and_an_empty_one_are_empty(void **state)
{
    static const char *const documents[] = {
        "null", "{}", "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus}"};

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_json json_t *document = sample_doc(documents[i]);
        cleanup_manifest_status struct manifest_status status = {0};
        struct error err = {0};

        assert_int_equal(manifest_status_parse(document, &status, &err), 0);
        assert_int_equal(status.inventory.count, 0);
    }
}

static void a_status_that_cannot_be_read_is_refused(void **state)
{
    static const struct {
        const char *document, *expected;
    } rows[] = {
        {"{apiVersion: other/v1, kind: ProviderStatus}", "apiVersion \"other/v1\""},
        {"{apiVersion: " MANIFEST_API_VERSION ", kind: Other}", "kind \"Other\""},
        {"{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: {}}",
         "managedResources"},
        {"{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: [5]}",
         "managedResources[0]"},
        {"{apiVersion: " MANIFEST_API_VERSION
         ", kind: ProviderStatus, managedResources: [{resource: {kind: Secret, name: a}}]}",
         "managedResources[0]"},
        {"{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: [{policy: "
         "wrong, resource: {apiVersion: v1, kind: Secret, name: a}}]}",
         "managedResources[0]"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *document = sample_doc(rows[i].document);
        cleanup_manifest_status struct manifest_status status = {0};
        struct error err = {0};

        assert_int_equal(manifest_status_parse(document, &status, &err), -1);
        if (!strstr(err.text, rows[i].expected))
            fail_msg("%s: %s", rows[i].document, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_of_the_go_deployer_is_read_and_written_unchanged),
        cmocka_unit_test(the_old_version_is_flat_and_managed),
        cmocka_unit_test(our_additions_survive_and_are_dispensable),
        cmocka_unit_test(no_status_and_an_empty_one_are_empty),
        cmocka_unit_test(a_status_that_cannot_be_read_is_refused),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
