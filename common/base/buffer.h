/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer that is born with a maximum: data from outside can never grow it past that.
 * The bytes are always followed by a NUL that is not counted, so data can be read as text. */
#pragma once

#include <stddef.h>

#include "common/base/error.h"

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t max;
};

void buffer_init(struct buffer *buffer, size_t max);
void buffer_done(struct buffer *buffer);  /* zeroed memory and a done buffer are fine */
void buffer_clear(struct buffer *buffer); /* keeps the memory */

/* Both fail with ERROR_TOO_LARGE, and then leave the buffer as it was. */
int buffer_append(struct buffer *buffer, const void *data, size_t size, struct error *err)
    must_check;
int buffer_append_text(struct buffer *buffer, struct error *err, const char *format, ...)
    printf_like(3, 4) must_check;

/* Never fails: what is over the maximum goes from the front, so that the last bytes are kept. */
void buffer_append_tail(struct buffer *buffer, const void *data, size_t size);

/* Removes size bytes from the front; size is at most buffer->size. */
void buffer_consume(struct buffer *buffer, size_t size);
/* The bytes as a string that belongs to the caller; the buffer is empty afterwards. Never NULL. */
char *buffer_take(struct buffer *buffer);

static inline void buffer_donep(struct buffer *buffer)
{
    buffer_done(buffer);
}
#define cleanup_buffer __attribute__((cleanup(buffer_donep)))
