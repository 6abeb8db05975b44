/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: a text that grows while a document is written. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"

struct doc_writer {
    struct buffer out;
    struct error ignored; /* the limit of what is written is memory, and there we abort */
};

void doc_writer_init(struct doc_writer *writer);
void doc_put(struct doc_writer *writer, const char *text, size_t size);
void doc_put_text(struct doc_writer *writer, const char *text);
/* Every second piece of JSON is one letter: this is not worth two calls. */
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

/* The whole, which belongs to the caller; the writer is done with. */
char *doc_writer_take(struct doc_writer *writer);

/* In quotes; code points that are not plain are escaped, and so is what is no UTF-8, as U+FFFD. */
void doc_put_quoted(struct doc_writer *writer, const char *text, size_t size,
                    bool (*is_plain)(uint32_t code));
/* A number, a boolean or null, which JSON and YAML write alike. */
void doc_put_simple(struct doc_writer *writer, const json_t *value);
