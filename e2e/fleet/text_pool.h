/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are stored once, however many objects contain them. 10,000 clusters hold mostly the
 * same objects, so that the values of their members are shared (record.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"

struct text_pool;

/* Constant; released with text_release(). Pointers are equal if and only if the bytes are. */
struct text {
    struct text *next; /* in its slot of the table */
    uint32_t hash, references, size;
    char bytes[]; /* followed by a NUL */
};

struct text_pool *text_pool_new(void);
void text_pool_free(struct text_pool *pool); /* every text must have been released */
define_cleanup(struct text_pool *, text_pool_free)
#define cleanup_text_pool __attribute__((cleanup(text_pool_freep)))

/* A new reference to the text with these bytes. */
struct text *text_get(struct text_pool *pool, const char *bytes, size_t size);
struct text *text_get_string(struct text_pool *pool, const char *string);
/* The text with these bytes, borrowed; NULL if it is not stored. */
struct text *text_find(const struct text_pool *pool, const char *bytes, size_t size);
struct text *text_take(struct text *text);                    /* one more reference */
void text_release(struct text_pool *pool, struct text *text); /* NULL is fine */

/* Texts and the memory that they take, in bytes. */
void text_pool_size(const struct text_pool *pool, size_t *ret_texts, size_t *ret_bytes);
