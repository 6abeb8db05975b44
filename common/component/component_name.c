/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/component_name.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Counts the labels of a dotted name; each is a lower-case letter followed by characters of the
 * set. Returns 0 if the text is malformed. *ret_last is the last label. */
static size_t count_labels(const char *text, size_t length, const char *set, const char **ret_last)
{
    const char *end = text + length;
    size_t count = 0;

    for (;;) {
        size_t label = 0;

        if (text >= end || !strchr(LOWER, *text) || !*text)
            return 0;
        *ret_last = text;
        label = strspn(text, set);
        if (text + label >= end)
            return text + label == end ? count + 1 : 0;
        if (text[label] != '.')
            return 0;
        count++;
        text += label + 1;
    }
}

bool component_name_is_valid(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *last = NULL;
    size_t length = 0;

    if (!slash || strlen(text) > COMPONENT_NAME_MAX_BYTES)
        return false;
    if (count_labels(text, (size_t)(slash - text), "-" LOWER DIGITS, &last) < 2)
        return false;
    length = (size_t)(slash - last);
    if (length < 2 || strspn(last, LOWER) != length)
        return false;
    while (slash) {
        const char *segment = slash + 1;

        slash = strchr(segment, '/');
        length = slash ? (size_t)(slash - segment) : strlen(segment);
        if (count_labels(segment, length, "-_" LOWER DIGITS, &last) == 0)
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
