/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that many owners have, stored once: the names of the same objects in thousands of
 * clusters. A text is counted, and freed when its last owner gives it back. */
#pragma once

#include "common/base/hash_table.h"

/* Zeroed: empty. */
struct text_pool {
    struct hash_table texts;
};

/* All texts must have been given back. */
void text_pool_done(struct text_pool *pool);
/* The stored text, equal texts at the same address, until it is given back. NULL for NULL. */
const char *text_pool_take(struct text_pool *pool, const char *text);
/* The same if somebody has the text, else NULL. Borrowed. */
const char *text_pool_find(const struct text_pool *pool, const char *text);
/* Replaces *stored, which may be NULL. */
void text_pool_set(struct text_pool *pool, const char **stored, const char *text);
void text_pool_give(struct text_pool *pool, const char *stored); /* NULL is fine */
