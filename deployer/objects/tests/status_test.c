/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/objects/status.h"
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
    written = manifest_status_document(&status.inventory, NULL, NULL);
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
    written = manifest_status_document(&status.inventory, status.cluster, status.late);
    assert_true(json_equal(written, document));
    assert_int_equal(manifest_status_parse(damaged, &other, &err), 0);
    assert_null(other.inventory.entries[0].own_finalizers);
}

static void no_status_and_an_empty_one_are_empty(void **state)
{
    static const char *const documents[] = {
        "null",
        "{}",
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus}",
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: null}",
        "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: []}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_json json_t *document = sample_doc(documents[i]);
        cleanup_manifest_status struct manifest_status status = {0};
        struct error err = {0};

        assert_int_equal(manifest_status_parse(document, &status, &err), 0);
        assert_int_equal(status.inventory.count, 0);
    }
}

/* A merge patch, with which the status is written, cannot store null; and the API server returns
 * 1.0 as 1. */
static void a_patch_survives_the_way_to_the_server_and_back(void **state)
{
    static const struct {
        const char *patch, *stored; /* NULL: absent */
    } rows[] = {
        {"{metadata: {finalizers: null}}", "{metadata: {}}"},
        {"{data: null}", NULL},
        {"{spec: {list: [null, {a: null, b: 1}], replicas: 2.0, share: 0.5}}",
         "{spec: {list: [{b: 1}], replicas: 2, share: 0.5}}"},
        {"{spec: {suspend: false}}", "{spec: {suspend: false}}"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *patch = sample_doc(rows[i].patch);
        cleanup_json json_t *stored = rows[i].stored ? sample_doc(rows[i].stored) : NULL;
        cleanup_json json_t *document =
            sample_doc("{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, "
                       "managedResources: [{policy: manage, resource: {apiVersion: v1, kind: "
                       "Secret, name: s}}]}");
        json_t *entry = json_array_get(json_object_get(document, "managedResources"), 0);
        cleanup_manifest_status struct manifest_status first = {0}, second = {0}, third = {0};
        cleanup_json json_t *written = NULL;
        cleanup_json json_t *again = NULL;
        const json_t *kept = NULL;
        struct error err = {0};

        /* As the Go deployer stores it. */
        (void)json_object_set(entry, "patchBeforeDelete", patch);
        assert_int_equal(manifest_status_parse(document, &first, &err), 0);
        written = manifest_status_document(&first.inventory, NULL, NULL);
        entry = json_array_get(json_object_get(written, "managedResources"), 0);
        kept = json_object_get(entry, "patchBeforeDelete");
        assert_true(stored ? json_equal(kept, stored) : !kept);
        /* Nothing is lost in our own memory. */
        assert_int_equal(manifest_status_parse(written, &second, &err), 0);
        assert_true(json_equal(second.inventory.entries[0].patch_before_delete, patch));
        again = manifest_status_document(&second.inventory, NULL, NULL);
        assert_true(json_equal(again, written));
        /* The Go deployer has stored another one. */
        (void)json_object_set_new(entry, "patchBeforeDelete", sample_doc("{x: other}"));
        assert_int_equal(manifest_status_parse(written, &third, &err), 0);
        assert_string_equal(doc_text(third.inventory.entries[0].patch_before_delete, "x"), "other");
    }
}

static void a_policy_that_go_stored_unchecked_means_manage(void **state)
{
    static const char *const policies[] = {"Keep", "", "delete"};

    (void)state;
    for (size_t i = 0; i < array_length(policies); i++) {
        cleanup_json json_t *document = sample_doc(
            "{apiVersion: " MANIFEST_API_VERSION ", kind: ProviderStatus, managedResources: [{"
            "policy: '', resource: {apiVersion: v1, kind: Secret, name: s, namespace: ns}}]}");
        cleanup_manifest_status struct manifest_status status = {0};
        cleanup_json json_t *written = NULL;
        struct error err = {0};

        doc_set_text(json_array_get(doc_writable(doc_member(document, "managedResources")), 0),
                     "policy", policies[i]);
        assert_int_equal(manifest_status_parse(document, &status, &err), 0);
        assert_int_equal(status.inventory.entries[0].policy, POLICY_MANAGE);
        written = manifest_status_document(&status.inventory, NULL, NULL);
        assert_string_equal(
            doc_text(json_array_get(doc_member(written, "managedResources"), 0), "policy"),
            "manage");
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
         "5, resource: {apiVersion: v1, kind: Secret, name: a}}]}",
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

static void what_is_known_of_late_changes_survives_a_job(void **state)
{
    struct late_memory memory = {
        .change = "0123456789abcdef", .triggered_unix_ms = 1000, .streak = 2, .is_pending = true};
    cleanup_json json_t *item = json_object();
    cleanup_manifest_status struct manifest_status status = {0};
    cleanup_json json_t *again = NULL;
    struct late_memory found = {0};
    struct error err = {0};

    (void)state;
    doc_set_new(item, "providerStatus", manifest_status_document(&status.inventory, "c", NULL));
    manifest_status_set_late(item, &memory, "job");
    assert_int_equal(manifest_status_parse(json_object_get(item, "providerStatus"), &status, &err),
                     0);
    again = manifest_status_document(&status.inventory, status.cluster, status.late);
    assert_true(json_equal(again, json_object_get(item, "providerStatus")));
    found = manifest_status_late(again, "job");
    assert_memory_equal(&found.change, &memory.change, sizeof(memory.change));
    assert_int_equal(found.triggered_unix_ms, 1000);
    assert_int_equal(found.streak, 2);
    assert_true(found.is_pending);
    /* A job has begun since: the trigger was sent, or is not needed any more. */
    assert_false(manifest_status_late(again, "other").is_pending);
    assert_int_equal(manifest_status_late(NULL, "job").triggered_unix_ms, 0);
    /* Without a trigger there is nothing to be stored. */
    manifest_status_set_late(item, &(struct late_memory){0}, "job");
    assert_true(json_equal(again, json_object_get(item, "providerStatus")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_of_the_go_deployer_is_read_and_written_unchanged),
        cmocka_unit_test(the_old_version_is_flat_and_managed),
        cmocka_unit_test(our_additions_survive_and_are_dispensable),
        cmocka_unit_test(no_status_and_an_empty_one_are_empty),
        cmocka_unit_test(a_patch_survives_the_way_to_the_server_and_back),
        cmocka_unit_test(a_policy_that_go_stored_unchecked_means_manage),
        cmocka_unit_test(a_status_that_cannot_be_read_is_refused),
        cmocka_unit_test(what_is_known_of_late_changes_survives_a_job),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
