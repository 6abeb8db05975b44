/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deployer/diff/view.h"
#include "deployer/tests/sample.h"

static char *diff_of(const char *before, const char *after)
{
    cleanup_json json_t *old = before ? sample_doc(before) : NULL;
    cleanup_json json_t *new = after ? sample_doc(after) : NULL;

    return view_diff(old, new);
}

static void differences_are_yaml_without_noise(void **state)
{
    static const struct {
        const char *before, *after, *expected;
    } rows[] = {
        /* Metadata that changes with every write is not shown. */
        {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: '1', "
         "generation: 1, creationTimestamp: t, managedFields: [{manager: x}]}, data: {a: '1'}}",
         "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: '2', "
         "generation: 2, creationTimestamp: t, managedFields: []}, data: {a: '2'}}",
         "@@ -3,4 +3,4 @@\n metadata:\n   name: a\n data:\n-  a: \"1\"\n+  a: \"2\"\n"},
        {"{kind: A, metadata: {name: a, uid: u}}", "{kind: A, metadata: {name: a, uid: v}}", ""},
        {NULL, "{kind: A, metadata: {name: a, uid: u}, status: {x: 1}}",
         "@@ -0,0 +1,3 @@\n+kind: A\n+metadata:\n+  name: a\n"},
        {"{kind: A, metadata: {name: a}, status: {x: 1}}", NULL,
         "@@ -1,3 +0,0 @@\n-kind: A\n-metadata:\n-  name: a\n"},
        {"{kind: A, status: {x: 1}}", "{kind: A}", "@@ -1,3 +1 @@\n kind: A\n-status:\n-  x: 1\n"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_free char *diff = diff_of(rows[i].before, rows[i].after);

        assert_string_equal(diff, rows[i].expected);
    }
}

static void values_of_secrets_are_masked(void **state)
{
    cleanup_free char *changed = diff_of(
        "{apiVersion: v1, kind: Secret, data: {gone: c2VjcmV0MQ==, same: c2VjcmV0Mg==, other: "
        "c2VjcmV0Mw==}, metadata: {annotations: "
        "{kubectl.kubernetes.io/last-applied-configuration: c2VjcmV0NA==}}}",
        "{apiVersion: v1, kind: Secret, data: {same: c2VjcmV0Mg==, other: c2VjcmV0NQ==, new: "
        "c2VjcmV0Ng==}, metadata: {annotations: "
        "{kubectl.kubernetes.io/last-applied-configuration: c2VjcmV0Nw==}}}");
    cleanup_free char *created = diff_of(
        NULL, "{apiVersion: v1, kind: Secret, stringData: {a: secret}, data: {b: c2VjcmV0}}");
    cleanup_free char *deleted =
        diff_of("{apiVersion: v1, kind: Secret, data: {b: c2VjcmV0}}", NULL);
    cleanup_free char *same = diff_of("{apiVersion: v1, kind: Secret, data: {b: c2VjcmV0}}",
                                      "{apiVersion: v1, kind: Secret, data: {b: c2VjcmV0}}");

    (void)state;
    assert_null(strstr(changed, "c2VjcmV0"));
    assert_non_null(strstr(changed, "\n-  gone: \"***\"\n"));
    assert_non_null(strstr(changed, "\n   same: \"***\"\n"));
    assert_non_null(strstr(changed, "\n-  other: \"*** (before)\"\n"));
    assert_non_null(strstr(changed, "\n+  other: \"*** (after)\"\n"));
    assert_non_null(strstr(changed, "\n+  new: \"***\"\n"));
    assert_non_null(strstr(changed, "last-applied-configuration: \"*** (after)\"\n"));
    assert_null(strstr(created, "secret"));
    assert_null(strstr(created, "c2VjcmV0"));
    assert_non_null(strstr(created, "+  b: \"***\"\n"));
    assert_null(strstr(deleted, "c2VjcmV0"));
    assert_string_equal(same, "");
}

/* Only those of Secrets: a ConfigMap is not the place for secrets. */
static void values_of_other_kinds_are_shown(void **state)
{
    cleanup_free char *diff =
        diff_of(NULL, "{apiVersion: example.com/v1, kind: Secret, data: {a: visible}}");

    (void)state;
    assert_non_null(strstr(diff, "a: visible"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_yaml_without_noise),
        cmocka_unit_test(values_of_secrets_are_masked),
        cmocka_unit_test(values_of_other_kinds_are_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
