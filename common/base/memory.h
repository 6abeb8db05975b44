/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that aborts when out of memory and never returns NULL: the cgroup of a pod kills it
 * long before malloc() fails. Every buffer that grows with data from outside therefore has a
 * maximum size (buffer.h). */
#pragma once

#include <stddef.h>

#include "common/base/cleanup.h"

/* Prints a message and aborts. For libraries that report a failed malloc(). make coverage excludes
 * lines that call it. */
_Noreturn void out_of_memory(void);

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xreallocarray(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
/* NULL gives NULL. */
char *xstrdup_or_null(const char *text);
void *xmemdup(const void *data, size_t size) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) printf_like(1, 2) __attribute__((malloc, returns_nonnull));

/* Overwrites the string before freeing it. NULL is fine. */
void wipe_free(char *secret);
define_cleanup(char *, wipe_free)
#define cleanup_wipe __attribute__((cleanup(wipe_freep)))
