/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that never returns NULL: out of memory aborts. A pod is killed by its cgroup long
 * before malloc fails, and half of the error paths vanish. In return every buffer that grows from
 * outside data has a stated maximum (buffer.h). */
#pragma once

#include <stddef.h>

#include "common/base/cleanup.h"

/* Says so and aborts. For what a library answers when its own malloc() has failed; make coverage
 * knows it by its name and wants no test for the lines that call it. */
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

/* Overwrites a secret before its memory is given back; the compiler may not leave it out. */
void wipe_free(char *secret);
define_cleanup(char *, wipe_free)
#define cleanup_wipe __attribute__((cleanup(wipe_freep)))
