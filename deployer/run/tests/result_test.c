/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

static const struct {
    enum result_reason reason;
    const char *operation, *phase, *name;
    int exit_code;
} failures[] = {
    {RESULT_INVALID, NULL, PHASE_FAILED, "InvalidInput", 2},
    {RESULT_MAIN_FAILED, OPERATION_RECONCILE, PHASE_FAILED, "MainFailed", 42},
    {RESULT_MAIN_FAILED, OPERATION_DELETE, PHASE_DELETE_FAILED, "MainFailed", 42},
    {RESULT_TIMED_OUT, OPERATION_RECONCILE, PHASE_FAILED, "TimedOut", 124},
    {RESULT_FAILED, OPERATION_DELETE, PHASE_DELETE_FAILED, "RunFailed", 125},
    {RESULT_NOT_EXECUTABLE, OPERATION_RECONCILE, PHASE_FAILED, "ProgramNotExecutable", 126},
    {RESULT_NOT_FOUND, OPERATION_RECONCILE, PHASE_FAILED, "ProgramNotFound", 127},
    {RESULT_INTERRUPTED, OPERATION_RECONCILE, PHASE_FAILED, "Interrupted", 130},
};

static void a_reason_gives_phase_and_exit_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(failures); i++) {
        cleanup_json json_t *result = result_new(failures[i].operation);

        json_object_set_new(result, "exitCode", json_integer(42));
        result_fail(result, failures[i].reason, "why");
        assert_string_equal(doc_text(result, "phase"), failures[i].phase);
        assert_string_equal(doc_text(result, "reason"), failures[i].name);
        assert_string_equal(doc_text(result, "error"), "why");
        assert_int_equal(result_exit_code(result), failures[i].exit_code);
        assert_false(result_is_success(result));
        result_succeed(result);
        assert_string_equal(doc_text(result, "phase"), PHASE_SUCCEEDED);
        assert_null(doc_get(result, "error"));
        assert_int_equal(result_exit_code(result), 0);
        assert_true(result_is_success(result));
    }
}

static void a_new_result_is_a_complete_failure(void **state)
{
    static const char *const required[] = {"operation", "phase",   "reason",    "error",
                                           "exitCode",  "exports", "durations", "logTail"};
    cleanup_json json_t *result = result_new(OPERATION_RECONCILE);
    cleanup_json json_t *interrupted = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json(RESULT_INTERRUPTED_JSON, strlen(RESULT_INTERRUPTED_JSON), 1000,
                                    &interrupted, &err),
                     0);
    for (size_t i = 0; i < array_length(required); i++) {
        assert_non_null(json_object_get(result, required[i]));
        assert_non_null(json_object_get(interrupted, required[i]));
    }
    assert_int_equal(json_object_size(interrupted), array_length(required));
    assert_int_equal(result_exit_code(result), 125);
    assert_int_equal(result_exit_code(interrupted), 130);
}

static void a_result_passes_from_child_to_parent(void **state)
{
    cleanup_json json_t *written = result_new(OPERATION_DELETE);
    cleanup_json json_t *read = result_new(OPERATION_DELETE);
    json_t *deep = json_object();
    struct error err = {0};
    int fd = result_open(&err);

    (void)state;
    /* Exports may be as deep as documents may be, and are one level deeper here. */
    for (int i = 1; i < DOC_DEPTH_MAX; i++)
        deep = json_pack("{s:o}", "a", deep);
    json_object_set_new(written, "exports", deep);
    result_succeed(written);
    assert_true(fd >= 0);
    assert_int_equal(result_write(fd, written, &err), 0);
    assert_int_equal(result_read(fd, read, &err), 0);
    assert_true(json_equal(written, read));
    (void)close(fd);
}

static void a_result_that_was_not_completed_is_an_error(void **state)
{
    cleanup_json json_t *result = result_new(OPERATION_RECONCILE);
    cleanup_json json_t *before = json_deep_copy(result);
    struct error err = {0};
    int fd = result_open(&err);

    (void)state;
    assert_int_equal(result_read(fd, result, &err), -1);
    assert_int_equal(err.kind, ERROR_INTERNAL);
    assert_int_equal(result_write(fd, result, &err), 0);
    assert_int_equal(ftruncate(fd, 20), 0);
    assert_int_equal(result_read(fd, result, &err), -1);
    assert_true(json_equal(result, before));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_gives_phase_and_exit_code),
        cmocka_unit_test(a_new_result_is_a_complete_failure),
        cmocka_unit_test(a_result_passes_from_child_to_parent),
        cmocka_unit_test(a_result_that_was_not_completed_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
