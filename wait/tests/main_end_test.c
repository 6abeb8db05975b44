/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "wait/main_end.h"

static const struct {
    const char *pod, *expected_uid;
    enum main_end_kind kind;
    int exit_code;
    const char *reason;
} pods[] = {
    {"{}", NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{}}", NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[]}}", NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{}}}]}}", NULL,
     MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]}}", NULL,
     MAIN_RUNNING, 0, ""},
    /* A status from before wait was started: main may run by now. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":"
     "\"PodInitializing\"}}},{\"name\":\"wait\",\"state\":{\"waiting\":{}}}]}}",
     NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":"
     "\"ImagePullBackOff\"}}},{\"name\":\"wait\",\"state\":{\"running\":{}}}]}}",
     NULL, MAIN_NOT_STARTED, 0, "ImagePullBackOff"},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\",\"state\":{\"running\":{}}},{\"name\":"
     "\"main\",\"state\":{\"waiting\":{}}}]}}",
     NULL, MAIN_NOT_STARTED, 0, ""},
    /* The kubelet lists no status of main: nothing is known. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\",\"state\":{\"running\":{}}}]}}", NULL,
     MAIN_RUNNING, 0, ""},
    /* Containers other than main. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\",\"state\":{\"terminated\":"
     "{\"exitCode\":0}}},{\"name\":\"main\",\"state\":{\"running\":{}}}]}}",
     NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"initContainerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":0}}}]}}",
     NULL, MAIN_RUNNING, 0, ""},
    /* lastState is from before a restart. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"lastState\":{\"terminated\":"
     "{\"exitCode\":0}},\"state\":{\"running\":{}}}]}}",
     NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\"},{\"name\":\"main\",\"state\":"
     "{\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"}}}]}}",
     NULL, MAIN_ENDED, 0, "Completed"},
    {"{\"metadata\":{\"uid\":\"u\"},\"status\":{\"containerStatuses\":[{\"name\":\"main\","
     "\"state\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}}",
     "u", MAIN_ENDED, 137, "OOMKilled"},
    /* A missing or invalid exit code is never success. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":256}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":-1}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    /* A later pod of the same name. */
    {"{\"metadata\":{\"uid\":\"new\"},\"status\":{\"containerStatuses\":[{\"name\":\"main\","
     "\"state\":{\"terminated\":{\"exitCode\":0}}}]}}",
     "old", MAIN_LOST, 0, ""},
    {"{\"metadata\":{\"uid\":\"any\"}}", "", MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":\"text\"}}", NULL, MAIN_RUNNING, 0, ""},
    {"{\"status\":{\"containerStatuses\":[1,null,{\"name\":5}]}}", NULL, MAIN_RUNNING, 0, ""},
};

static void main_end_is_read_from_the_pod_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pods); i++) {
        cleanup_json json_t *pod = json_loads(pods[i].pod, 0, NULL);
        struct main_end end = main_end_from_pod(pod, pods[i].expected_uid);

        print_message("%s\n", pods[i].pod);
        assert_non_null(pod);
        assert_int_equal(end.kind, pods[i].kind);
        assert_int_equal(end.exit_code, pods[i].exit_code);
        assert_string_equal(end.reason, pods[i].reason);
    }
}

static void pod_facts_are_read_from_the_metadata(void **state)
{
    cleanup_json json_t *pod = json_loads(
        "{\"metadata\":{\"uid\":\"u-1\",\"creationTimestamp\":\"2024-01-02T03:04:05Z\"}}", 0, NULL);
    cleanup_json json_t *bare = json_loads("{\"metadata\":{\"creationTimestamp\":null}}", 0, NULL);
    cleanup_json json_t *deleted =
        json_loads("{\"metadata\":{\"deletionTimestamp\":\"2024-01-02T03:04:05Z\"}}", 0, NULL);
    struct pod_facts facts = main_end_pod_facts(pod);

    (void)state;
    assert_string_equal(facts.uid, "u-1");
    assert_int_equal(facts.created_unix_seconds, 1704164645);
    assert_false(facts.is_being_deleted);
    facts = main_end_pod_facts(bare);
    assert_string_equal(facts.uid, "");
    assert_int_equal(facts.created_unix_seconds, 0);
    facts = main_end_pod_facts(deleted);
    assert_true(facts.is_being_deleted);
}

