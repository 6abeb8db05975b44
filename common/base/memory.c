/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/memory.h"

#include <stdarg.h>
#include <string.h>

_Noreturn void out_of_memory(void)
{
    (void)fputs("out of memory\n", stderr);
    abort();
}

static void *present(void *memory)
{
    if (!memory)
        out_of_memory();
    return memory;
}

void *xmalloc(size_t size)
{
    return present(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return present(calloc(count ? count : 1, size ? size : 1));
}

void *xreallocarray(void *memory, size_t count, size_t size)
{
    return present(reallocarray(memory, count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
    return present(strdup(text));
}

char *xstrndup(const char *text, size_t length)
{
    return present(strndup(text, length));
}

char *xstrdup_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

void *xmemdup(const void *data, size_t size)
{
    void *copy = xmalloc(size);

    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    int length = 0;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return present(length < 0 ? NULL : text);
}

void wipe_free(char *secret)
{
    if (!secret)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}
