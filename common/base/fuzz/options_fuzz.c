/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that was understood, written out in full again (--name=value, then -- and the
 * operands), is understood as the same. One that was not is told why, without the values behind
 * '=', which may be secrets. Input: whether values get a canary, then words, each ended by a NUL.
 */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/options.h"

enum { WORDS_MAX = 64, ROWS = 5 };
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

struct words {
    char *items[WORDS_MAX * 2 + ROWS + 3];
    int count;
};

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void add(struct words *words, char *word)
{
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

static void words_done(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->items[i]);
}

static void split(struct words *words, const char *data, size_t size, bool has_canary)
{
    add(words, xstrdup("fuzzed"));
    while (size > 0 && words->count <= WORDS_MAX) {
        size_t length = strnlen(data, size);
        size_t used = length < size ? length + 1 : length;
        cleanup_free char *word = xstrndup(data, length);

        add(words, xasprintf("%s%s", word, has_canary && strchr(word, '=') ? CANARY : ""));
        data += used;
        size -= used;
    }
}

static void write_full(struct words *words, const struct record *record, char *const *operands)
{
    add(words, xstrdup("fuzzed"));
    add(words, xasprintf("--loud=%s", record->is_loud ? "true" : "false"));
    if (record->name)
        add(words, xasprintf("--name=%s", record->name));
    add(words, xasprintf("--kind=%s", record->kind));
    if (record->plain)
        add(words, xasprintf("--named=%s", record->plain));
    for (size_t i = 0; i < record->files.count; i++)
        add(words, xasprintf("--file=%s", record->files.items[i]));
    add(words, xstrdup("--"));
    for (; *operands; operands++)
        add(words, xstrdup(*operands));
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
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
    must(is_same(again.name, record->name) && is_same(again.kind, record->kind));
    must(is_same(again.plain, record->plain));
    for (size_t i = 0; i < again.files.count; i++)
        must(is_same(again.files.items[i], record->files.items[i]));
    for (; *operands; operands++)
        must(is_same(words.items[first++], *operands));
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
    split(&words, (const char *)data + 1, size - 1, data[0] % 2 == 1);
    if (options_parse(&command, words.count, words.items, &record, &first, &err) < 0) {
        must(err.kind == ERROR_INVALID && strstr(err.text, "option '") != NULL);
        must(!strstr(err.text, CANARY));
    } else {
        must(first > 0 && first <= words.count);
        must(is_same(record.kind, "one") || is_same(record.kind, "two"));
        check_again(&record, words.items + first);
    }
    option_list_done(&record.files);
    words_done(&words);
    return 0;
}
