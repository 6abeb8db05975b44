/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: output of the JSON and YAML writers. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"

struct doc_writer {
    struct buffer out;
    struct error ignored; /* there is no limit but the memory, and then xmalloc() aborts */
};

void doc_writer_init(struct doc_writer *writer);
void doc_put(struct doc_writer *writer, const char *text, size_t size);
void doc_put_text(struct doc_writer *writer, const char *text);
/* Inline, because every second token of JSON is one letter. */
static inline void doc_put_letter(struct doc_writer *writer, char letter)
{
    struct buffer *out = &writer->out;

    if (out->size + 1 >= out->capacity) {
        doc_put(writer, &letter, 1);
        return;
    }
    out->data[out->size++] = letter;
    out->data[out->size] = '\0';
}

/* Returns the text, which belongs to the caller, and ends the writer. */
char *doc_writer_take(struct doc_writer *writer);

/* Writes a quoted string. Characters for which is_plain() is false are escaped; invalid UTF-8
 * becomes an escaped U+FFFD. */
void doc_put_quoted(struct doc_writer *writer, const char *text, size_t size,
                    bool (*is_plain)(uint32_t code));
/* Writes a number, a boolean or null, which are the same in JSON and YAML. */
void doc_put_simple(struct doc_writer *writer, const json_t *value);
