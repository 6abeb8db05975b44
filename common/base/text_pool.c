/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/text_pool.h"

#include <stdlib.h>

#include "common/base/memory.h"

struct text {
    struct hash_entry entry;
    uint32_t owners;
    char bytes[];
};

static struct text *find(const struct text_pool *pool, const char *bytes)
{
    struct hash_entry *entry = hash_table_find(&pool->texts, hash_text(bytes));

    while (entry && strcmp(((struct text *)entry)->bytes, bytes) != 0)
        entry = hash_entry_next(entry);
    return (struct text *)entry;
}

void text_pool_done(struct text_pool *pool)
{
    hash_table_done(&pool->texts);
}

const char *text_pool_take(struct text_pool *pool, const char *text)
{
    struct text *stored = text ? find(pool, text) : NULL;
    size_t size = text ? strlen(text) + 1 : 0;

    if (!text)
        return NULL;
    if (!stored) {
        stored = xcalloc(1, sizeof(*stored) + size);
        memcpy(stored->bytes, text, size);
        hash_table_add(&pool->texts, &stored->entry, hash_text(text));
    }
    stored->owners++;
    return stored->bytes;
}

void text_pool_set(struct text_pool *pool, const char **stored, const char *text)
{
    const char *fresh = text_pool_take(pool, text);

    text_pool_give(pool, *stored);
    *stored = fresh;
}

const char *text_pool_find(const struct text_pool *pool, const char *text)
{
    const struct text *stored = find(pool, text);

    return stored ? stored->bytes : NULL;
}

void text_pool_give(struct text_pool *pool, const char *stored)
{
    struct text *text = stored ? find(pool, stored) : NULL;

    if (!text || --text->owners)
        return;
    hash_table_remove(&pool->texts, &text->entry);
    free(text);
}
