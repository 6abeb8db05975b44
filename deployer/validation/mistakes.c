/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/mistakes.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/places.h"
#include "deployer/validation/text.h"

/* Longer input (an image name, a key) is truncated in messages. */
enum { MISTAKE_TEXT_MAX = 400 };

void mistakes_done(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        free(mistakes->items[i].path);
        free(mistakes->items[i].text);
    }
    free(mistakes->items);
    *mistakes = (struct mistakes){0};
}

static const char *words_of(enum mistake_kind kind)
{
    switch (kind) {
    case MISTAKE_REQUIRED:
        return "Required value: ";
    case MISTAKE_INVALID:
        return "Invalid value: ";
    case MISTAKE_FORBIDDEN:
        return "Forbidden: ";
    case MISTAKE_DUPLICATE:
        return "Duplicate value: ";
    case MISTAKE_TOO_LONG:
        return "Too long: ";
    case MISTAKE_TYPE:
    case MISTAKE_UNKNOWN:
        break;
    }
    return "";
}

static void cut(char *text)
{
    text[text_cut(text, strlen(text), MISTAKE_TEXT_MAX)] = '\0';
}

void mistakes_add(struct mistakes *mistakes, enum mistake_kind kind, const char *path,
                  const char *format, ...)
{
    struct mistake *mistake = NULL;
    char *text = NULL;
    va_list arguments;
    int size = 0;

    if (kind != MISTAKE_UNKNOWN)
        mistakes->errors++;
    if (kind == MISTAKE_TYPE)
        mistakes->decode_errors++;
    if (mistakes->count >= MISTAKES_MAX && !mistakes->is_unbounded) {
        mistakes->dropped++;
        return;
    }
    va_start(arguments, format);
    size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        abort(); /* out of memory, as xmalloc() treats it */
    cut(text);

    mistakes->items = xreallocarray(mistakes->items, mistakes->count + 1, sizeof(*mistakes->items));
    mistake = &mistakes->items[mistakes->count++];
    *mistake = (struct mistake){
        .kind = kind,
        .path = xstrdup(path),
        .text = xasprintf("%s%s", words_of(kind), text),
    };
    cut(mistake->path);
    free(text);
}

void mistakes_add_type(struct mistakes *mistakes, const char *path, const char *expected,
                       const json_t *got)
{
    mistakes_add(mistakes, MISTAKE_TYPE, path, "expected %s, got %s", expected, doc_type_name(got));
}

/* Several errors as "[a, b]", as Go joins them. */
char *mistakes_text(const struct mistakes *mistakes)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};
    bool is_first = true;

    buffer_init(&text, MISTAKES_TEXT_MAX);
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct mistake *mistake = &mistakes->items[i];

        if (mistake->kind == MISTAKE_UNKNOWN)
            continue;
        if (buffer_append_text(&text, &err, "%s%s%s%s", is_first ? "" : ", ", mistake->path,
                               *mistake->path ? ": " : "", mistake->text) < 0)
            break;
        is_first = false;
    }
    if (mistakes->dropped > 0 &&
        buffer_append_text(&text, &err, ", and %zu more", mistakes->dropped) < 0)
        return buffer_take(&text);
    return mistakes->errors > 1 ? xasprintf("[%s]", text.data ? text.data : "")
                                : buffer_take(&text);
}

int mistakes_fail(const struct mistakes *mistakes, struct error *err)
{
    cleanup_free char *text = NULL;

    if (mistakes->errors == 0)
        return 0;
    text = mistakes_text(mistakes);
    return error_set(err, ERROR_INVALID, "%s", text);
}

char *path_member(const char *base, const char *key)
{
    const char *quote = place_key_is_quoted(key) ? "\"" : "";

    return xasprintf("%s%s%s%s%s", base, *base ? "." : "", quote, key, quote);
}

char *path_index(const char *base, size_t index)
{
    return xasprintf("%s[%zu]", base, index);
}
