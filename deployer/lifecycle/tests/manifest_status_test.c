/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/manifest_status.h"

static void a_status_is_written_only_if_something_changed(void **state)
{
    cleanup_json json_t *manifest = parse("{'metadata':{'generation':2}}");
    struct manifest_observation observation = {
        .manifest = manifest,
        .state = MODULE_READY,
        .operation = "done",
        .are_resources_parsed = true,
        .is_installed = true,
        .has_resource = true,
        .now_unix_ms = 1000,
    };
    cleanup_json json_t *first = manifest_status(&observation);
    cleanup_json json_t *second = NULL, *third = NULL;

    (void)state;
    assert_int_equal(json_array_size(doc_get(first, "conditions")), 3);
    assert_string_equal(doc_text(json_array_get(doc_get(first, "conditions"), 2), "status"),
                        "False");
    json_object_set(manifest, "status", first);
    observation.now_unix_ms = 9000;
    second = manifest_status(&observation);
    assert_true(json_equal(first, second));
    observation.is_resource_created = true;
    third = manifest_status(&observation);
    assert_string_equal(doc_text(third, "lastOperation.lastUpdateTime"), "1970-01-01T00:00:09Z");
    assert_string_equal(
        doc_text(json_array_get(doc_get(third, "conditions"), 0), "lastTransitionTime"),
        "1970-01-01T00:00:01Z");
}

static void the_list_of_objects_is_kept(void **state)
{
    cleanup_json json_t *manifest = parse("{'status':{'synced':[{'name':'a'}]}}");
    cleanup_json json_t *list = parse("[]");
    struct manifest_observation observation = {
        .manifest = manifest, .state = MODULE_PROCESSING, .operation = "waiting"};
    cleanup_json json_t *kept = manifest_status(&observation);
    cleanup_json json_t *replaced = NULL;

    (void)state;
    assert_int_equal(json_array_size(doc_get(kept, "synced")), 1);
    assert_int_equal(json_array_size(doc_get(kept, "conditions")), 2);
    observation.synced = list;
    replaced = manifest_status(&observation);
    assert_int_equal(json_array_size(doc_get(replaced, "synced")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_is_written_only_if_something_changed),
        cmocka_unit_test(the_list_of_objects_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
