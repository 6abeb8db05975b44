/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/pod/provider_status.h"
#include "deployer/tests/sample.h"

enum { NOW = 1767776400 }; /* 2026-01-07T09:00:00Z */
#define AT(seconds_) (((int64_t)NOW + (seconds_)) * 1000)

static void the_provider_status_has_the_format_of_go(void **state)
{
    cleanup_json json_t *pod = sample_doc(
        "metadata: {name: p, creationTimestamp: '2026-01-07T09:00:12Z'}\n"
        "status:\n"
        "  initContainerStatuses:\n"
        "  - {name: init, image: i, imageID: i@sha256:1, state: {terminated: {exitCode: 0, reason: "
        "Completed}}}\n"
        "  containerStatuses:\n"
        "  - {name: main, image: m, imageID: '', state: {waiting: {reason: ErrImagePull, message: "
        "'token=abcdefgh'}}}\n"
        "  - {name: wait, image: w, imageID: x, state: {running: {startedAt: "
        "'2026-01-07T09:00:20Z'}}}\n");
    cleanup_json json_t *status = status_provider(pod, OPERATION_RECONCILE, "job-1", NULL, NULL);
    cleanup_json json_t *expected = sample_doc(
        "apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\n"
        "kind: ProviderStatus\n"
        "lastOperation: RECONCILE\n"
        "podStatus:\n"
        "  podName: p\n"
        "  lastRun: '2026-01-07T09:00:12Z'\n"
        "  lastSuccessfulJobID: job-1\n"
        "  containerStatus: {reason: ErrImagePull, message: 'token=***', state: {waiting: {reason: "
        "ErrImagePull}}, image: m, imageID: ''}\n"
        "  initContainerStatus: {reason: Completed, state: {terminated: {exitCode: 0, reason: "
        "Completed}}, image: i, imageID: 'i@sha256:1', exitCode: 0}\n"
        "  waitContainerStatus: {reason: Running, state: {running: {startedAt: "
        "'2026-01-07T09:00:20Z'}}, image: w, imageID: x}\n");

    (void)state;
    assert_true(json_equal(status, expected));
}

static void containers_without_a_status_are_included(void **state)
{
    cleanup_json json_t *status = status_provider(NULL, OPERATION_DELETE, NULL, NULL, "the tail");
    cleanup_json json_t *empty = sample_doc("{state: {}, image: '', imageID: ''}");

    (void)state;
    assert_true(json_equal(json_object_get(json_object_get(status, "podStatus"), "containerStatus"),
                           empty));
    assert_null(doc_get(status, "podStatus.lastSuccessfulJobID"));
    assert_null(doc_get(status, "podStatus.lastRun"));
    assert_string_equal(doc_text(status, "podStatus.mainLogTail"), "the tail");
}

static const struct {
    const char *state, *condition; /* status, reason, message */
} conditions[] = {
    {"{waiting: {reason: PodInitializing}}", "Progressing|PodInitializing|"},
    {"{waiting: {reason: ErrImagePull, message: m}}", "Progressing|ErrImagePull|m"},
    {"{running: {startedAt: '2026-01-07T10:00:20+01:00'}}",
     "Progressing|Pod running|Pod started running at 2026-01-07 09:00:20 +0000 UTC"},
    {"{running: {}}", "Progressing|Pod running|Pod started running"},
    {"{terminated: {exitCode: 0}}", "True|ContainerSucceeded|Container successfully finished"},
    {"{terminated: {exitCode: 1, reason: Error, message: m}}", "False|Error|m"},
};

static void conditions_follow_the_containers(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(conditions); i++) {
        cleanup_json json_t *status = json_object();
        cleanup_free char *yaml = xasprintf(
            "{status: {containerStatuses: [{name: wait, state: %s}]}}", conditions[i].state);
        cleanup_json json_t *pod = sample_doc(yaml);
        const json_t *condition = NULL;
        cleanup_free char *text = NULL;

        status_set_conditions(status, pod, AT(0));
        assert_int_equal(json_array_size(doc_get(status, "conditions")), 1);
        condition = json_array_get(doc_get(status, "conditions"), 0);
        text = xasprintf("%s|%s|%s", doc_text(condition, "status"), doc_text(condition, "reason"),
                         doc_text(condition, "message"));
        assert_string_equal(doc_text(condition, "type"), "WaitContainer");
        assert_string_equal(text, conditions[i].condition);
        assert_string_equal(doc_text(condition, "lastTransitionTime"), "2026-01-07T09:00:00Z");
        assert_string_equal(doc_text(condition, "lastUpdateTime"), "2026-01-07T09:00:00Z");
    }
}

static void times_of_a_condition_change_only_with_its_status_or_message(void **state)
{
    cleanup_json json_t *status = sample_doc("{conditions: [{type: Other, status: 'True'}]}");
    cleanup_json json_t *waiting = sample_doc(
        "{status: {initContainerStatuses: [{name: init, state: {waiting: {reason: A}}}]}}");
    cleanup_json json_t *other = sample_doc(
        "{status: {initContainerStatuses: [{name: init, state: {waiting: {reason: B}}}]}}");
    cleanup_json json_t *ended = sample_doc(
        "{status: {initContainerStatuses: [{name: init, state: {terminated: {exitCode: 0}}}]}}");
    const json_t *condition = NULL;

    (void)state;
    status_set_conditions(status, waiting, AT(0));
    status_set_conditions(status, waiting, AT(5));
    condition = json_array_get(doc_get(status, "conditions"), 1);
    assert_string_equal(doc_text(condition, "lastUpdateTime"), "2026-01-07T09:00:00Z");
    status_set_conditions(status, other, AT(6));
    assert_string_equal(doc_text(condition, "lastUpdateTime"), "2026-01-07T09:00:06Z");
    assert_string_equal(doc_text(condition, "lastTransitionTime"), "2026-01-07T09:00:00Z");
    status_set_conditions(status, ended, AT(7));
    assert_string_equal(doc_text(condition, "lastTransitionTime"), "2026-01-07T09:00:07Z");
    assert_int_equal(json_array_size(doc_get(status, "conditions")), 2);
}

static void conditions_that_are_not_a_list_are_replaced(void **state)
{
    cleanup_json json_t *status = sample_doc("{conditions: 7}");
    cleanup_json json_t *pod = sample_doc(
        "{status: {initContainerStatuses: [{name: init, state: {waiting: {reason: A}}}]}}");

    (void)state;
    status_set_conditions(status, pod, AT(0));
    assert_int_equal(json_array_size(doc_get(status, "conditions")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_provider_status_has_the_format_of_go),
        cmocka_unit_test(containers_without_a_status_are_included),
        cmocka_unit_test(conditions_follow_the_containers),
        cmocka_unit_test(times_of_a_condition_change_only_with_its_status_or_message),
        cmocka_unit_test(conditions_that_are_not_a_list_are_replaced),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
