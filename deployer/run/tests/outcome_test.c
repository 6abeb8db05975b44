/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/outcome.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/result.h"

static const char STORED[] = "{\"state\":{\"stored\":true,\"files\":2,\"bytes\":9},"
                             "\"exports\":\"stored\"}";
static const char BAD_EXPORTS[] = "{\"state\":{\"stored\":true,\"unchanged\":true},"
                                  "\"exports\":\"failed: $EXPORTS_PATH: line 1\"}";
static const char BAD_STATE[] = "{\"state\":{\"error\":\"no space\"},\"exports\":\"stored\"}";

static const struct {
    const char *report, *exports, *message; /* files that wait left, or NULL */
    struct main_end end;
    int wait_exit_code;
    const char *reason, *error; /* error NULL: success */
    const char *state, *exports_summary;
} cases[] = {
    {STORED, "a: 1", NULL, {0}, 0, "Succeeded", NULL, "stored", "stored"},
    {STORED, NULL, NULL, {0}, 0, "Succeeded", NULL, "stored", "none"},
    {BAD_EXPORTS,
     NULL,
     "long text",
     {0},
     1,
     "RunFailed",
     "exports: $EXPORTS_PATH: line 1",
     "unchanged",
     "not stored"},
    {BAD_STATE,
     "a: 1",
     "long text",
     {0},
     1,
     "RunFailed",
     "state: no space",
     "not stored",
     "not stored"},
    {NULL, NULL, "cannot start", {0}, 1, "RunFailed", "cannot start", "not stored", "not stored"},
    {NULL,
     NULL,
     NULL,
     {0},
     1,
     "RunFailed",
     "wait failed without a message; its log is shown with -v",
     "not stored",
     "not stored"},
    {STORED,
     "a: 1",
     NULL,
     {.exit_code = 3},
     1,
     "MainFailed",
     "main exited with code 3",
     "stored",
     "none"},
    {STORED,
     NULL,
     NULL,
     {.exit_code = 139},
     1,
     "MainFailed",
     "main was killed by signal 11 (Segmentation fault)",
     "stored",
     "none"},
    {STORED,
     NULL,
     NULL,
     {.exit_code = 137, .is_out_of_memory = true},
     1,
     "MainFailed",
     "main exceeded its memory limit and was killed (exit code 137); raise "
     "resources.limits.memory",
     "stored",
     "none"},
    {STORED,
     "a: 1",
     NULL,
     {.timeout_ms = 90000},
     0,
     "TimedOut",
     "timed out after 1m30s (--timeout, or spec.timeout of the item)",
     "stored",
     "none"},
    {STORED,
     "a: 1",
     NULL,
     {.is_interrupted = true},
     0,
     "Interrupted",
     "interrupted",
     "stored",
     "none"},
};

static void put(int fd, const char *path, const char *text)
{
    struct error err = {0};

    if (text)
        assert_int_equal(beneath_write_file(fd, path, text, strlen(text), 0644, &err), 0);
}

static void every_end_of_a_run_is_explained(void **state)
{
    cleanup_close int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        char directory[] = "/tmp/outcome-test-XXXXXX";
        cleanup_json json_t *result = result_new(OPERATION_RECONCILE);
        struct outcome_summary summary = {0};
        struct error err = {0};
        int fd = -1;

        assert_non_null(mkdtemp(directory));
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put(fd, "sink/result.json", cases[i].report);
        put(fd, "sink/exports", cases[i].exports);
        put(fd, "ls/termination-" CONTAINER_WAIT, cases[i].message);
        summary = outcome_read(directory, &cases[i].end, cases[i].wait_exit_code, result);
        assert_string_equal(doc_text(result, "reason"), cases[i].reason);
        if (cases[i].error)
            assert_string_equal(doc_text(result, "error"), cases[i].error);
        else
            assert_null(doc_text(result, "error"));
        assert_string_equal(summary.state, cases[i].state);
        assert_string_equal(summary.exports, cases[i].exports_summary);
        assert_int_equal(doc_integer_or(result, "exitCode", -1), cases[i].end.exit_code);
        assert_int_equal(json_object_size(doc_get(result, "exports")),
                         !cases[i].error && cases[i].exports ? 1 : 0);
        assert_string_equal(doc_text(result, "state.result"), cases[i].state);
        (void)close(fd);
        assert_int_equal(beneath_remove_tree(tmp_fd, directory + strlen("/tmp/"), &err), 0);
    }
}

static void a_directory_that_is_not_usable_is_a_usage_error(void **state)
{
    static const char *const paths[] = {"/dev/null", "/dev/null/x", "/proc/x"};

    (void)state;
    for (size_t i = 0; i < array_length(paths); i++) {
        struct error err = {0};

        assert_int_equal(outcome_open(paths[i], &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_memory_equal(err.text, "option --out: ", 14);
        assert_non_null(strstr(err.text, paths[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_of_a_run_is_explained),
        cmocka_unit_test(a_directory_that_is_not_usable_is_a_usage_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
