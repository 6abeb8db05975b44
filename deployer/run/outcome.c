/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/run/helper.h"
#include "deployer/run/result.h"

enum { EXPORTS_MAX_BYTES = SECRET_MAX_BYTES, RESULT_MAX_BYTES = 65536 };

static json_t *read_sink(const char *run_path, const char *name, size_t max_bytes)
{
    cleanup_free char *path = xasprintf("%s/sink/%s", run_path, name);
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    json_t *document = NULL;

    buffer_init(&text, max_bytes);
    if (doc_read_file(path, max_bytes, &text, &ignored) < 0 ||
        doc_parse_yaml(text.data ? text.data : "", text.size, max_bytes, &document, &ignored) < 0)
        return NULL;
    return document;
}

/* What was wrong with main, and why; NULL if nothing was. The caller frees. */
static char *describe_main(const struct main_end *end, enum result_reason *ret_reason)
{
    char duration[32] = {0};
    int code = end->exit_code;

    if (end->timeout_ms > 0) {
        *ret_reason = RESULT_TIMED_OUT;
        duration_format(end->timeout_ms * 1000000, duration, sizeof(duration));
        return xasprintf("timed out after %s (--timeout, or spec.timeout of the item)", duration);
    }
    *ret_reason = end->is_interrupted ? RESULT_INTERRUPTED : RESULT_MAIN_FAILED;
    if (end->is_interrupted)
        return xstrdup("interrupted");
    if (end->is_out_of_memory)
        return xasprintf("main exceeded its memory limit and was killed (exit code %d); raise "
                         "resources.limits.memory",
                         code);
    if (code > 128 && code - 128 < NSIG)
        return xasprintf("main was killed by signal %d (%s)", code - 128, strsignal(code - 128));
    return code != 0 ? xasprintf("main exited with code %d", code) : NULL;
}

/* Why wait failed although main did not: its report names the part that was wrong. The caller
 * frees.
 */
static char *describe_wait(const char *run_path, const json_t *report)
{
    static const char failed[] = "failed: ";
    cleanup_free char *message = helper_message(run_path, CONTAINER_WAIT);
    const char *exports = doc_text_or(report, "exports", "");
    const char *state = doc_text(report, "state.error");

    if (state)
        return xasprintf("state: %s", state);
    if (strncmp(exports, failed, strlen(failed)) == 0)
        return xasprintf("exports: %s", exports + strlen(failed));
    return xstrdup(*message ? message : "wait failed without a message; its log is shown with -v");
}

static const char *describe_state(const json_t *state)
{
    if (doc_bool_or(state, "unchanged", false))
        return "unchanged";
    return doc_bool_or(state, "stored", false) ? "stored" : "not stored";
}

struct outcome_summary outcome_read(const char *run_path, const struct main_end *end,
                                    int wait_exit_code, json_t *result)
{
    cleanup_json json_t *report = read_sink(run_path, "result.json", RESULT_MAX_BYTES);
    enum result_reason reason = RESULT_FAILED;
    cleanup_free char *error = describe_main(end, &reason);
    json_t *exports = NULL;
    const json_t *state = doc_get(report, "state");
    struct outcome_summary summary = {.state = describe_state(state), .exports = "none"};

    if (!error && wait_exit_code != 0) {
        reason = RESULT_FAILED;
        error = describe_wait(run_path, report);
        summary.exports = "not stored";
    }
    /* As in a cluster, a run that failed exports nothing. */
    if (!error && (exports = read_sink(run_path, "exports", EXPORTS_MAX_BYTES)))
        summary.exports = "stored";
    json_object_set_new(result, "exitCode", json_integer(end->exit_code));
    json_object_set_new(result, "exports", exports ? exports : json_object());
    json_object_set_new(result, "state",
                        json_pack("{s:s, s:I, s:I}", "result", summary.state, "files",
                                  (json_int_t)doc_integer_or(state, "files", 0), "bytes",
                                  (json_int_t)doc_integer_or(state, "bytes", 0)));
    if (error)
        result_fail(result, reason, error);
    else
        result_succeed(result);
    return summary;
}

static int open_directory(const char *path, struct error *err)
{
    cleanup_close int fd = -1;

    if (file_make_directories(path, 0755, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
        return error_set_errno(err, errno, "open \"%s\" for writing", path);
    return steal_fd(&fd);
}

int outcome_open(const char *directory, struct error *err)
{
    int fd = open_directory(directory, err);

    if (fd < 0) {
        (void)error_wrap(err, "option --out");
        err->kind = ERROR_INVALID;
    }
    return fd;
}

int outcome_write(int directory_fd, const json_t *result, struct error *err)
{
    cleanup_free char *whole = doc_dump(result);
    cleanup_free char *exports = doc_dump(doc_get(result, "exports"));

    if (beneath_write_file(directory_fd, "exports.json", exports, strlen(exports), 0600, err) < 0 ||
        beneath_write_file(directory_fd, "result.json", whole, strlen(whole), 0600, err) < 0)
        return error_wrap(err, "option --out");
    return 0;
}
