/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/status/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"

void text_duration(int64_t ms, char ret_text[TEXT_DURATION_MAX])
{
    static const struct {
        int64_t seconds;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int64_t seconds = ms / 1000;

    for (size_t i = 0; i + 1 < array_length(units); i++) {
        int64_t small = seconds % units[i].seconds / units[i + 1].seconds;

        if (seconds < units[i].seconds)
            continue;
        if (small == 0)
            (void)snprintf(ret_text, TEXT_DURATION_MAX, "%" PRId64 "%c", seconds / units[i].seconds,
                           units[i].letter);
        else
            (void)snprintf(ret_text, TEXT_DURATION_MAX, "%" PRId64 "%c%" PRId64 "%c",
                           seconds / units[i].seconds, units[i].letter, small, units[i + 1].letter);
        return;
    }
    (void)snprintf(ret_text, TEXT_DURATION_MAX, "%" PRId64 "s", seconds);
}

char *text_printable(const char *text, size_t size)
{
    char *copy = xmemdup(text, size + 1);

    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)copy[i];

        /* C1 control characters are two bytes in UTF-8, 0xc2 0x80 to 0xc2 0x9f. */
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
            copy[i] = '?';
        else if (byte == 0xc2 && i + 1 < size && (unsigned char)copy[i + 1] < 0xa0)
            copy[i] = copy[i + 1] = '?';
    }
    return copy;
}
