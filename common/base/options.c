/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/options.h"

#include <getopt.h>
#include <string.h>

#include "common/base/memory.h"

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
    tables->shorts[used++] = ':'; /* tell a missing argument from an unknown option */
    for (size_t i = 0; i < tables->count; i++) {
        bool has_value = rows[i].type != OPTION_FLAG;

        tables->longs[i] = (struct option){
            .name = rows[i].name,
            .has_arg = has_value ? required_argument : no_argument,
            .val = LONG_ONLY + (int)i,
        };
        if (!rows[i].letter)
            continue;
        tables->shorts[used++] = rows[i].letter;
        if (has_value)
            tables->shorts[used++] = ':';
    }
}

static void store(const struct option_row *row, const char *value)
{
    struct option_list *list = row->target;

    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)row->target = true;
        break;
    case OPTION_TEXT:
        *(const char **)row->target = value;
        break;
    case OPTION_TEXT_LIST:
        list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = value;
        break;
    }
}

static const struct option_row *find_row(const struct option_row *rows, int value)
{
    const struct option_row *row = rows;

    if (value >= LONG_ONLY)
        return &rows[value - LONG_ONLY];
    /* getopt returns only letters of the table, so one of the rows has it. */
    while (row->letter != value)
        row++;
    return row;
}

/* getopt leaves the option in optopt, or 0 for a long one that it does not know. A value behind '='
 * may be a secret, so it stays out. */
static int refuse(const struct option_command *command, char *const *argv, bool is_missing,
                  struct error *err)
{
    cleanup_free char *name = NULL;
    const char *fault = is_missing            ? "needs a value"
                        : optopt >= LONG_ONLY ? "takes no value"
                                              : "is not known";

    if (optopt >= LONG_ONLY)
        name = xasprintf("--%s", command->rows[optopt - LONG_ONLY].name);
    else if (optopt)
        name = xasprintf("-%c", optopt);
    else
        name = xstrndup(argv[optind - 1], strcspn(argv[optind - 1], "="));
    return error_set(err, ERROR_INVALID, "option '%s' %s; see '%s --help'", name, fault,
                     command->program);
}

/* Go's flag packages take `-v=debug` for `-v debug`, and charts written for them say so. */
static const char *value_of(int option, const char *text)
{
    return option < LONG_ONLY && text && text[0] == '=' ? text + 1 : text;
}

int options_parse(const struct option_command *command, int argc, char **argv, int *ret_first,
                  struct error *err)
{
    struct tables tables = {0};
    int value = 0;
    int result = 0;

    tables_init(&tables, command->rows);
    opterr = 0;
    optind = 0; /* glibc and musl: start over, so that tests and subcommands can parse again */
    while (result == 0) {
        optopt = 0;
        value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        if (value == -1)
            break;
        if (value == ':' || value == '?')
            result = refuse(command, argv, value == ':', err);
        else
            store(find_row(command->rows, value), value_of(value, optarg));
    }
    *ret_first = optind;
    tables_done(&tables);
    return result;
}

void options_print_help(const struct option_command *command, FILE *out)
{
    (void)fprintf(out, "Usage: %s %s\n%s.\n", command->program, command->synopsis,
                  command->summary);
    if (command->rows[0].name)
        (void)fprintf(out, "\nOptions:\n");
    for (const struct option_row *row = command->rows; row->name; row++) {
        char letter[6] = "    ";
        int width = 0;

        if (row->letter)
            (void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
        width = fprintf(out, "  %s--%s%s%s", letter, row->name, row->value_name ? " " : "",
                        row->value_name ? row->value_name : "");
        (void)fprintf(out, "%*s%s\n", width < 32 ? 32 - width : 1, "", row->help);
    }
}

void option_list_done(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){0};
}
