/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/wrap.h"

#include <stdbool.h>
#include <string.h>

/* Bytes that continue a character do not take up a column. */
static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;

    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void wrap_print(FILE *out, const char *text, size_t column, size_t indent, size_t width)
{
    bool is_line_empty = true;

    for (;;) {
        size_t length = strcspn(text, " \n");
        size_t columns = columns_of(text, length);

        if (!is_line_empty && columns > 0) {
            if (column + 1 + columns > width) {
                (void)fprintf(out, "\n%*s", (int)indent, "");
                column = indent;
            } else {
                (void)fputc(' ', out);
                column++;
            }
        }
        (void)fprintf(out, "%.*s", (int)length, text);
        column += columns;
        is_line_empty = is_line_empty && columns == 0;
        text += length;
        if (!*text)
            break;
        if (*text++ == '\n') {
            (void)fprintf(out, "\n%*s", *text ? (int)indent : 0, "");
            column = indent;
            is_line_empty = true;
            if (!*text)
                return;
        }
    }
    (void)fputc('\n', out);
}
