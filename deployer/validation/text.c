/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/validation/text.h"

#include <string.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t text_cut(const char *bytes, size_t size, size_t max)
{
    size_t end = max;

    if (size <= max)
        return size;
    while (end > 0 && is_continuation(bytes[end]))
        end--;
    return end;
}

size_t text_tail(const char *bytes, size_t size, size_t max)
{
    size_t start = size - max;

    if (size <= max)
        return 0;
    while (start < size && is_continuation(bytes[start]))
        start++;
    return start;
}

static bool is_same_word(const char *word, size_t size, const char *other, size_t other_size)
{
    static const char digits[] = "0123456789";
    size_t start = 0;

    if (size == other_size && memcmp(word, other, size) == 0)
        return true;
    if (*word == '\'' || *word == '"')
        return false;
    start = strcspn(word, digits);
    return start < size && start < other_size && start == strcspn(other, digits) &&
           memcmp(word, other, start) == 0;
}

bool text_is_same_but_for_numbers(const char *text, const char *other)
{
    static const char blanks[] = " \t\n";

    for (;;) {
        size_t size = strcspn(text, blanks), other_size = strcspn(other, blanks);

        if (!is_same_word(text, size, other, other_size) || text[size] != other[other_size])
            return false;
        if (!text[size])
            return true;
        text += size + 1;
        other += other_size + 1;
    }
}
