/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "wait/secrets.h"

#define LONG_60 "a23456789-a23456789-a23456789-a23456789-a23456789-a23456789"
#define LONG_240 LONG_60 "." LONG_60 "." LONG_60 "." LONG_60

static const struct origin origin = {
    .item_name = "item",
    .item_namespace = "ns",
    .job = "job-1",
    .pod_uid = "uid-1",
    .sequence = 1700000000,
};

static const char *label(const json_t *secret, const char *key)
{
    return json_string_value(doc_member(doc_get(secret, "metadata.labels"), key));
}

static const char *annotation(const json_t *secret, const char *key)
{
    return json_string_value(doc_member(doc_get(secret, "metadata.annotations"), key));
}

static void names_follow_the_contract_if_they_fit(void **state)
{
    cleanup_free char *prefix = secret_state_prefix(NULL, "ns", "item");
    cleanup_free char *given = secret_state_prefix("state-x-", "ns", "item");
    cleanup_free char *export_name = secret_export_name("ns", "item");
    cleanup_free char *selector = secret_state_selector("ns", "item");

    (void)state;
    assert_string_equal(prefix, "state-ns-item");
    assert_string_equal(given, "state-x");
    assert_string_equal(export_name, "ns-item-export");
    assert_string_equal(selector,
                        LABEL_ITEM_NAME "=item," LABEL_ITEM_NAMESPACE "=ns," LABEL_TYPE "=state");
}

static void long_names_are_shortened_and_stay_different(void **state)
{
    cleanup_free char *one = secret_export_name("ns", LONG_240 "1");
    cleanup_free char *other = secret_export_name("ns", LONG_240 "2");
    cleanup_free char *prefix = secret_state_prefix(NULL, "ns", LONG_240);
    cleanup_free char *chunk =
        xasprintf("%s-123e4567-e89b-42d3-a456-426614174000-%d", prefix, 9999);

    (void)state;
    assert_true(strlen(one) <= NAME_MAX_SUBDOMAIN);
    assert_true(name_is_dns_subdomain(one));
    assert_string_not_equal(one, other);
    assert_true(strlen(chunk) <= NAME_MAX_SUBDOMAIN);
    assert_true(name_is_dns_subdomain(chunk));
}

static void a_chunk_has_the_metadata_of_go_and_ours(void **state)
{
    const struct state_summary summary = {
        .sha256 = "00ff", .packed_bytes = 5, .files = 1, .bytes = 3, .chunk_count = 2};
    const struct generation generation = {
        .origin = &origin, .summary = &summary, .uuid = "123e4567-e89b-42d3-a456-426614174000"};
    cleanup_json json_t *secret = secret_state_chunk("state-ns-item", &generation, 1, "hello", 5);

    (void)state;
    assert_string_equal(doc_text(secret, "metadata.name"),
                        "state-ns-item-123e4567-e89b-42d3-a456-426614174000-1");
    assert_string_equal(doc_text(secret, "type"), SECRET_TYPE_OPAQUE);
    assert_string_equal(doc_text(secret, "data.config"), "aGVsbG8=");
    assert_string_equal(label(secret, LABEL_ITEM_NAME), "item");
    assert_string_equal(label(secret, LABEL_ITEM_NAMESPACE), "ns");
    assert_string_equal(label(secret, LABEL_TYPE), LABEL_TYPE_STATE);
    assert_int_equal(strlen(label(secret, LABEL_ITEM_HASH)), NAME_HASH_SIZE - 1);
    assert_null(label(secret, LABEL_ROLE)); /* state outlives the run */
    assert_string_equal(annotation(secret, ANNOTATION_STATE_UUID), generation.uuid);
    assert_string_equal(annotation(secret, ANNOTATION_STATE_NUMBER), "1");
    assert_string_equal(annotation(secret, ANNOTATION_STATE_CHUNKS), "2");
    assert_string_equal(annotation(secret, ANNOTATION_STATE_SHA256), "00ff");
    assert_string_equal(annotation(secret, ANNOTATION_STATE_SEQUENCE), "1700000000");
    assert_string_equal(annotation(secret, ANNOTATION_JOB), "job-1");
    assert_string_equal(annotation(secret, ANNOTATION_POD_UID), "uid-1");
    assert_string_equal(annotation(secret, ANNOTATION_ITEM_NAME), "item");
    assert_string_equal(annotation(secret, ANNOTATION_ITEM_NAMESPACE), "ns");
}

