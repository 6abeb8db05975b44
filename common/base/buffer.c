/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"

void buffer_init(struct buffer *buffer, size_t max)
{
    *buffer = (struct buffer){.max = max};
}

void buffer_done(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){.max = buffer->max};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

/* Doubles, so that appending is linear in total, but never reserves far past the maximum. */
static void reserve(struct buffer *buffer, size_t size)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 256;

    if (size < buffer->capacity)
        return;
    while (capacity <= size)
        capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : capacity * 2;
    if (capacity - 1 > buffer->max)
        capacity = buffer->max + 1;
    buffer->data = xreallocarray(buffer->data, capacity, 1);
    buffer->capacity = capacity;
}

int buffer_append(struct buffer *buffer, const void *data, size_t size, struct error *err)
{
    if (size > buffer->max - buffer->size)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes", buffer->max);
    reserve(buffer, buffer->size + size);
    if (size)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
    return 0;
}

int buffer_append_text(struct buffer *buffer, struct error *err, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list arguments;
    int length = 0;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        out_of_memory();
    return buffer_append(buffer, text, (size_t)length, err);
}

void buffer_append_tail(struct buffer *buffer, const void *data, size_t size)
{
    size_t taken = size < buffer->max ? size : buffer->max;
    size_t kept = buffer->max - taken;
    struct error err = {0};

    if (buffer->size > kept)
        buffer_consume(buffer, buffer->size - kept);
    (void)!buffer_append(buffer, (const char *)data + (size - taken), taken, &err);
}

void buffer_consume(struct buffer *buffer, size_t size)
{
    if (!size)
        return;
    buffer->size -= size;
    memmove(buffer->data, buffer->data + size, buffer->size + 1);
}

char *buffer_take(struct buffer *buffer)
{
    char *data = buffer->data ? buffer->data : xstrdup("");

    *buffer = (struct buffer){.max = buffer->max};
    return data;
}
