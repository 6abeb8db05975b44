/* SPDX-License-Identifier: Apache-2.0 */
#include "init/component/names.h"

#include <string.h>
#include <strings.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* One or more words with dots between, each a letter and then characters of the set. Returns the
 * number of words, 0 if it is something else; *ret_last is the last word. */
static size_t dotted_words(const char *text, size_t length, const char *set, const char **ret_last)
{
    const char *end = text + length;
    size_t count = 0;

    for (;;) {
        size_t word = 0;

        if (text >= end || !strchr(LOWER, *text) || !*text)
            return 0;
        *ret_last = text;
        word = strspn(text, set);
        if (text + word >= end)
            return text + word == end ? count + 1 : 0;
        if (text[word] != '.')
            return 0;
        count++;
        text += word + 1;
    }
}

bool component_name_is_valid(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *last = NULL;
    size_t length = 0;

    if (!slash || strlen(text) > COMPONENT_NAME_MAX_BYTES)
        return false;
    if (dotted_words(text, (size_t)(slash - text), "-" LOWER DIGITS, &last) < 2)
        return false;
    length = (size_t)(slash - last);
    if (length < 2 || strspn(last, LOWER) != length)
        return false;
    while (slash) {
        const char *segment = slash + 1;

        slash = strchr(segment, '/');
        length = slash ? (size_t)(slash - segment) : strlen(segment);
        if (dotted_words(segment, length, "-_" LOWER DIGITS, &last) == 0)
            return false;
    }
    return true;
}

bool element_name_is_valid(const char *text)
{
    size_t length = strlen(text);

    return length >= 2 && strspn(text, "-_+" LOWER DIGITS) == length && !strchr("-_+", text[0]) &&
           !strchr("-_+", text[length - 1]);
}

/* identifier(.identifier)*, of letters, digits and "-". */
static const char *skip_identifiers(const char *at)
{
    for (;;) {
        size_t length = strspn(at, LETTERS DIGITS "-");

        if (length == 0)
            return NULL;
        at += length;
        if (*at != '.')
            return at;
        at++;
    }
}

bool version_is_valid(const char *text)
{
    const char *at = *text == 'v' ? text + 1 : text;

    for (int numbers = 1;; numbers++) {
        size_t length = strspn(at, DIGITS);

        if (length == 0)
            return false;
        at += length;
        if (*at != '.')
            break;
        if (numbers == 3)
            return false;
        at++;
    }
    if (*at == '-' && !(at = skip_identifiers(at + 1)))
        return false;
    if (*at == '+' && !(at = skip_identifiers(at + 1)))
        return false;
    return *at == '\0' && strlen(text) <= COMPONENT_NAME_MAX_BYTES;
}

char *version_tag(const char *version)
{
    const char *plus = strchr(version, '+');

    if (!plus)
        return xstrdup(version);
    return xasprintf("%.*s.build-%s", (int)(plus - version), version, plus + 1);
}

bool typed_is(const json_t *object, const char *const *kinds)
{
    const char *type = typed_text(object, "type");

    for (; type && *kinds; kinds++) {
        size_t length = strlen(*kinds);

        if (strncmp(type, *kinds, length) == 0 &&
            (type[length] == '\0' || strcmp(type + length, "/v1") == 0))
            return true;
    }
    return false;
}

const json_t *typed_member(const json_t *object, const char *key)
{
    const json_t *exact = doc_member(object, key);
    const char *name = NULL;
    json_t *value = NULL;

    if (exact || !json_is_object(object))
        return exact;
    doc_foreach(object, name, value)
    {
        if (strcasecmp(name, key) == 0)
            return value;
    }
    return NULL;
}

const char *typed_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(typed_member(object, key));

    return text && *text ? text : NULL;
}
