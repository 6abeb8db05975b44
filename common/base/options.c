/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/options.h"

#include <getopt.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/suggest.h"

/* Long options without a letter get values past all characters. */
enum { LONG_ONLY = 256 };

struct tables {
    struct option *longs;
    char *shorts;
    size_t count;
};

static void tables_done(struct tables *tables)
{
    free(tables->longs);
    free(tables->shorts);
}

static void tables_init(struct tables *tables, const struct option_row *rows)
{
    size_t used = 0;

    *tables = (struct tables){0};
    while (rows[tables->count].name)
        tables->count++;
    tables->longs = xcalloc(tables->count + 1, sizeof(*tables->longs));
    tables->shorts = xcalloc(tables->count * 2 + 2, 1);
    tables->shorts[used++] = ':'; /* getopt() then tells a missing value from an unknown option */
    for (size_t i = 0; i < tables->count; i++) {
        bool has_value = rows[i].type != OPTION_FLAG;

        tables->longs[i] = (struct option){
            .name = rows[i].name,
            /* Go accepts "--flag=false". */
            .has_arg = has_value ? required_argument : optional_argument,
            .val = LONG_ONLY + (int)i,
        };
        if (!rows[i].letter)
            continue;
        tables->shorts[used++] = rows[i].letter;
        if (has_value)
            tables->shorts[used++] = ':';
    }
}

static void *field_of(const struct option_row *row, void *record)
{
    return (char *)record + row->offset;
}

static bool is_choice(const char *choices, const char *value)
{
    const char *word = NULL;
    int length = 0;

    while ((word = option_next_choice(&choices, &length))) {
        if (strlen(value) == (size_t)length && strncmp(word, value, (size_t)length) == 0)
            return true;
    }
    return false;
}

/* value is NULL for a flag without one. Returns false if the value is not allowed. */
static bool store(const struct option_row *row, void *record, const char *value)
{
    struct option_list *list = field_of(row, record);

    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)field_of(row, record) = !value || strcmp(value, "true") == 0;
        return !value || strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case OPTION_CHOICE:
    case OPTION_TEXT:
        *(const char **)field_of(row, record) = value;
        return row->type == OPTION_TEXT || is_choice(row->choices, value);
    case OPTION_TEXT_LIST:
        list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = value;
        break;
    }
    return true;
}

static void store_fallbacks(const struct option_row *rows, void *record)
{
    for (const struct option_row *row = rows; row->name; row++) {
        if (row->fallback)
            *(const char **)field_of(row, record) = row->fallback;
    }
}

static const struct option_row *find_row(const struct option_row *rows, int value)
{
    const struct option_row *row = rows;

    if (value >= LONG_ONLY)
        return &rows[value - LONG_ONLY];
    /* getopt() returns only letters of the table. */
    while (row->letter != value)
        row++;
    return row;
}

static int refuse(const struct option_command *command, const char *name, const char *fault,
                  struct error *err)
{
    return error_set(err, ERROR_INVALID, "option \"%s\" %s; see '%s --help'", name, fault,
                     command->program);
}

/* Why getopt() does not know a long option, which is given without its dashes: getopt() accepts
 * the beginning of a name, but it must be the beginning of only one. The caller frees. */
static char *explain_unknown(const struct option_row *rows, const char *given)
{
    struct suggestion suggestion = {.given = given};
    const char *first = NULL;

    for (const struct option_row *row = rows; row->name; row++) {
        bool is_prefix = *given && strncmp(row->name, given, strlen(given)) == 0;

        if (is_prefix && first)
            return xasprintf("is ambiguous (--%s or --%s?)", first, row->name);
        if (is_prefix)
            first = row->name;
        suggestion_offer(&suggestion, row->name);
    }
    if (suggestion.best)
        return xasprintf("is unknown (did you mean '--%s'?)", suggestion.best);
    return xstrdup("is unknown");
}

/* getopt() leaves the option in optopt, or 0 for an unknown long one. What follows '=' may be a
 * secret and is not shown. */
