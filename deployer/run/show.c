/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

enum { LINE_BYTES = 8192, TAIL_LINES = 20, PROGRAMS_MAX = 4, STEPS_MAX = 16 };

struct program {
    const char *name;
    struct buffer line; /* read so far, without its newline */
    char *tail[TAIL_LINES];
    size_t tail_count;
};

struct show {
    enum run_output output;
    bool is_verbose, is_terminal, has_transient;
    struct clock *clock;
    const char *step;
    uint64_t step_started_ms;
    struct program programs[PROGRAMS_MAX];
    size_t program_count;
    struct {
        const char *step;
        uint64_t ms;
    } durations[STEPS_MAX];
    size_t duration_count;
};

struct show *show_new(enum run_output output, bool is_verbose, struct clock *clock)
{
    struct show *show = xcalloc(1, sizeof(*show));

    show->output = output;
    show->is_verbose = is_verbose;
    show->is_terminal = isatty(STDERR_FILENO) == 1;
    show->clock = clock;
    return show;
}

void show_free(struct show *show)
{
    if (!show)
        return;
    for (size_t i = 0; i < show->program_count; i++) {
        buffer_done(&show->programs[i].line);
        for (size_t k = 0; k < show->programs[i].tail_count; k++)
            free(show->programs[i].tail[k]);
    }
    free(show);
}

static void clear_transient(struct show *show)
{
    if (show->has_transient)
        (void)fputs("\r\033[K", stderr);
    show->has_transient = false;
}

void show_begin(struct show *show, const char *step)
{
    show->step = step;
    show->step_started_ms = clock_monotonic_ms(show->clock);
}

void show_progress(struct show *show, const char *what, uint64_t bytes)
{
    if (!show->is_terminal || !show->step)
        return;
    clear_transient(show);
    (void)fprintf(stderr, "%-8s %s", show->step, what);
    if (bytes)
        (void)fprintf(stderr, ", %.1f MB", (double)bytes / 1e6);
    (void)fflush(stderr);
    show->has_transient = true;
}

void show_end(struct show *show, const char *format, ...)
{
    uint64_t ms = clock_monotonic_ms(show->clock) - show->step_started_ms;
    va_list arguments;

    clear_transient(show);
    if (show->duration_count < STEPS_MAX) {
        show->durations[show->duration_count].step = show->step;
        show->durations[show->duration_count++].ms = ms;
    }
    (void)fprintf(stderr, "%-8s %6.2f s  ", show->step, (double)ms / 1000);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
}

static void printf_like(3, 0)
    show_line(struct show *show, const char *prefix, const char *format, va_list arguments)
{
    clear_transient(show);
    (void)fputs(prefix, stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
}

void show_note(struct show *show, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    show_line(show, "note: ", format, arguments);
    va_end(arguments);
}

void show_warning(struct show *show, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    show_line(show, "warning: ", format, arguments);
    va_end(arguments);
}

json_t *show_durations(const struct show *show)
{
    json_t *durations = json_object();

    for (size_t i = 0; i < show->duration_count; i++)
        json_object_set_new(durations, show->durations[i].step,
                            json_integer((json_int_t)show->durations[i].ms));
    return durations;
}

/* ---- Output of programs. ---- */

static struct program *find_program(struct show *show, const char *name)
{
    for (size_t i = 0; i < show->program_count; i++) {
        if (strcmp(show->programs[i].name, name) == 0)
            return &show->programs[i];
    }
    if (show->program_count == PROGRAMS_MAX)
        return &show->programs[PROGRAMS_MAX - 1];
    buffer_init(&show->programs[show->program_count].line, LINE_BYTES);
    show->programs[show->program_count].name = name;
    return &show->programs[show->program_count++];
}

static void end_line(struct show *show, struct program *program)
{
    const char *text = program->line.data ? program->line.data : "";

    if (strcmp(program->name, CONTAINER_MAIN) == 0 || show->is_verbose) {
        clear_transient(show);
        (void)fprintf(stderr, "%s | %s\n", program->name, text);
    } else {
        if (program->tail_count == TAIL_LINES) {
            free(program->tail[0]);
            memmove(program->tail, program->tail + 1, sizeof(char *) * (TAIL_LINES - 1));
            program->tail_count--;
        }
        program->tail[program->tail_count++] = xstrdup(text);
    }
    buffer_clear(&program->line);
}

void show_output(struct show *show, const char *program_name, const char *bytes, size_t size)
{
    struct program *program = find_program(show, program_name);
    struct error ignored = {0};

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n' || program->line.size == LINE_BYTES)
            end_line(show, program);
        if (bytes[i] != '\n')
            (void)!buffer_append(&program->line, &bytes[i], 1, &ignored);
    }
    if (size == 0 && program->line.size)
        end_line(show, program); /* end of file */
}

void show_tail(struct show *show, const char *program_name)
{
    const struct program *program = find_program(show, program_name);

    clear_transient(show);
    for (size_t i = 0; i < program->tail_count; i++)
        (void)fprintf(stderr, "%s | %s\n", program_name, program->tail[i]);
}

/* ---- The result. ---- */

static void indent(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");

        (void)printf("  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void show_text(const json_t *result)
{
    const json_t *exports = doc_get(result, "exports");
    const char *path = doc_text(result, "state.path");
    const char *error = doc_text(result, "error");
    long long files = doc_integer_or(result, "state.files", 0);

    (void)printf("%s\n", doc_text_or(result, "phase", ""));
    if (error)
        (void)printf("error:\n  %s\n", error);
    if (json_object_size(exports)) {
        cleanup_free char *text = doc_dump_yaml(exports);

        (void)printf("exports:\n");
        indent(text);
    }
    if (path)
        (void)printf("state:\n  %lld %s, %lld bytes in %s\n", files, files == 1 ? "file" : "files",
                     (long long)doc_integer_or(result, "state.bytes", 0), path);
}

void show_result(struct show *show, const json_t *result)
{
    clear_transient(show);
    (void)fflush(stderr);
    if (show->output == RUN_OUTPUT_JSON) {
        cleanup_free char *text = doc_dump(result);

        (void)printf("%s\n", text);
    } else {
        show_text(result);
    }
    (void)fflush(stdout);
}
