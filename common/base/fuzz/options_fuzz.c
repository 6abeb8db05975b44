/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an accepted command line, written out in full (--name=value, then -- and the
 * operands), gives the same result. The error for a rejected one has a text without the values
 * after '=', which may be secrets. Input: whether values get a canary, then NUL-terminated
 * arguments. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/fuzz/arguments.h"

#define CANARY "canary-5d41402a"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct record {
    bool is_loud;
    const char *name, *kind, *plain;
    struct option_list files;
};

static const struct option_row rows[] = {
    option_flag("loud", 'l', struct record, is_loud, "a flag"),
    option_text("name", 'n', struct record, name, "NAME", "a text"),
    option_choice("kind", 'k', struct record, kind, "KIND", "a choice", "one two", "one"),
    option_text("named", 0, struct record, plain, "TEXT", "begins like another"),
    option_texts("file", 'f', struct record, files, "FILE", "a list"),
    {0},
};
static const struct option_command command = {
    .program = "fuzzed", .synopsis = "[OPTIONS]", .summary = "Is fuzzed", .rows = rows};

/* Appends the canary to every value after '='. */
static void mark_values(struct arguments *arguments)
{
    for (int i = 1; i < arguments->count; i++) {
        char *argument = arguments->items[i];

        if (!strchr(argument, '='))
            continue;
        arguments->items[i] = xasprintf("%s" CANARY, argument);
        free(argument);
    }
}

static void write_full(struct arguments *arguments, const struct record *record,
                       char *const *operands)
{
    arguments_add(arguments, xstrdup("fuzzed"));
    arguments_add(arguments, xasprintf("--loud=%s", record->is_loud ? "true" : "false"));
    if (record->name)
        arguments_add(arguments, xasprintf("--name=%s", record->name));
    arguments_add(arguments, xasprintf("--kind=%s", record->kind));
    if (record->plain)
        arguments_add(arguments, xasprintf("--named=%s", record->plain));
    for (size_t i = 0; i < record->files.count; i++)
        arguments_add(arguments, xasprintf("--file=%s", record->files.items[i]));
    arguments_add(arguments, xstrdup("--"));
    for (; *operands; operands++)
        arguments_add(arguments, xstrdup(*operands));
}

static void check_again(const struct record *record, char *const *operands)
{
    struct arguments arguments = {0};
    struct record again = {0};
    struct error err = {0};
    int first = 0;

    write_full(&arguments, record, operands);
    must(options_parse(&command, arguments.count, arguments.items, &again, &first, &err) == 0);
    must(again.is_loud == record->is_loud && again.files.count == record->files.count);
    must(is_same_text(again.name, record->name) && is_same_text(again.kind, record->kind));
    must(is_same_text(again.plain, record->plain));
    for (size_t i = 0; i < again.files.count; i++)
        must(is_same_text(again.files.items[i], record->files.items[i]));
    for (; *operands; operands++)
        must(is_same_text(arguments.items[first++], *operands));
    must(first == arguments.count);
    option_list_done(&again.files);
    arguments_done(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arguments arguments = {0};
    struct record record = {0};
    struct error err = {0};
    int first = 0;

    if (size == 0 || memmem(data, size, CANARY, strlen(CANARY)))
        return 0;
    arguments_split(&arguments, data + 1, size - 1);
    if (data[0] % 2 == 1)
        mark_values(&arguments);
    if (options_parse(&command, arguments.count, arguments.items, &record, &first, &err) < 0) {
        must(err.kind == ERROR_INVALID && strstr(err.text, "option \"") != NULL);
        must(!strstr(err.text, CANARY));
    } else {
        must(first > 0 && first <= arguments.count);
        must(is_same_text(record.kind, "one") || is_same_text(record.kind, "two"));
        check_again(&record, arguments.items + first);
    }
    option_list_done(&record.files);
    arguments_done(&arguments);
    return 0;
}
