/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/secret_finder.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

static const char blanks[] = " \t\r\n";
static const char quotes[] = "\"'`";
static const char others[] = ";|&()<>{}[],$\\";
static const char joints[] = "=:@";

static bool is_one_of(const char *set, char letter)
{
    return letter == '\0' || strchr(set, letter);
}

static bool is_separator(char letter)
{
    return is_one_of(blanks, letter) || is_one_of(quotes, letter) || is_one_of(others, letter);
}

bool word_is_common(const char *word, size_t size)
{
    static const char *const common_words[] = {
        "always",  "boolean",   "continue", "default", "delete",    "disabled", "enabled",
        "finally", "function",  "integer",  "latest",  "localhost", "nothing",  "number",
        "object",  "reconcile", "required", "return",  "string",    "success"};

    for (size_t i = 0; i < array_length(common_words); i++) {
        /* With or without punctuation: "finally:", "return;". */
        size_t length = strlen(common_words[i]);

        if (size >= length && size <= length + 1 &&
            strncasecmp(word, common_words[i], length) == 0 &&
            (size == length || is_one_of(":;)", word[length])))
            return true;
    }
    return false;
}

static bool is_random(const char *word, size_t size)
{
    size_t digits = 0, letters = 0, rises = 0;
    bool is_path = memchr(word, '/', size) != NULL;

    for (size_t i = 0; i < size; i++) {
        digits += isdigit((unsigned char)word[i]) != 0;
        letters += isalpha((unsigned char)word[i]) != 0;
        rises += i > 0 && islower((unsigned char)word[i - 1]) && isupper((unsigned char)word[i]);
    }
    return (digits == size && size >= WORD_LENGTH_MIN) ||
           (digits && letters && size >= WORD_MIXED_MIN) ||
           (rises >= 2 && size >= WORD_BOTH_CASES_MIN) || (size >= WORD_LONG_MIN && !is_path);
}

struct line {
    const char *start, *end;
    secret_found_fn *fn;
    void *data;
};

static void find_value(const struct line *line, const char *value, size_t size)
{
    if (size >= WORD_LENGTH_MIN && !word_is_common(value, size))
        line->fn(line->data, value, size);
}

static const char *skip(const struct line *line, const char *at, const char *set)
{
    while (at < line->end && is_one_of(set, *at))
        at++;
    return at;
}

/* "name: value", "- name: value", "name = value": everything after the first word is the value. */
static void find_setting(const struct line *line)
{
    const char *at = skip(line, line->start, " \t-\"'");
    const char *end = line->end;

    while (at < line->end && !is_separator(*at) && *at != ':' && *at != '=')
        at++;
    at = skip(line, at, "\"' \t");
    if (at == line->start || at == line->end || (*at != ':' && *at != '='))
        return;
    at = skip(line, at + 1, " \t\"'");
    while (end > at && (is_one_of(blanks, end[-1]) || is_one_of(quotes, end[-1]) || end[-1] == ','))
        end--;
    if (end - at >= 2 && memcmp(at, "//", 2) != 0)
        find_value(line, at, (size_t)(end - at));
}

/* Whether word is the value of something: NAME=word, user:word, NAME="word ...", -p word */
static bool is_given(const struct line *line, const char *word)
{
    const char *before = word;

    if (before > line->start && is_one_of(quotes, before[-1]))
        before--;
    if (before > line->start && (before[-1] == '=' || before[-1] == ':'))
        return true;
    while (before > line->start && is_one_of(blanks, before[-1]))
        before--;
    if (before == word)
        return false;
    while (before > line->start && !is_separator(before[-1]))
        before--;
    return before < line->end && *before == '-';
}

static void find_word(const struct line *line, const char *word)
{
    const char *end = word;
    const char *whole_end = word;
    bool is_quoted = word > line->start && is_one_of(quotes, word[-1]);
    bool is_address = line->end - word >= 2 && memcmp(word, "//", 2) == 0;

    while (end < line->end && !is_separator(*end) && !is_one_of(joints, *end))
        end++;
    while (whole_end < line->end && !is_separator(*whole_end))
        whole_end++;
    if (is_random(word, (size_t)(whole_end - word)))
        line->fn(line->data, word, (size_t)(whole_end - word));
    if (end != whole_end && is_random(word, (size_t)(end - word)))
        line->fn(line->data, word, (size_t)(end - word));
    if (!is_given(line, word) || is_address)
        return;
    find_value(line, word, (size_t)(end - word));
    if (end != whole_end)
        find_value(line, word, (size_t)(whole_end - word));
    if (is_quoted) {
        const char *quote = memchr(word, word[-1], (size_t)(line->end - word));

        find_value(line, word, (size_t)((quote ? quote : line->end) - word));
    }
}

static void find_in_line(const struct line *line)
{
    bool is_start = true;

    find_setting(line);
    for (const char *at = line->start; at < line->end; at++) {
        bool is_joint = is_one_of(joints, *at);

        if (is_start && !is_joint && !is_separator(*at))
            find_word(line, at);
        is_start = is_joint || is_separator(*at);
    }
}

void secret_finder_run(const char *text, size_t size, secret_found_fn *fn, void *data)
{
    struct line line = {.start = text, .fn = fn, .data = data};

    for (size_t i = 0; i <= size; i++) {
        if (i < size && text[i] != '\n' && text[i] != '\0')
            continue;
        line.end = text + i;
        find_in_line(&line);
        line.start = text + i + 1;
    }
}
