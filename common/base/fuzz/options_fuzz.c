/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that was understood, written out in full again (--name=value, then -- and the
 * operands), is understood as the same. One that was not is told why, without the values behind
 * '=', which may be secrets. Input: whether values get a canary, then words, each ended by a NUL.
 */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/fuzz/words.h"

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

/* At the end of every value behind '='. */
static void mark_values(struct words *words)
{
    for (int i = 1; i < words->count; i++) {
        char *word = words->items[i];

        if (!strchr(word, '='))
            continue;
        words->items[i] = xasprintf("%s" CANARY, word);
        free(word);
    }
}

static void write_full(struct words *words, const struct record *record, char *const *operands)
{
    words_add(words, xstrdup("fuzzed"));
    words_add(words, xasprintf("--loud=%s", record->is_loud ? "true" : "false"));
    if (record->name)
        words_add(words, xasprintf("--name=%s", record->name));
    words_add(words, xasprintf("--kind=%s", record->kind));
    if (record->plain)
        words_add(words, xasprintf("--named=%s", record->plain));
    for (size_t i = 0; i < record->files.count; i++)
        words_add(words, xasprintf("--file=%s", record->files.items[i]));
    words_add(words, xstrdup("--"));
    for (; *operands; operands++)
        words_add(words, xstrdup(*operands));
}

static void check_again(const struct record *record, char *const *operands)
{
    struct words words = {0};
    struct record again = {0};
    struct error err = {0};
    int first = 0;

    write_full(&words, record, operands);
    must(options_parse(&command, words.count, words.items, &again, &first, &err) == 0);
    must(again.is_loud == record->is_loud && again.files.count == record->files.count);
    must(is_same_text(again.name, record->name) && is_same_text(again.kind, record->kind));
    must(is_same_text(again.plain, record->plain));
    for (size_t i = 0; i < again.files.count; i++)
        must(is_same_text(again.files.items[i], record->files.items[i]));
    for (; *operands; operands++)
        must(is_same_text(words.items[first++], *operands));
    must(first == words.count);
    option_list_done(&again.files);
    words_done(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = {0};
    struct record record = {0};
    struct error err = {0};
    int first = 0;

    if (size == 0 || memmem(data, size, CANARY, strlen(CANARY)))
        return 0;
    words_split(&words, data + 1, size - 1);
    if (data[0] % 2 == 1)
        mark_values(&words);
    if (options_parse(&command, words.count, words.items, &record, &first, &err) < 0) {
        must(err.kind == ERROR_INVALID && strstr(err.text, "option '") != NULL);
        must(!strstr(err.text, CANARY));
    } else {
        must(first > 0 && first <= words.count);
        must(is_same_text(record.kind, "one") || is_same_text(record.kind, "two"));
        check_again(&record, words.items + first);
    }
    option_list_done(&record.files);
    words_done(&words);
    return 0;
}
