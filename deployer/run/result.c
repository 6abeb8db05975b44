/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/terminal.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/exit_codes.h"

/* Exports, the lines of a log tail and the rest. */
enum { RESULT_MAX_BYTES = 64 * 1024 * 1024 };

static const struct {
    const char *name;
    int exit_code;
} reasons[] = {
    [RESULT_SUCCEEDED] = {"Succeeded", EXIT_SUCCESS},
    [RESULT_INVALID] = {"InvalidInput", EXIT_USAGE},
    [RESULT_MAIN_FAILED] = {"MainFailed", EXIT_FAILURE}, /* main's own is used */
    [RESULT_TIMED_OUT] = {"TimedOut", 124},
    [RESULT_FAILED] = {"RunFailed", 125},
    [RESULT_NOT_EXECUTABLE] = {"ProgramNotExecutable", 126},
    [RESULT_NOT_FOUND] = {"ProgramNotFound", 127},
    [RESULT_INTERRUPTED] = {"Interrupted", RESULT_EXIT_INTERRUPTED},
};

const char RESULT_INTERRUPTED_JSON[] =
    "{\"operation\":null,\"phase\":\"" PHASE_FAILED "\",\"reason\":\"Interrupted\",\"error\":"
    "\"interrupted\",\"exitCode\":null,\"exports\":{},\"durations\":{},\"logTail\":[]}\n";

json_t *result_new(const char *operation)
{
    json_t *result =
        json_pack("{s:s?, s:s, s:s, s:s, s:n, s:{}, s:{}, s:[]}", "operation", operation, "phase",
                  "", "reason", "", "error", "", "exitCode", "exports", "durations", "logTail");

    result_fail(result, RESULT_FAILED, "the run ended without a result");
    return result;
}

static void set_reason(json_t *result, enum result_reason reason, const char *phase)
{
    doc_set_text(result, "phase", phase);
    doc_set_text(result, "reason", reasons[reason].name);
}

void result_fail(json_t *result, enum result_reason reason, const char *error)
{
    bool is_delete = strcmp(doc_text_or(result, "operation", ""), OPERATION_DELETE) == 0;

    set_reason(result, reason, is_delete ? PHASE_DELETE_FAILED : PHASE_FAILED);
    doc_set_text(result, "error", error);
}

void result_succeed(json_t *result)
{
    set_reason(result, RESULT_SUCCEEDED, PHASE_SUCCEEDED);
    (void)json_object_del(result, "error");
}

bool result_is_success(const json_t *result)
{
    return !doc_text(result, "error");
}

int result_exit_code(const json_t *result)
{
    const char *name = doc_text_or(result, "reason", "");

    if (strcmp(name, reasons[RESULT_MAIN_FAILED].name) == 0)
        return (int)doc_integer_or(result, "exitCode", EXIT_FAILURE);
    for (size_t i = 0; i < array_length(reasons); i++) {
        if (strcmp(name, reasons[i].name) == 0)
            return reasons[i].exit_code;
    }
    return EXIT_FAILURE;
}

/* ---- From the child to the parent. ---- */

int result_open(struct error *err)
{
    int fd = memfd_create("longshore-result", MFD_CLOEXEC);

    return fd < 0 ? error_set_errno(err, errno, "create a file in memory for the result") : fd;
}

int result_write(int fd, const json_t *result, struct error *err)
{
    cleanup_free char *text = doc_dump(result);

    return file_write_all(fd, "result", text, strlen(text), err);
}

int result_read(int fd, json_t *result, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *written = NULL;

    buffer_init(&text, RESULT_MAX_BYTES);
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read the result");
    if (file_read_all(fd, "result", &text, err) < 0)
        return -1;
    /* Not doc_parse_json(): exports may be nested as deep as it allows, and are one level deeper
     * here. */
    written = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    if (!json_is_object(written))
        return error_set(err, ERROR_INTERNAL, "the run ended without a result");
    (void)json_object_clear(result);
    return json_object_update(result, written);
}

/* ---- Output. ---- */

void result_print_json(const json_t *result)
{
    cleanup_free char *text = doc_dump(result);

    (void)printf("%s\n", text);
    (void)fflush(stdout);
}

static void print_indented(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");

        (void)printf("  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* Paths below the home directory begin with "~", so that they fit into a line. */
static void print_path(const char *path)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;

    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/')
        (void)printf("~%s\n", path + length);
    else
        (void)printf("%s\n", path);
}

static void print_state(const json_t *state)
{
    long long files = doc_integer_or(state, "files", 0);
    long long bytes = doc_integer_or(state, "bytes", 0);

    (void)printf("state:\n  ");
    if (strcmp(doc_text_or(state, "result", ""), "removed") == 0) {
        (void)printf("removed\n");
        return;
    }
    (void)printf("%lld %s, %lld %s in ", files, files == 1 ? "file" : "files", bytes,
                 bytes == 1 ? "byte" : "bytes");
    print_path(doc_text_or(state, "path", ""));
}

/* What was done to the objects of a manifest item. */
static void print_objects(const json_t *objects)
{
    const json_t *row = NULL;
    size_t index = 0;
    bool has_title = false;

    json_array_foreach(objects, index, row)
    {
        const char *outcome = doc_text_or(row, "outcome", "");
        const char *namespace_name = doc_text_or(row, "namespace", "");

        if (strcmp(outcome, "unchanged") == 0)
            continue;
        if (!has_title)
            (void)printf("objects:\n");
        has_title = true;
        (void)printf("  %-9s  %s %s%s%s\n", outcome, doc_text_or(row, "kind", ""), namespace_name,
                     *namespace_name ? "/" : "", doc_text_or(row, "name", ""));
    }
}

/* A stream of YAML documents and nothing else, for other programs. */
static void print_manifests(const json_t *manifests)
{
    const json_t *manifest = NULL;
    size_t index = 0;

    json_array_foreach(manifests, index, manifest)
    {
        cleanup_wipe char *text = doc_dump_yaml(manifest);

        (void)printf("%s%s", index > 0 ? "---\n" : "", text);
    }
    (void)fflush(stdout);
}

void result_print_text(const json_t *result)
{
    const json_t *exports = doc_get(result, "exports");
    const char *error = doc_text(result, "error");
    struct terminal terminal = {0};

    if (!error && doc_get(result, "manifests")) {
        print_manifests(doc_get(result, "manifests"));
        return;
    }
    terminal_init(&terminal, stdout);
    (void)printf("%s%s%s\n", terminal_style(&terminal, error ? TERMINAL_BAD : TERMINAL_GOOD),
                 doc_text_or(result, "phase", ""), terminal_style(&terminal, TERMINAL_PLAIN));
    if (error) {
        (void)printf("error:\n  ");
        terminal_print(&terminal, error, 2, 2);
    }
    print_objects(doc_get(result, "objects"));
    if (json_object_size(exports)) {
        cleanup_free char *text = doc_dump_yaml(exports);

        (void)printf("exports:\n");
        print_indented(text);
    }
    if (doc_get(result, "state"))
        print_state(doc_get(result, "state"));
    (void)fflush(stdout);
}