static void a_new_export_names_job_and_pod(void **state)
{
    cleanup_json json_t *secret = secret_export("ns-item-export", NULL, &origin, "{}", 2);

    (void)state;
    assert_string_equal(doc_text(secret, "metadata.name"), "ns-item-export");
    assert_string_equal(doc_text(secret, "data.config"), "e30=");
    assert_string_equal(label(secret, LABEL_NAME), "item");
    assert_string_equal(label(secret, LABEL_ROLE), LABEL_ROLE_RUN);
    assert_string_equal(label(secret, LABEL_ITEM_NAME), "item");
    assert_string_equal(annotation(secret, ANNOTATION_JOB), "job-1");
    assert_string_equal(annotation(secret, ANNOTATION_POD_UID), "uid-1");
    assert_string_equal(annotation(secret, ANNOTATION_STATE_SEQUENCE), "1700000000");
    assert_string_equal(doc_text(secret, "type"), SECRET_TYPE_OPAQUE);
}

static void an_old_export_keeps_foreign_metadata_only(void **state)
{
    const struct origin no_pod = {
        .item_name = "item", .item_namespace = "ns", .job = "", .pod_uid = "", .sequence = 5};
    cleanup_json json_t *existing =
        json_pack("{s:{s:s, s:s, s:[], s:{s:s}, s:{s:s, s:s}}, s:{s:s, s:s}, s:s}", "metadata",
                  "name", "x", "resourceVersion", "77", "managedFields", "labels", "mine", "kept",
                  "annotations", ANNOTATION_JOB, "old", ANNOTATION_POD_UID, "old", "data", "config",
                  "b2xk", "more", "b2xk", "type", "Other");
    cleanup_json json_t *secret = secret_export("x", existing, &no_pod, "", 0);

    (void)state;
    assert_string_equal(doc_text(secret, "metadata.resourceVersion"), "77");
    assert_string_equal(label(secret, "mine"), "kept");
    assert_string_equal(doc_text(secret, "type"), "Other");
    assert_string_equal(doc_text(secret, "data.config"), "");
    assert_int_equal(json_object_size(doc_get(secret, "data")), 1);
    assert_null(annotation(secret, ANNOTATION_JOB));
    assert_null(annotation(secret, ANNOTATION_POD_UID));
    assert_string_equal(doc_text(existing, "data.config"), "b2xk");
}

static void a_report_is_an_object_of_the_run_without_data(void **state)
{
    struct save_progress progress = {.stored = 2, .chunks = 3};
    cleanup_json json_t *saving = secret_report("r", &origin, &progress);
    cleanup_json json_t *saved = NULL;

    (void)state;
    progress.is_done = true;
    progress.duration_ms = 1500;
    saved = secret_report("r", &origin, &progress);
    assert_string_equal(doc_text(saving, "metadata.name"), "r");
    assert_null(doc_get(saving, "data"));
    assert_string_equal(label(saving, LABEL_ROLE), LABEL_ROLE_RUN);
    assert_string_equal(label(saving, LABEL_ITEM_NAME), "item");
    assert_null(label(saving, LABEL_TYPE)); /* the Go deployer would take it for state */
    assert_string_equal(annotation(saving, ANNOTATION_POD_UID), "uid-1");
    assert_string_equal(annotation(saving, ANNOTATION_SNAPSHOT), SNAPSHOT_SAVING);
    assert_string_equal(annotation(saving, ANNOTATION_STATE_CHUNKS), "3");
    assert_string_equal(annotation(saving, ANNOTATION_CHUNKS_STORED), "2");
    assert_string_equal(annotation(saved, ANNOTATION_SNAPSHOT), SNAPSHOT_SAVED);
    assert_string_equal(annotation(saved, ANNOTATION_MILLISECONDS), "1500");
}

static const struct {
    const char *sequence; /* of the Secret; NULL: written by Go */
    bool is_newer;
} ages[] = {
    {NULL, false},         {"0", false},           {"1699999999", false},
    {"1700000000", false}, {"1700000001", true},   {"9223372036854775807", true},
    {"nonsense", false},   {"1700000001x", false}, {"99999999999999999999", false},
};

static void only_a_higher_sequence_is_newer(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(ages); i++) {
        cleanup_json json_t *secret = json_pack("{s:{s:{}}}", "metadata", "annotations");

        if (ages[i].sequence)
            (void)json_object_set_new(
                json_object_get(json_object_get(secret, "metadata"), "annotations"),
                ANNOTATION_STATE_SEQUENCE, json_string(ages[i].sequence));
        assert_int_equal(secret_export_is_newer(secret, &origin), ages[i].is_newer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_contract_if_they_fit),
        cmocka_unit_test(long_names_are_shortened_and_stay_different),
        cmocka_unit_test(a_chunk_has_the_metadata_of_go_and_ours),
        cmocka_unit_test(a_new_export_names_job_and_pod),
        cmocka_unit_test(an_old_export_keeps_foreign_metadata_only),
        cmocka_unit_test(a_report_is_an_object_of_the_run_without_data),
        cmocka_unit_test(only_a_higher_sequence_is_newer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
