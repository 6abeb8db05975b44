/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/controller/export.h"
#include "deployer/tests/sample.h"

/* A pod of 10:00:00 by the API server's clock, whose node is half a minute behind or ahead. */
static const char *const pods[] = {
    "{metadata: {uid: u, creationTimestamp: '2026-01-07T10:00:00Z'}, status: {startTime: "
    "'2026-01-07T09:59:30Z'}}",
    "{metadata: {uid: u, creationTimestamp: '2026-01-07T10:00:00Z'}, status: {startTime: "
    "'2026-01-07T10:00:30Z'}}",
};

#define OURS "longshore.container.deployer.landscaper.gardener.cloud/"
#define NAME "container.deployer.landscaper.gardener.cloud/name"

static const struct {
    const char *metadata;
    bool is_taken;
} exports[] = {
    /* Ours say whose they are, whenever they were written. */
    {"annotations: {" OURS "job: j, " OURS "pod-uid: u}", true},
    {"annotations: {" OURS "job: j, " OURS "pod-uid: other}", false},
    {"annotations: {" OURS "job: j}", false},
    {"annotations: {" OURS "job: i, " OURS "pod-uid: u}", false},
    /* Go's were written at some time. */
    {"creationTimestamp: '2026-01-07T09:00:00Z'", false},
    {"creationTimestamp: '2026-01-07T09:59:45Z'", false},
    {"creationTimestamp: '2026-01-07T10:00:00Z'", false},
    {"creationTimestamp: '2026-01-07T10:00:01Z'", true},
    {"creationTimestamp: '2026-01-07T09:00:00Z', managedFields: [{time: '2026-01-07T10:00:01Z'}, "
     "{time: '2026-01-07T09:00:00Z'}]",
     true},
    {"creationTimestamp: '2026-01-07T09:00:00Z', managedFields: [{time: '2026-01-07T10:00:00Z'}]",
     false},
    {"creationTimestamp: '2026-01-07T10:00:01Z', labels: {" NAME ": item}", true},
    {"creationTimestamp: '2026-01-07T10:00:01Z', labels: {" NAME ": other}", false},
    {"creationTimestamp: soon", false},
    {"", false},
};

static void an_export_is_taken_only_from_the_pod_whatever_its_nodes_clock_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(exports) * array_length(pods); i++) {
        size_t row = i / array_length(pods);
        cleanup_free char *text =
            xasprintf("{metadata: {%s}, data: {config: x}}", exports[row].metadata);
        cleanup_json json_t *export = sample_doc(text);
        cleanup_json json_t *pod = sample_doc(pods[i % array_length(pods)]);

        if (export_is_of(export, pod, "j", "item") != exports[row].is_taken)
            fail_msg("%s", exports[row].metadata);
    }
}

static void an_export_without_data_and_a_pod_without_a_time_are_no_match(void **state)
{
    cleanup_json json_t *pod = sample_doc(pods[0]);
    cleanup_json json_t *timeless = sample_doc("{metadata: {uid: u}}");
    cleanup_json json_t *bare =
        sample_doc("{metadata: {creationTimestamp: '2026-01-07T10:00:01Z'}}");
    cleanup_json json_t *full =
        sample_doc("{metadata: {creationTimestamp: '2026-01-07T10:00:01Z'}, data: {config: x}}");

    (void)state;
    assert_false(export_is_of(bare, pod, "j", "item"));
    assert_false(export_is_of(full, timeless, "j", "item"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_export_is_taken_only_from_the_pod_whatever_its_nodes_clock_says),
        cmocka_unit_test(an_export_without_data_and_a_pod_without_a_time_are_no_match),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
