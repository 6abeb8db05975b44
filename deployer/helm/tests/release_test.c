/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/data/base64.h"
#include "deployer/helm/release.h"
#include "deployer/tests/sample.h"

static const char plain[] =
    "{\"name\": \"app\", \"namespace\": \"apps\", \"version\": 3, \"config\": {\"a\": {\"b\": 2}},"
    " \"chart\": {\"metadata\": {\"name\": \"app\", \"version\": \"1.0.0\"}, \"values\": {\"a\": "
    "{\"b\": 1, \"c\": 1}}, \"templates\": [{\"data\": \"not read\"}]},"
    " \"manifest\": \"---\\n# Source: a\\napiVersion: apps/v1\\nkind: Deployment\\nmetadata: "
    "{name: "
    "d}\\n---\\napiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: c}\\n---\\napiVersion: v1\\n"
    "kind: List\\nitems:\\n- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: "
    "other}}\\n\"}";

/* {"a":1}, gzipped without a time. */
static const unsigned char gzipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                        0xff, 0xab, 0x56, 0x4a, 0x54, 0xb2, 0x32, 0xac, 0x05,
                                        0x00, 0xaf, 0xac, 0x1b, 0x56, 0x07, 0x00, 0x00, 0x00};

static json_t *secret_of(const void *bytes, size_t size)
{
    cleanup_free char *once = base64_encode(bytes, size);
    cleanup_free char *twice = base64_encode(once, strlen(once));

    return json_pack("{s:{s:s},s:{s:s}}", "metadata", "name", "sh.helm.release.v1.app.v3", "data",
                     "release", twice);
}

static void objects_and_values_are_read_from_a_release(void **state)
{
    cleanup_json json_t *secret = secret_of(plain, strlen(plain));
    cleanup_json json_t *release = NULL;
    cleanup_json json_t *values = NULL;
    cleanup_inventory struct inventory objects = {0};
    cleanup_free char *text = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(helm_release_parse(secret, &release, &err), 0);
    assert_int_equal(helm_release_objects(release, &objects, &err), 0);
    assert_int_equal(objects.count, 2);
    assert_string_equal(objects.entries[0].ref.kind, "Deployment");
    assert_string_equal(objects.entries[0].ref.namespace_name, "apps");
    assert_string_equal(objects.entries[1].ref.namespace_name, "other");
    values = helm_release_values(release);
    text = doc_dump_sorted(values);
    assert_string_equal(text, "{\"Chart\":{\"Name\":\"app\",\"Version\":\"1.0.0\"},\"Release\":{"
                              "\"Name\":\"app\",\"Namespace\":\"apps\",\"Revision\":3,\"Service\":"
                              "\"Helm\"},\"Values\":{\"a\":{\"b\":2,\"c\":1}}}");
}

/* helm applies such manifests: the job must not fail afterwards. */
static void duplicate_keys_of_a_manifest_count_as_for_helm(void **state)
{
    static const char *const manifests[] = {
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: first\n  labels: {app: a, app: "
        "b}\n"
        "  name: last\n",
        "{\"apiVersion\": \"apps/v1\", \"kind\": \"Pod\", \"kind\": \"Deployment\","
        " \"metadata\": {\"name\": \"last\"}}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(manifests); i++) {
        cleanup_json json_t *release = json_pack("{s:s}", "manifest", manifests[i]);
        cleanup_inventory struct inventory objects = {0};
        struct error err = {0};

        if (helm_release_objects(release, &objects, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(objects.count, 1);
        assert_string_equal(objects.entries[0].ref.kind, "Deployment");
        assert_string_equal(objects.entries[0].ref.name, "last");
    }
}

static void a_release_may_be_packed(void **state)
{
    cleanup_json json_t *secret = secret_of(gzipped, sizeof(gzipped));
    cleanup_json json_t *release = NULL;
    struct error err = {0};

    (void)state;
    if (helm_release_parse(secret, &release, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(doc_integer_or(release, "a", 0), 1);
}

static void damage_is_reported_without_content(void **state)
{
    static const char *const secrets[] = {
        "{metadata: {name: s}}", "{metadata: {name: s}, data: {release: '%%%'}}",
        "{metadata: {name: s}, data: {release: 'bm90LWJhc2U2NCE='}}", /* not-base64! */
        "{metadata: {name: s}, data: {release: 'Y0dGemMzZHZjbVE9'}}", /* not JSON */
    };

    (void)state;
    for (size_t i = 0; i < array_length(secrets); i++) {
        cleanup_json json_t *secret = sample_doc(secrets[i]);
        json_t *release = NULL;
        struct error err = {0};

        assert_int_equal(helm_release_parse(secret, &release, &err), -1);
        assert_non_null(strstr(err.text, "\"s\""));
        assert_null(strstr(err.text, "password"));
    }
}

#define REVISION(version_, status_)                                                                \
    "{metadata: {labels: {version: '" version_ "', status: " status_ "}}}"

static void the_highest_revision_is_the_newest(void **state)
{
    cleanup_json json_t *secrets = sample_doc("[" REVISION("9", "superseded") ", " REVISION(
        "10", "pending-upgrade") ", " REVISION("2", "deployed") "]");
    cleanup_json json_t *empty = json_array();
    cleanup_free char *all = helm_release_selector("app", false);
    cleanup_free char *deployed = helm_release_selector("app", true);
    const json_t *newest = helm_release_newest(secrets);

    (void)state;
    assert_string_equal(doc_text(newest, "metadata.labels.version"), "10");
    assert_true(helm_release_is_pending(newest));
    assert_false(helm_release_is_pending(json_array_get(secrets, 2)));
    assert_null(helm_release_newest(empty));
    assert_string_equal(all, "owner=helm,name=app");
    assert_string_equal(deployed, "owner=helm,name=app,status=deployed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_revision_is_the_newest),
        cmocka_unit_test(objects_and_values_are_read_from_a_release),
        cmocka_unit_test(duplicate_keys_of_a_manifest_count_as_for_helm),
        cmocka_unit_test(a_release_may_be_packed),
        cmocka_unit_test(damage_is_reported_without_content),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
