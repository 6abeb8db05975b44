/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer with a maximum size, so that data from outside cannot exhaust the memory.
 * The bytes are always followed by a NUL that is not counted in size, so that data can be used as a
 * C string; data is NULL as long as nothing was appended. */
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
void buffer_done(struct buffer *buffer);  /* also for zeroed memory, and twice */
void buffer_clear(struct buffer *buffer); /* keeps the memory */

/* Both fail with ERROR_TOO_LARGE and then leave the buffer unchanged. */
int buffer_append(struct buffer *buffer, const void *data, size_t size, struct error *err)
    must_check;
int buffer_append_text(struct buffer *buffer, struct error *err, const char *format, ...)
    printf_like(3, 4) must_check;

/* Never fails: drops bytes from the front where needed, so that the last max bytes are kept. */
void buffer_append_tail(struct buffer *buffer, const void *data, size_t size);

/* Removes size bytes from the front; size is at most buffer->size. */
void buffer_consume(struct buffer *buffer, size_t size);
/* Returns the bytes as a string that belongs to the caller, and empties the buffer. Never NULL. */
char *buffer_take(struct buffer *buffer);

static inline void buffer_donep(struct buffer *buffer)
{
    buffer_done(buffer);
}
#define cleanup_buffer __attribute__((cleanup(buffer_donep)))
