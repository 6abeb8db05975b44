/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/terminal.h"
#include "common/base/utf8.h"
#include "common/contract.h"

enum {
    LINE_BYTES = 8192,
    TAIL_LINES = 20,
    PROGRAMS_MAX = 4,
    STEPS_MAX = 16,
    WHAT_BYTES = 2048,
    REDRAW_MS = 100, /* a download reports progress more often than anybody can read */
};

struct program {
    const char *name;
    struct buffer line; /* read so far, without its newline */
    char *tail[TAIL_LINES];
    size_t tail_count;
    show_line_fn *watch;
    void *watch_data;
};

struct show {
    bool is_verbose, has_live_line;
    struct terminal terminal;
    struct clock *clock;
    const char *step; /* in progress, or NULL */
    uint64_t step_started_ms, drawn_ms;
    char what[WHAT_BYTES];
    char last_retry[WHAT_BYTES];
    struct program programs[PROGRAMS_MAX];
    size_t program_count;
    struct {
        const char *step;
        uint64_t ms;
    } durations[STEPS_MAX];
    size_t duration_count;
};

struct show *show_new(bool is_verbose, struct clock *clock)
{
    struct show *show = xcalloc(1, sizeof(*show));

    show->is_verbose = is_verbose;
    show->clock = clock;
    terminal_init(&show->terminal, stderr);
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

bool show_is_live(const struct show *show)
{
    return show->terminal.is_terminal;
}

static const char *style(const struct show *show, enum terminal_style wanted)
{
    return terminal_style(&show->terminal, wanted);
}

/* ---- Steps. ---- */

static void clear_live_line(struct show *show)
{
    if (show->has_live_line)
        (void)fputs("\r\033[K", stderr);
    show->has_live_line = false;
}

static uint64_t step_ms(const struct show *show)
{
    return clock_monotonic_ms(show->clock) - show->step_started_ms;
}

/* "image      1.20 s  ", the columns in which every line of a step begins. */
static void put_step(const struct show *show)
{
    (void)fprintf(stderr, "%s%-8s%s %6.2f s  ", style(show, TERMINAL_BOLD), show->step,
                  style(show, TERMINAL_PLAIN), (double)step_ms(show) / 1000);
}

/* Cuts the text at the last column: a line that the terminal has wrapped cannot be overwritten. */
static void draw_live_line(struct show *show)
{
    static const size_t prefix = sizeof("12345678 12345.67 s  ") - 1;
    size_t room = show->terminal.width > prefix + 1 ? show->terminal.width - prefix - 1 : 0;
    size_t length = strlen(show->what);

    if (!show->terminal.is_terminal || !show->step)
        return;
    if (length > room) {
        length = room;
        while (length > 0 && ((unsigned char)show->what[length] & 0xc0) == 0x80)
            length--;
    }
    clear_live_line(show);
    put_step(show);
    (void)fprintf(stderr, "%s%.*s%s", style(show, TERMINAL_DIM), (int)length, show->what,
                  style(show, TERMINAL_PLAIN));
    (void)fflush(stderr);
    show->has_live_line = true;
    show->drawn_ms = clock_monotonic_ms(show->clock);
}

void show_begin(struct show *show, const char *step, const char *what)
{
    show->step = step;
    show->step_started_ms = clock_monotonic_ms(show->clock);
    show->last_retry[0] = '\0';
    (void)snprintf(show->what, sizeof(show->what), "%s", what);
    draw_live_line(show);
}

void show_progress(struct show *show, const char *what, uint64_t bytes)
{
    if (bytes)
        (void)snprintf(show->what, sizeof(show->what), "%s, %.1f MB", what, (double)bytes / 1e6);
    else
        (void)snprintf(show->what, sizeof(show->what), "%s", what);
    if (clock_monotonic_ms(show->clock) - show->drawn_ms >= REDRAW_MS)
        draw_live_line(show);
}

void show_tick(struct show *show)
{
    draw_live_line(show);
}

void show_retry(struct show *show, const char *error, uint32_t delay_ms)
{
    /* The text in front of the cause is the URL, which the final error has, too. */
    const char *url_end = strstr(error, "\": ");
    const char *cause = url_end ? url_end + strlen("\": ") : error;

    (void)snprintf(show->last_retry, sizeof(show->last_retry), "%s", error);
    (void)snprintf(show->what, sizeof(show->what), "retrying in %.*f s: %s",
                   delay_ms < 1000 ? 1 : 0, (double)delay_ms / 1000, cause);
    if (show->terminal.is_terminal) {
        draw_live_line(show);
    } else if (show->step) {
        put_step(show);
        (void)fprintf(stderr, "%s\n", show->what);
    }
}

const char *show_last_retry(const struct show *show)
{
    return show->last_retry;
}

void show_end(struct show *show, const char *format, ...)
{
    va_list arguments;

    clear_live_line(show);
    if (show->duration_count < STEPS_MAX) {
        show->durations[show->duration_count].step = show->step;
        show->durations[show->duration_count++].ms = step_ms(show);
    }
    put_step(show);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    show->step = NULL;
}

void show_clear(struct show *show)
{
    clear_live_line(show);
    (void)fflush(stderr);
}

static void printf_like(4, 0)
    show_line(struct show *show, const char *prefix, enum terminal_style prefix_style,
              const char *format, va_list arguments)
{
    char text[WHAT_BYTES] = {0};

    clear_live_line(show);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    (void)fprintf(stderr, "%s%s:%s ", style(show, prefix_style), prefix,
                  style(show, TERMINAL_PLAIN));
    terminal_print(&show->terminal, text, strlen(prefix) + 2, 2);
}

void show_note(struct show *show, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    show_line(show, "note", TERMINAL_BOLD, format, arguments);
    va_end(arguments);
}

void show_warning(struct show *show, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    show_line(show, "warning", TERMINAL_WARNING, format, arguments);
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

static bool is_shown(const struct show *show, const struct program *program)
{
    return show->is_verbose || strcmp(program->name, CONTAINER_MAIN) == 0;
}

static void put_line(const struct show *show, const struct program *program, const char *text)
{
    (void)fprintf(stderr, "%s%s |%s %s\n", style(show, TERMINAL_DIM), program->name,
                  style(show, TERMINAL_PLAIN), text);
}

static void end_line(struct show *show, struct program *program)
{
    const char *text = program->line.data ? program->line.data : "";

    if (!program->watch || !program->watch(program->watch_data, text)) {
        if (is_shown(show, program)) {
            clear_live_line(show);
            put_line(show, program, text);
        }
        if (program->tail_count == TAIL_LINES) {
            free(program->tail[0]);
            memmove(program->tail, program->tail + 1, sizeof(char *) * (TAIL_LINES - 1));
            program->tail_count--;
        }
        program->tail[program->tail_count++] = utf8_repair(text, program->line.size);
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

void show_watch(struct show *show, const char *program_name, show_line_fn *watch, void *data)
{
    struct program *program = find_program(show, program_name);

    program->watch = watch;
    program->watch_data = data;
}

void show_tail(struct show *show, const char *program_name)
{
    const struct program *program = find_program(show, program_name);

    clear_live_line(show);
    for (size_t i = 0; !is_shown(show, program) && i < program->tail_count; i++)
        put_line(show, program, program->tail[i]);
}

json_t *show_tail_lines(struct show *show, const char *program_name)
{
    const struct program *program = find_program(show, program_name);
    json_t *lines = json_array();

    for (size_t i = 0; i < program->tail_count; i++)
        json_array_append_new(lines, json_string(program->tail[i]));
    return lines;
}
