/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

enum { BUCKETS_FIRST = 64 };

struct index {
    struct engine *const *engines;
    struct record **buckets;
    size_t bucket_count; /* a power of two */
    size_t record_count, known_count;
};

static uint32_t hash_names(const char *namespace_name, const char *name)
{
    uint32_t hash = hash_bytes(HASH_FIRST, namespace_name, strlen(namespace_name));

    hash = hash_bytes(hash, "/", 1);
    return hash_bytes(hash, name, strlen(name));
}

struct index *index_new(struct engine *const *engines)
{
    struct index *index = xcalloc(1, sizeof(*index));

    index->engines = engines;
    index->bucket_count = BUCKETS_FIRST;
    index->buckets = xcalloc(index->bucket_count, sizeof(struct record *));
    return index;
}

static void record_free(const struct index *index, struct record *record)
{
    if (record->tracked)
        index->engines[record->engine]->class->untrack(record);
    free(record);
}

void index_free(struct index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->bucket_count; i++) {
        struct record *record = index->buckets[i];

        while (record) {
            struct record *next = record->next;

            record_free(index, record);
            record = next;
        }
    }
    free(index->buckets);
    free(index);
}

static struct record **bucket_of(const struct index *index, uint32_t hash)
{
    return &index->buckets[hash & (index->bucket_count - 1)];
}

static struct record *find_hashed(const struct index *index, uint32_t hash,
                                  const char *namespace_name, const char *name)
{
    for (struct record *record = *bucket_of(index, hash); record; record = record->next) {
        if (record->hash == hash && strcmp(record->name, name) == 0 &&
            strcmp(record->namespace_name, namespace_name) == 0)
            return record;
    }
    return NULL;
}

struct record *index_find(const struct index *index, const char *namespace_name, const char *name)
{
    return find_hashed(index, hash_names(namespace_name, name), namespace_name, name);
}

static void grow(struct index *index)
{
    struct record **old = index->buckets;
    size_t old_count = index->bucket_count;

    index->bucket_count = old_count * 2;
    index->buckets = xcalloc(index->bucket_count, sizeof(struct record *));
    for (size_t i = 0; i < old_count; i++) {
        struct record *record = old[i];

        while (record) {
            struct record *next = record->next;
            struct record **bucket = bucket_of(index, record->hash);

            record->next = *bucket;
            *bucket = record;
            record = next;
        }
    }
    free(old);
}

struct record *index_add(struct index *index, const char *namespace_name, const char *name)
{
    uint32_t hash = hash_names(namespace_name, name);
    struct record *record = find_hashed(index, hash, namespace_name, name);
    size_t namespace_size = strlen(namespace_name) + 1, name_size = strlen(name) + 1;
    struct record **bucket = NULL;

    if (record)
        return record;
    if (index->record_count >= index->bucket_count)
        grow(index);
    record = xcalloc(1, sizeof(*record) + namespace_size + name_size);
    memcpy(record->namespace_name, namespace_name, namespace_size);
    memcpy(record->namespace_name + namespace_size, name, name_size);
    record->name = record->namespace_name + namespace_size;
    record->hash = hash;
    bucket = bucket_of(index, hash);
    record->next = *bucket;
    *bucket = record;
    index->record_count++;
    return record;
}

void index_remove(struct index *index, struct record *record)
{
    for (struct record **place = bucket_of(index, record->hash); *place; place = &(*place)->next) {
        if (*place != record)
            continue;
        *place = record->next;
        index->record_count--;
        record_free(index, record);
        return;
    }
}

bool index_drop_unused(struct index *index, struct record *record)
{
    if (record->is_known || record->task || record->tracked)
        return false;
    index_remove(index, record);
    return true;
}

size_t index_count(const struct index *index)
{
    return index->known_count;
}

void index_count_known(struct index *index, int by)
{
    if (by > 0)
        index->known_count++;
    else if (by < 0)
        index->known_count--;
}

void index_each(struct index *index, index_each_fn *each, void *data)
{
    /* No callback adds records, so the buckets stay where they are. */
    for (size_t i = 0; i < index->bucket_count; i++) {
        struct record *record = index->buckets[i];

        while (record) {
            struct record *next = record->next;

            each(data, record);
            record = next;
        }
    }
}

bool index_is_ambiguous(const struct index *index, const char *namespace_name, const char *name)
{
    cleanup_free char *text = xasprintf("%s-%s", namespace_name, name);
    size_t own = strlen(namespace_name);

    for (char *dash = strchr(text, '-'); dash; dash = strchr(dash + 1, '-')) {
        const struct record *other = NULL;

        if ((size_t)(dash - text) == own)
            continue;
        *dash = '\0';
        other = index_find(index, text, dash + 1);
        *dash = '-';
        /* After a restart its execution may be listed before the item is. */
        if (other && (other->is_known || other->tracked))
            return true;
    }
    return false;
}
