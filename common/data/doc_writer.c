/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_writer.h"

#include <string.h>

#include "common/base/utf8.h"
#include "common/data/doc_number.h"
#include "common/data/lexer.h"

void doc_writer_init(struct doc_writer *writer)
{
    *writer = (struct doc_writer){0};
    buffer_init(&writer->out, SIZE_MAX / 4);
}

void doc_put(struct doc_writer *writer, const char *text, size_t size)
{
    (void)!buffer_append(&writer->out, text, size, &writer->ignored);
}

void doc_put_text(struct doc_writer *writer, const char *text)
{
    doc_put(writer, text, strlen(text));
}

char *doc_writer_take(struct doc_writer *writer)
{
    return buffer_take(&writer->out);
}

/* Escapes that JSON and YAML have in common; NULL for other characters. */
static const char *short_escape(uint32_t code)
{
    switch (code) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

void doc_put_quoted(struct doc_writer *writer, const char *text, size_t size,
                    bool (*is_plain)(uint32_t code))
{
    size_t from = 0; /* start of the text, up to i, that is copied unchanged */

    doc_put_letter(writer, '"');
    for (size_t i = lexer_plain_length(text, size); i < size;
         i += lexer_plain_length(text + i, size - i)) {
        uint32_t code = 0xfffd;
        size_t length = utf8_decode(text + i, size - i, &code);
        const char *escape = short_escape(code);
        char number[12] = {0};

        if (length && !escape && is_plain(code)) {
            i += length;
            continue;
        }
        if (!escape)
            (void)snprintf(number, sizeof(number), "\\u%04x", code & 0xffffU);
        doc_put(writer, text + from, i - from);
        doc_put_text(writer, escape ? escape : number);
        i += length ? length : 1;
        from = i;
    }
    doc_put(writer, text + from, size - from);
    doc_put_letter(writer, '"');
}

void doc_put_simple(struct doc_writer *writer, const json_t *value)
{
    char number[DOC_REAL_MAX] = {0};

    if (json_is_integer(value))
        (void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        doc_format_real(json_real_value(value), number);
    doc_put_text(writer, json_is_number(value)  ? number
                         : json_is_true(value)  ? "true"
                         : json_is_false(value) ? "false"
                                                : "null");
}
