/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/text_pool.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

enum { SLOTS_FIRST = 1024 };

struct text_pool {
    struct text **slots;
    size_t slot_count; /* a power of two */
    size_t text_count, bytes;
};

struct text_pool *text_pool_new(void)
{
    struct text_pool *pool = xcalloc(1, sizeof(*pool));

    pool->slot_count = SLOTS_FIRST;
    pool->slots = xcalloc(pool->slot_count, sizeof(struct text *));
    return pool;
}

void text_pool_free(struct text_pool *pool)
{
    if (!pool)
        return;
    free(pool->slots);
    free(pool);
}

static struct text **slot_of(const struct text_pool *pool, uint32_t hash)
{
    return &pool->slots[hash & (pool->slot_count - 1)];
}

static struct text *find(const struct text_pool *pool, uint32_t hash, const char *bytes,
                         size_t size)
{
    struct text *text = *slot_of(pool, hash);

    while (text && (text->hash != hash || text->size != size ||
                    (size > 0 && memcmp(text->bytes, bytes, size) != 0)))
        text = text->next;
    return text;
}

static void grow(struct text_pool *pool)
{
    struct text **old = pool->slots;
    size_t old_count = pool->slot_count;

    pool->slot_count *= 2;
    pool->slots = xcalloc(pool->slot_count, sizeof(struct text *));
    for (size_t i = 0; i < old_count; i++) {
        struct text *next = NULL;

        for (struct text *text = old[i]; text; text = next) {
            struct text **slot = slot_of(pool, text->hash);

            next = text->next;
            text->next = *slot;
            *slot = text;
        }
    }
    free(old);
}

struct text *text_get(struct text_pool *pool, const char *bytes, size_t size)
{
    uint32_t hash = hash_bytes(HASH_FIRST, bytes, size);
    struct text *text = find(pool, hash, bytes, size);
    struct text **slot = NULL;

    if (text)
        return text_take(text);
    if (pool->text_count >= pool->slot_count)
        grow(pool);
    text = xmalloc(sizeof(*text) + size + 1);
    slot = slot_of(pool, hash);
    *text = (struct text){.next = *slot, .hash = hash, .references = 1, .size = (uint32_t)size};
    if (size > 0)
        memcpy(text->bytes, bytes, size);
    text->bytes[size] = '\0';
    *slot = text;
    pool->text_count++;
    pool->bytes += sizeof(*text) + size + 1;
    return text;
}

struct text *text_get_string(struct text_pool *pool, const char *string)
{
    return text_get(pool, string, strlen(string));
}

struct text *text_find(const struct text_pool *pool, const char *bytes, size_t size)
{
    return find(pool, hash_bytes(HASH_FIRST, bytes, size), bytes, size);
}

struct text *text_take(struct text *text)
{
    text->references++;
    return text;
}

void text_release(struct text_pool *pool, struct text *text)
{
    struct text **slot = NULL;

    if (!text || --text->references > 0)
        return;
    slot = slot_of(pool, text->hash);
    while (*slot != text)
        slot = &(*slot)->next;
    *slot = text->next;
    pool->text_count--;
    pool->bytes -= sizeof(*text) + text->size + 1;
    free(text);
}

void text_pool_size(const struct text_pool *pool, size_t *ret_texts, size_t *ret_bytes)
{
    *ret_texts = pool->text_count;
    *ret_bytes = pool->bytes + pool->slot_count * sizeof(struct text *);
}
