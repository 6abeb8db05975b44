/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/data/doc.h"
#include "wait/main_end.h"

static const struct {
    const char *pod, *expected_uid;
    enum main_end_kind kind;
    int exit_code;
    const char *reason;
} pods[] = {
    {"{}", NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{}}", NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":[]}}", NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{}}}]}}", NULL,
     MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]}}", NULL,
     MAIN_RUNS, 0, ""},
    /* Not ours to wait for. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\",\"state\":{\"terminated\":"
     "{\"exitCode\":0}}},{\"name\":\"main\",\"state\":{\"running\":{}}}]}}",
     NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{\"initContainerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":0}}}]}}",
     NULL, MAIN_RUNS, 0, ""},
    /* What it was before it was restarted is no end. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"lastState\":{\"terminated\":"
     "{\"exitCode\":0}},\"state\":{\"running\":{}}}]}}",
     NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"wait\"},{\"name\":\"main\",\"state\":"
     "{\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"}}}]}}",
     NULL, MAIN_ENDED, 0, "Completed"},
    {"{\"metadata\":{\"uid\":\"u\"},\"status\":{\"containerStatuses\":[{\"name\":\"main\","
     "\"state\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}}",
     "u", MAIN_ENDED, 137, "OOMKilled"},
    /* No code, or one that is none, is never success. */
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":256}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    {"{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
     "{\"exitCode\":-1}}}]}}",
     NULL, MAIN_ENDED, 255, ""},
    /* The name is that of our successor. */
    {"{\"metadata\":{\"uid\":\"new\"},\"status\":{\"containerStatuses\":[{\"name\":\"main\","
     "\"state\":{\"terminated\":{\"exitCode\":0}}}]}}",
     "old", MAIN_LOST, 0, ""},
    {"{\"metadata\":{\"uid\":\"any\"}}", "", MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":\"text\"}}", NULL, MAIN_RUNS, 0, ""},
    {"{\"status\":{\"containerStatuses\":[1,null,{\"name\":5}]}}", NULL, MAIN_RUNS, 0, ""},
};

static void pod_status_tells_how_main_ended(void **state)
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

static void pod_facts_are_uid_and_second_of_its_making(void **state)
{
    cleanup_json json_t *pod = json_loads(
        "{\"metadata\":{\"uid\":\"u-1\",\"creationTimestamp\":\"2024-01-02T03:04:05Z\"}}", 0, NULL);
    cleanup_json json_t *bare = json_loads("{\"metadata\":{\"creationTimestamp\":null}}", 0, NULL);
    cleanup_json json_t *going =
        json_loads("{\"metadata\":{\"deletionTimestamp\":\"2024-01-02T03:04:05Z\"}}", 0, NULL);
    struct pod_facts facts = main_end_pod_facts(pod);

    (void)state;
    assert_string_equal(facts.uid, "u-1");
    assert_int_equal(facts.created_unix_seconds, 1704164645);
    assert_false(facts.is_being_deleted);
    facts = main_end_pod_facts(bare);
    assert_string_equal(facts.uid, "");
    assert_int_equal(facts.created_unix_seconds, 0);
    facts = main_end_pod_facts(going);
    assert_true(facts.is_being_deleted);
}

static void a_reason_of_any_length_is_cut(void **state)
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

static void line_of_the_runner_tells_how_main_ended(void **state)
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
        cmocka_unit_test(pod_status_tells_how_main_ended),
        cmocka_unit_test(pod_facts_are_uid_and_second_of_its_making),
        cmocka_unit_test(a_reason_of_any_length_is_cut),
        cmocka_unit_test(line_of_the_runner_tells_how_main_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
