/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/companion.h"

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

static void describe_main(int code, bool is_timed_out, bool is_interrupted, bool is_out_of_memory,
                          json_t *result)
{
    cleanup_free char *text = NULL;

    if (is_timed_out)
        text = xstrdup("the run's time was over (--timeout or the item's timeout)");
    else if (is_interrupted)
        text = xstrdup("interrupted");
    else if (is_out_of_memory)
        text =
            xasprintf("main was killed because it used more memory than its limit (code %d); raise "
                      "resources.limits.memory",
                      code);
    else if (code > 128 && code - 128 < NSIG)
        text = xasprintf("main was ended by signal %d (%s)", code - 128, strsignal(code - 128));
    else if (code != 0)
        text = xasprintf("main ended with code %d; its output stands above", code);
    if (text)
        doc_set_text(result, "error", text);
}

static void describe_state(const json_t *report, json_t *result)
{
    const json_t *state = doc_get(report, "state");
    const char *how = doc_bool_or(state, "unchanged", false) ? "unchanged"
                      : doc_bool_or(state, "stored", false)  ? "stored"
                                                             : "not stored";

    json_object_set_new(result, "state",
                        json_pack("{s:I, s:I, s:s}", "bytes",
                                  (json_int_t)doc_integer_or(state, "bytes", 0), "files",
                                  (json_int_t)doc_integer_or(state, "files", 0), "how", how));
}

void outcome_read(const char *run_path, int main_code, int wait_code, bool is_timed_out,
                  bool is_interrupted, bool is_out_of_memory, json_t *result)
{
    cleanup_json json_t *report = read_sink(run_path, "result.json", RESULT_MAX_BYTES);
    cleanup_free char *message = companion_message(run_path, CONTAINER_WAIT);
    json_t *exports = main_code == 0 ? read_sink(run_path, "exports", EXPORTS_MAX_BYTES) : NULL;
    bool is_ok = main_code == 0 && wait_code == 0 && !is_timed_out && !is_interrupted;

    json_object_set_new(result, "exitCode", json_integer(main_code));
    doc_set_text(result, "phase", is_ok ? PHASE_SUCCEEDED : PHASE_FAILED);
    doc_set_text(result, "exportsHow", exports ? "stored" : "none");
    json_object_set_new(result, "exports", exports ? exports : json_object());
    describe_state(report, result);
    describe_main(main_code, is_timed_out, is_interrupted, is_out_of_memory, result);
    if (wait_code != 0 && main_code == 0 && !doc_text(result, "error"))
        doc_set_text(result, "error",
                     *message ? message : "wait failed and left no message; see its log with -v");
}

int outcome_write(const char *directory, const json_t *result, struct error *err)
{
    cleanup_free char *whole = doc_dump(result);
    cleanup_free char *exports = doc_dump(doc_get(result, "exports"));
    cleanup_close int fd = -1;

    if (mkdir(directory, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "make directory '%s'", directory);
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "open '%s'", directory);
    if (beneath_write_file(fd, "exports.json", exports, strlen(exports), 0600, err) < 0)
        return error_wrap(err, "option --out '%s'", directory);
    return beneath_write_file(fd, "result.json", whole, strlen(whole), 0600, err);
}
