/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: a text that grows while a document is written. */
#pragma once

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
/* The whole, which belongs to the caller; the writer is done with. */
char *doc_writer_take(struct doc_writer *writer);

/* "\"", "\\", "\n", "\r", "\t" as JSON and YAML both write them; NULL for the rest. */
const char *doc_short_escape(uint32_t code);
