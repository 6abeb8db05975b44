/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/status/show.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/data/timestamp.h"
#include "deployer/status/text.h"
#include "deployer/validation/text.h"

enum { AGE_WIDTH = 8, STEP_WIDTH = 10, STATE_WIDTH = 8, TIME_WIDTH = 20, LABEL_WIDTH = 13 };

/* ---- lists ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void show_columns_init(struct show_columns *columns)
{
    struct winsize size = {0};

    *columns = (struct show_columns){
        .namespace_width = strlen("NAMESPACE"),
        .name_width = strlen("NAME"),
        .type_width = strlen("TYPE"),
        .phase_width = strlen("Progressing"),
    };
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        columns->screen_width = size.ws_col;
}

void show_columns_add(struct show_columns *columns, const struct view *view)
{
    columns->namespace_width = larger(columns->namespace_width, strlen(view->namespace_name));
    columns->name_width = larger(columns->name_width, strlen(view->name));
    columns->type_width = larger(columns->type_width, strlen(view->type));
    columns->phase_width = larger(columns->phase_width, strlen(view->phase));
}

static void print_cells(const struct show_columns *columns, const char *const cells[7])
{
    cleanup_free char *line = xasprintf(
        "%-*s  %-*s  %-*s  %-*s  %-*s  %-*s  %s", (int)columns->namespace_width, cells[0],
        (int)columns->name_width, cells[1], (int)columns->type_width, cells[2],
        (int)columns->phase_width, cells[3], AGE_WIDTH, cells[4], AGE_WIDTH, cells[5], cells[6]);
    cleanup_free char *clean = text_printable(line, strlen(line));
    size_t length = strlen(clean);

    if (columns->screen_width > 0)
        length = text_cut(clean, length, columns->screen_width);
    while (length > 0 && clean[length - 1] == ' ')
        length--;
    (void)printf("%.*s\n", (int)length, clean);
}

void show_header(const struct show_columns *columns)
{
    static const char *const cells[] = {"NAMESPACE", "NAME",     "TYPE",  "PHASE",
                                        "AGE",       "DURATION", "REASON"};

    print_cells(columns, cells);
}

void show_row(const struct show_columns *columns, const struct view *view, int64_t now_unix_ms)
{
    int64_t duration_ms = view_duration_ms(view, now_unix_ms);
    char age[TEXT_DURATION_MAX] = "-", duration[TEXT_DURATION_MAX] = "-";
    cleanup_free char *waiting =
        *view->reason || !view->waiting_for ? NULL : xasprintf("waits for %s", view->waiting_for);
    const char *const cells[] = {
        view->namespace_name,
        view->name,
        view->type,
        *view->phase ? view->phase : "-",
        age,
        duration,
        *view->reason ? view->reason
        : waiting     ? waiting
                      : "",
    };

    if (view->created_unix_ms && now_unix_ms > view->created_unix_ms)
        text_duration(now_unix_ms - view->created_unix_ms, age);
    if (duration_ms >= 0)
        text_duration(duration_ms, duration);
    print_cells(columns, cells);
}

/* ---- one item ---- */

static void print_field(const char *label, const char *text)
{
    cleanup_free char *clean = text_printable(text, strlen(text));

    if (*clean)
        (void)printf("%-*s%s\n", LABEL_WIDTH, label, clean);
}

static void print_step(const struct view_step *step, int64_t now_unix_ms)
{
    int64_t at = step->finished_unix_ms ? step->finished_unix_ms : step->started_unix_ms;
    int64_t end = step->state == STEP_RUNNING ? now_unix_ms : step->finished_unix_ms;
    char time[TIMESTAMP_MAX] = "", duration[TEXT_DURATION_MAX] = "";
    cleanup_free char *detail =
        step->detail ? text_printable(step->detail, strlen(step->detail)) : NULL;
    cleanup_free char *line = NULL;
    size_t length = 0;

    if (at)
        timestamp_format(at, time);
    if (step->started_unix_ms && end > step->started_unix_ms)
        text_duration(end - step->started_unix_ms, duration);
    line = xasprintf("  %-*s  %-*s  %-*s  %-*s  %s", STEP_WIDTH, step->name, STATE_WIDTH,
                     step_state_name(step->state), TIME_WIDTH, time, AGE_WIDTH, duration,
                     detail ? detail : "");
    length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    (void)printf("%.*s\n", (int)length, line);
}

void show_error(const struct view *view)
{
    if (*view->message) {
        cleanup_free char *error =
            xasprintf("%s%s%s: %s", view->operation, *view->operation ? ", " : "", view->reason,
                      view->message);

        print_field("error", error);
    }
    if (view->hint) {
        print_field("cause", view->hint->cause);
        print_field("solution", view->hint->solution);
    }
}

void show_item(const struct view *view, int64_t now_unix_ms)
{
    cleanup_free char *name = xasprintf("%s/%s", view->namespace_name, view->name);
    int64_t duration_ms = view_duration_ms(view, now_unix_ms);
    char age[TEXT_DURATION_MAX] = "", duration[TEXT_DURATION_MAX] = "";

    if (view->created_unix_ms && now_unix_ms > view->created_unix_ms)
        text_duration(now_unix_ms - view->created_unix_ms, age);
    if (duration_ms >= 0)
        text_duration(duration_ms, duration);
    print_field("item", name);
    print_field("type", view->type);
    print_field("phase", *view->phase ? view->phase : "-");
    print_field("age", age);
    print_field("job", view->job);
    print_field("duration", duration);
    print_field("pod", view->pod ? view->pod : "");
    (void)printf("timeline\n");
    for (size_t i = 0; i < STEP_COUNT; i++)
        print_step(&view->steps[i], now_unix_ms);
    print_field("waits for", view->waiting_for ? view->waiting_for : "");
    show_error(view);
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

void show_changes(const struct view *before, const struct view *view, int64_t now_unix_ms)
{
    bool has_changed = !is_same(before->job, view->job);

    if (has_changed)
        print_field("job", view->job);
    if (!is_same(before->phase, view->phase))
        print_field("phase", view->phase);
    for (size_t i = 0; i < STEP_COUNT; i++) {
        const struct view_step *old = &before->steps[i], *step = &view->steps[i];

        if (has_changed || old->state != step->state || !is_same(old->detail, step->detail))
            print_step(step, now_unix_ms);
    }
    if (!is_same(before->reason, view->reason) || !is_same(before->message, view->message))
        show_error(view);
}

void show_log(const char *container, const char *origin, const char *text)
{
    cleanup_free char *clean = text_printable(text, strlen(text));
    char *line = clean;

    (void)printf("last lines of %s%s\n", container, origin);
    while (*line) {
        size_t length = strcspn(line, "\n");

        (void)printf("  | %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}
