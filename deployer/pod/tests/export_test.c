/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/pod/export.h"
#include "deployer/tests/sample.h"

/* The pod was created at 10:00:00 by the clock of the API server; the clock of its node is half a
 * minute behind or ahead. */
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
    /* Our exports name their pod, so their time does not matter. */
    {"annotations: {" OURS "job: j, " OURS "pod-uid: u}", true},
    {"annotations: {" OURS "job: j, " OURS "pod-uid: other}", false},
    {"annotations: {" OURS "job: j}", false},
    {"annotations: {" OURS "job: i, " OURS "pod-uid: u}", false},
    /* Exports of the Go deployer are matched by their time. */
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

static void only_exports_of_the_pod_are_accepted_despite_clock_skew(void **state)
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

static void an_export_without_data_or_a_pod_without_a_time_does_not_match(void **state)
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
        cmocka_unit_test(only_exports_of_the_pod_are_accepted_despite_clock_skew),
        cmocka_unit_test(an_export_without_data_or_a_pod_without_a_time_does_not_match),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
