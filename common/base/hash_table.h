/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of entries that are embedded in their owners. It knows only hashes: whoever searches
 * compares the keys of the entries with the same hash.
 *
 *     for (struct hash_entry *entry = hash_table_find(&table, hash); entry; entry =
 * hash_entry_next(entry))
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hash.h"

/* The first member of its owner. */
struct hash_entry {
    struct hash_entry *next; /* in the bucket */
    uint32_t hash;
};

/* Zeroed: empty. */
struct hash_table {
    struct hash_entry **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
};

void hash_table_done(struct hash_table *table); /* does not touch the entries */
void hash_table_add(struct hash_table *table, struct hash_entry *entry, uint32_t hash);
void hash_table_remove(struct hash_table *table, struct hash_entry *entry); /* must be in it */
/* Entries with this hash, or NULL. */
struct hash_entry *hash_table_find(const struct hash_table *table, uint32_t hash);
struct hash_entry *hash_entry_next(const struct hash_entry *entry);
/* Any entry, or NULL: to remove them all. */
struct hash_entry *hash_table_any(const struct hash_table *table);
