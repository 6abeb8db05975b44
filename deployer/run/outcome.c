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

/* What was wrong with main, or NULL. The caller frees. */
static char *describe_main(const struct main_end *end)
{
    char duration[32] = {0};
    int code = end->exit_code;

    if (end->timeout_ms > 0) {
        duration_format(end->timeout_ms * 1000000, duration, sizeof(duration));
        return xasprintf("timed out after %s (--timeout, or spec.timeout of the item)", duration);
    }
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

struct outcome_summary outcome_read(const char *run_path, const struct main_end *end,
                                    int wait_exit_code, json_t *result)
{
    cleanup_json json_t *report = read_sink(run_path, "result.json", RESULT_MAX_BYTES);
    cleanup_free char *wait_message = helper_message(run_path, CONTAINER_WAIT);
    cleanup_free char *error = describe_main(end);
    json_t *exports =
        end->exit_code == 0 ? read_sink(run_path, "exports", EXPORTS_MAX_BYTES) : NULL;
    const json_t *state = doc_get(report, "state");

    if (!error && wait_exit_code != 0)
        error = xstrdup(*wait_message ? wait_message
                                      : "wait failed without a message; its log is shown with -v");
    json_object_set_new(result, "exitCode", json_integer(end->exit_code));
    doc_set_text(result, "phase", error ? PHASE_FAILED : PHASE_SUCCEEDED);
    json_object_set_new(result, "exports", exports ? exports : json_object());
    json_object_set_new(result, "state",
                        json_pack("{s:I, s:I}", "bytes",
                                  (json_int_t)doc_integer_or(state, "bytes", 0), "files",
                                  (json_int_t)doc_integer_or(state, "files", 0)));
    if (error)
        doc_set_text(result, "error", error);
    return (struct outcome_summary){.state = doc_bool_or(state, "unchanged", false) ? "unchanged"
                                             : doc_bool_or(state, "stored", false)  ? "stored"
                                                                                    : "not stored",
                                    .exports = exports ? "stored" : "none"};
}

int outcome_open(const char *directory, struct error *err)
{
    cleanup_close int fd = -1;

    if (file_make_directories(directory, 0755, err) < 0)
        return error_wrap(err, "option --out");
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
        return error_set_errno(err, errno, "option --out: open \"%s\" for writing", directory);
    return steal_fd(&fd);
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
