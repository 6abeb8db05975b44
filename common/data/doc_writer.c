/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_writer.h"

#include <string.h>

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

const char *doc_short_escape(uint32_t code)
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
