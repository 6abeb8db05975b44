/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/hash_table.h"

#include "common/base/memory.h"

enum { BUCKETS_FIRST = 8 };

void hash_table_done(struct hash_table *table)
{
    free(table->buckets);
    *table = (struct hash_table){0};
}

static struct hash_entry **bucket_of(const struct hash_table *table, uint32_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

static void put(const struct hash_table *table, struct hash_entry *entry)
{
    struct hash_entry **bucket = bucket_of(table, entry->hash);

    entry->next = *bucket;
    *bucket = entry;
}

static void grow(struct hash_table *table)
{
    struct hash_table larger = {
        .bucket_count = table->bucket_count ? 2 * table->bucket_count : BUCKETS_FIRST,
        .count = table->count,
    };

    larger.buckets = xcalloc(larger.bucket_count, sizeof(struct hash_entry *));
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct hash_entry *entry = table->buckets[i];

            table->buckets[i] = entry->next;
            put(&larger, entry);
        }
    }
    free(table->buckets);
    *table = larger;
}

void hash_table_add(struct hash_table *table, struct hash_entry *entry, uint32_t hash)
{
    if (table->count >= table->bucket_count)
        grow(table);
    entry->hash = hash;
    put(table, entry);
    table->count++;
}

void hash_table_remove(struct hash_table *table, struct hash_entry *entry)
{
    struct hash_entry **link = bucket_of(table, entry->hash);

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    table->count--;
}

static struct hash_entry *same_hash(struct hash_entry *entry, uint32_t hash)
{
    while (entry && entry->hash != hash)
        entry = entry->next;
    return entry;
}

struct hash_entry *hash_table_find(const struct hash_table *table, uint32_t hash)
{
    return table->count ? same_hash(*bucket_of(table, hash), hash) : NULL;
}

struct hash_entry *hash_entry_next(const struct hash_entry *entry)
{
    return same_hash(entry->next, entry->hash);
}

struct hash_entry *hash_table_any(const struct hash_table *table)
{
    for (size_t i = 0; table->count && i < table->bucket_count; i++) {
        if (table->buckets[i])
            return table->buckets[i];
    }
    return NULL;
}
