/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/plain.h"

#include <stdbool.h>

#include "common/data/word.h"

/* The lowest bit is in the first byte that is not plain. */
static uint64_t not_plain(uint64_t word)
{
    return word_below(word, ' ') | word_equal(word, '"') | word_equal(word, '\\') |
           word_equal(word, 0x7f) | (word & WORD_HIGH_BITS);
}

static bool is_plain_byte(char byte)
{
    return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

size_t plain_length(const char *text, size_t size)
{
    size_t length = 0;

    while (size - length >= sizeof(uint64_t)) {
        uint64_t found = not_plain(word_read(text + length));

        if (found)
            return length + word_first(found);
        length += sizeof(uint64_t);
    }
    while (length < size && is_plain_byte(text[length]))
        length++;
    return length;
}