static void the_end_of_the_pod_is_requested_by_an_annotation(void **state)
{
    static const struct {
        const char *pod;
        bool is_requested;
    } cases[] = {
        {"{\"metadata\":{\"annotations\":{\"" ANNOTATION_END "\":\"" END_REQUESTED "\"}}}", true},
        {"{\"metadata\":{\"annotations\":{\"" ANNOTATION_END "\":\"" END_ON_REQUEST "\"}}}", false},
        {"{\"metadata\":{\"annotations\":{\"" ANNOTATION_END "\":1}}}", false},
        {"{\"metadata\":{}}", false},
        {"{}", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = json_loads(cases[i].pod, 0, NULL);

        assert_int_equal(main_end_pod_facts(pod).is_end_requested, cases[i].is_requested);
    }
}

static const struct {
    const char *pod;
    int64_t grace_seconds;
} graces[] = {
    {"{}", 0},
    {"{\"spec\":{\"terminationGracePeriodSeconds\":630}}", 630},
    {"{\"spec\":{\"terminationGracePeriodSeconds\":\"630\"}}", 0},
    /* kubectl delete --grace-period=60 */
    {"{\"metadata\":{\"deletionGracePeriodSeconds\":60},"
     "\"spec\":{\"terminationGracePeriodSeconds\":630}}",
     60},
    /* kubectl delete --force: the kubelet grants two seconds */
    {"{\"metadata\":{\"deletionGracePeriodSeconds\":0},"
     "\"spec\":{\"terminationGracePeriodSeconds\":630}}",
     2},
    {"{\"spec\":{\"terminationGracePeriodSeconds\":1}}", 2},
};

static void the_grace_period_is_that_of_the_deletion_or_of_the_pod(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(graces); i++) {
        cleanup_json json_t *pod = json_loads(graces[i].pod, 0, NULL);

        print_message("%s\n", graces[i].pod);
        assert_int_equal(main_end_pod_facts(pod).grace_seconds, graces[i].grace_seconds);
    }
}

static void a_long_reason_is_truncated(void **state)
{
    cleanup_json json_t *pod = json_loads(
        "{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
        "{\"exitCode\":1,\"reason\":"
        "\"0123456789012345678901234567890123456789012345678901234567890123456789\"}}}]}}",
        0, NULL);
    struct main_end end = main_end_from_pod(pod, NULL);

    (void)state;
    assert_int_equal(strlen(end.reason), sizeof(end.reason) - 1);
}

static const struct {
    const char *line;
    bool is_good;
    int exit_code;
    const char *reason;
} lines[] = {
    {"{\"exitCode\":0}", true, 0, ""},
    {"{\"exitCode\":3,\"reason\":\"Error\"}", true, 3, "Error"},
    {" { \"reason\" : \"OOMKilled\", \"exitCode\" : 137 } ", true, 137, "OOMKilled"},
    {"{\"exitCode\":1000}", true, 255, ""},
    {"", false, 0, ""},
    {"0", false, 0, ""},
    {"{}", false, 0, ""},
    {"{\"exitCode\":\"0\"}", false, 0, ""},
    {"{\"exitCode\":0.0}", false, 0, ""},
    {"{\"exitCode\":0} x", false, 0, ""},
    {"[{\"exitCode\":0}]", false, 0, ""},
};

static void main_end_is_read_from_the_line_of_the_runner(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lines); i++) {
        struct main_end end = {.exit_code = 77};
        struct error err = {0};
        int result = main_end_from_line(lines[i].line, strlen(lines[i].line), &end, &err);

        print_message("%s\n", lines[i].line);
        assert_int_equal(result, lines[i].is_good ? 0 : -1);
        if (!lines[i].is_good) {
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_int_equal(end.exit_code, 77);
            continue;
        }
        assert_int_equal(end.kind, MAIN_ENDED);
        assert_int_equal(end.exit_code, lines[i].exit_code);
        assert_string_equal(end.reason, lines[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_end_is_read_from_the_pod_status),
        cmocka_unit_test(pod_facts_are_read_from_the_metadata),
        cmocka_unit_test(the_end_of_the_pod_is_requested_by_an_annotation),
        cmocka_unit_test(the_grace_period_is_that_of_the_deletion_or_of_the_pod),
        cmocka_unit_test(a_long_reason_is_truncated),
        cmocka_unit_test(main_end_is_read_from_the_line_of_the_runner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