static int refuse_option(const struct option_command *command, char *const *argv, bool is_missing,
                         struct error *err)
{
    cleanup_free char *name = NULL;
    cleanup_free char *fault = NULL;

    if (optopt >= LONG_ONLY) {
        name = xasprintf("--%s", command->rows[optopt - LONG_ONLY].name);
    } else if (optopt) {
        name = xasprintf("-%c", optopt);
    } else {
        name = xstrndup(argv[optind - 1], strcspn(argv[optind - 1], "="));
        fault = explain_unknown(command->rows, name + strspn(name, "-"));
    }
    if (!fault)
        fault = xstrdup(is_missing ? "requires a value" : "is unknown");
    return refuse(command, name, fault, err);
}

/* "a, b or c". */
static char *list_choices(const char *choices)
{
    char *text = NULL;
    const char *word = NULL;
    int length = 0;

    while ((word = option_next_choice(&choices, &length))) {
        char *longer = xasprintf("%s%s%.*s", text ? text : "",
                                 !text      ? ""
                                 : *choices ? ", "
                                            : " or ",
                                 length, word);

        free(text);
        text = longer;
    }
    return text ? text : xstrdup("");
}

static int refuse_value(const struct option_command *command, const struct option_row *row,
                        struct error *err)
{
    cleanup_free char *name = xasprintf("--%s", row->name);
    cleanup_free char *choices = list_choices(row->choices);
    cleanup_free char *fault =
        row->type == OPTION_FLAG ? xstrdup("takes no value") : xasprintf("must be %s", choices);

    return refuse(command, name, fault, err);
}

/* Go accepts `-v=debug` for `-v debug`, and charts written for the Go deployer use it. */
static const char *value_of(int option, const char *text)
{
    return option < LONG_ONLY && text && text[0] == '=' ? text + 1 : text;
}

int options_parse(const struct option_command *command, int argc, char **argv, void *record,
                  int *ret_first, struct error *err)
{
    struct tables tables = {0};
    struct error later = {0};
    int result = 0;

    store_fallbacks(command->rows, record);
    tables_init(&tables, command->rows);
    opterr = 0;
    optind = 0; /* glibc and musl: start over, so that tests and subcommands can parse again */
    for (;;) {
        const struct option_row *row = NULL;
        struct error *fault = result == 0 ? err : &later;
        int value = 0;

        optopt = 0;
        value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        if (value == -1)
            break;
        if (value == ':' || value == '?') {
            result = refuse_option(command, argv, value == ':', fault);
            continue;
        }
        row = find_row(command->rows, value);
        if (!store(row, record, value_of(value, optarg)))
            result = refuse_value(command, row, fault);
    }
    *ret_first = optind;
    tables_done(&tables);
    return result;
}

const char *option_command_name(const struct option_command *command)
{
    const char *blank = strrchr(command->program, ' ');

    return blank ? blank + 1 : command->program;
}

int option_refuse_command(const struct option_command *program, const char *name, struct error *err)
{
    struct suggestion suggestion = {.given = name};

    for (size_t i = 0; program->commands[i]; i++)
        suggestion_offer(&suggestion, option_command_name(program->commands[i]));
    return error_set(err, ERROR_INVALID, "unknown command \"%s\"%s%s%s; see '%s --help'", name,
                     suggestion.best ? " (did you mean \"" : "",
                     suggestion.best ? suggestion.best : "", suggestion.best ? "\"?)" : "",
                     program->program);
}

const char *option_next_choice(const char **rest, int *ret_length)
{
    const char *word = *rest ? *rest + strspn(*rest, " ") : "";
    size_t length = strcspn(word, " ");

    *rest = word + length;
    *ret_length = (int)length;
    return length > 0 ? word : NULL;
}

char *option_describe(const struct option_row *row)
{
    cleanup_free char *choices = list_choices(row->choices);

    return xasprintf("%s%s%s%s%s%s", row->help, *choices ? ": " : "", choices,
                     row->fallback ? " (default " : "", row->fallback ? row->fallback : "",
                     row->fallback ? ")" : "");
}

void option_list_done(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){0};
}
