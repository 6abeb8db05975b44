/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/print.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/terminal.h"
#include "common/data/doc.h"

static const struct {
    const char *action; /* in the document */
    const char *title;  /* for people */
    enum terminal_style style;
} actions[] = {
    {"created", "created", TERMINAL_GOOD},      {"changed", "changed", TERMINAL_WARNING},
    {"deleted", "deleted", TERMINAL_BAD},       {"unchanged", "unchanged", TERMINAL_DIM},
    {"leftAlone", "left alone", TERMINAL_BOLD}, {"failed", "failed", TERMINAL_BAD},
};

static const char *plain(const struct terminal *terminal)
{
    return terminal_style(terminal, TERMINAL_PLAIN);
}

static void print_title(const struct terminal *terminal, const char *action, const char *object)
{
    for (size_t i = 0; i < array_length(actions); i++) {
        if (strcmp(actions[i].action, action) == 0)
            (void)printf("%s%-10s%s %s\n", terminal_style(terminal, actions[i].style),
                         actions[i].title, plain(terminal), object);
    }
}

static enum terminal_style style_of_line(char mark)
{
    switch (mark) {
    case '-':
        return TERMINAL_BAD;
    case '+':
        return TERMINAL_GOOD;
    case '@':
        return TERMINAL_DIM;
    default:
        return TERMINAL_PLAIN;
    }
}

static void print_diff(const struct terminal *terminal, const char *diff, const char *action,
                       const char *object)
{
    bool is_created = strcmp(action, "created") == 0;
    bool is_deleted = strcmp(action, "deleted") == 0;

    (void)printf("--- %s\n", is_created ? "/dev/null" : object);
    (void)printf("+++ %s\n", is_deleted ? "/dev/null" : object);
    while (*diff) {
        size_t size = strcspn(diff, "\n");

        (void)printf("%s%.*s%s\n", terminal_style(terminal, style_of_line(*diff)), (int)size, diff,
                     plain(terminal));
        diff += size + (diff[size] == '\n');
    }
}

static void print_object(const struct terminal *terminal, const json_t *row)
{
    const char *action = doc_text_or(row, "action", "");
    const char *namespace_name = doc_text_or(row, "namespace", "");
    const char *diff = doc_text(row, "diff");
    const char *error = doc_text(row, "error");
    cleanup_free char *object = xasprintf("%s %s%s%s", doc_text_or(row, "kind", ""), namespace_name,
                                          *namespace_name ? "/" : "", doc_text_or(row, "name", ""));
    const json_t *note = NULL;
    size_t index = 0;

    print_title(terminal, action, object);
    if (error)
        terminal_print(terminal, error, 0, 2);
    json_array_foreach(doc_get(row, "notes"), index, note)
    {
        (void)printf("note: ");
        terminal_print(terminal, json_string_value(note), strlen("note: "), 2);
    }
    if (diff)
        print_diff(terminal, diff, action, object);
}

static void print_summary(const json_t *summary)
{
    for (size_t i = 0; i < array_length(actions); i++)
        (void)printf("%s%lld %s", i ? ", " : "",
                     (long long)doc_integer_or(summary, actions[i].action, 0), actions[i].title);
    (void)printf("\n");
}

void print_comparison(const json_t *document)
{
    struct terminal terminal = {0};
    const json_t *value = NULL;
    size_t index = 0;

    terminal_init(&terminal, stdout);
    json_array_foreach(doc_get(document, "objects"), index, value) print_object(&terminal, value);
    json_array_foreach(doc_get(document, "notes"), index, value)
    {
        (void)printf("note: ");
        terminal_print(&terminal, json_string_value(value), strlen("note: "), 2);
    }
    print_summary(doc_get(document, "summary"));
}
