/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/store.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

void store_init(struct store *store, struct text_pool *pool, size_t history_max)
{
    *store = (struct store){.pool = pool, .version = 1};
    history_init(&store->history, history_max);
}

static void release_objects(struct store *store)
{
    for (size_t i = 0; i < store->bucket_count; i++) {
        for (size_t k = 0; k < store->buckets[i].count; k++)
            record_release(store->pool, store->buckets[i].records[k]);
        free((void *)store->buckets[i].records);
    }
    free(store->buckets);
    store->buckets = NULL;
    store->bucket_count = 0;
}

void store_done(struct store *store)
{
    release_objects(store);
    history_done(&store->history, store->pool);
    *store = (struct store){0};
}

void store_copy(struct store *store, const struct store *from)
{
    release_objects(store);
    store->buckets = xcalloc(from->bucket_count, sizeof(*store->buckets));
    store->bucket_count = from->bucket_count;
    for (size_t i = 0; i < from->bucket_count; i++) {
        struct store_bucket *bucket = &store->buckets[i];

        *bucket = from->buckets[i];
        bucket->capacity = bucket->count;
        bucket->records = (struct record **)xcalloc(bucket->count, sizeof(struct record *));
        for (size_t k = 0; k < bucket->count; k++)
            bucket->records[k] = record_take(from->buckets[i].records[k]);
    }
    store->version = (store->version > from->version ? store->version : from->version) + 1;
    history_forget(&store->history, store->pool, store->version);
}

static struct store_bucket *find_bucket(const struct store *store, const struct resource *resource)
{
    for (size_t i = 0; i < store->bucket_count; i++) {
        struct store_bucket *bucket = &store->buckets[i];

        if (strcmp(bucket->plural, resource->plural) == 0 &&
            strcmp(bucket->group, resource->group) == 0)
            return bucket;
    }
    return NULL;
}

static struct store_bucket *need_bucket(struct store *store, const struct resource *resource)
{
    struct store_bucket *bucket = find_bucket(store, resource);

    if (bucket)
        return bucket;
    store->buckets =
        xreallocarray(store->buckets, store->bucket_count + 1, sizeof(*store->buckets));
    bucket = &store->buckets[store->bucket_count++];
    *bucket = (struct store_bucket){.group = resource->group, .plural = resource->plural};
    return bucket;
}

/* The index of the first object that is not before (namespace, name). */
static size_t search(const struct store_bucket *bucket, const char *namespace_name,
                     const char *name)
{
    size_t low = 0, high = bucket ? bucket->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (record_compare(bucket->records[middle], namespace_name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct store_bucket *bucket, size_t index, const char *namespace_name,
                  const char *name)
{
    return bucket && index < bucket->count &&
           record_compare(bucket->records[index], namespace_name, name) == 0;
}

struct record *store_get(const struct store *store, const struct resource *resource,
                         const char *namespace_name, const char *name)
{
    const struct store_bucket *bucket = find_bucket(store, resource);
    size_t index = search(bucket, namespace_name, name);

    return is_at(bucket, index, namespace_name, name) ? bucket->records[index] : NULL;
}

/* Adds the change to the history and calls the listeners. */
static void announce(struct store *store, const struct change *change)
{
    struct store_listener *next = NULL;

    history_add(&store->history, store->pool, change);
    for (struct store_listener *listener = store->listeners; listener; listener = next) {
        next = listener->next;
        listener->on_change(listener->data, change);
    }
}

static void set_version(struct store *store, json_t *object)
{
    cleanup_free char *version = xasprintf("%llu", (unsigned long long)++store->version);

    (void)json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                              json_string(version));
}

static void insert(struct store_bucket *bucket, size_t index, struct record *record)
{
    if (bucket->count == bucket->capacity) {
        bucket->capacity = bucket->capacity ? bucket->capacity * 2 : 4;
        bucket->records = (struct record **)xreallocarray((void *)bucket->records, bucket->capacity,
                                                          sizeof(struct record *));
    }
    memmove((void *)(bucket->records + index + 1), (void *)(bucket->records + index),
            (bucket->count - index) * sizeof(struct record *));
    bucket->records[index] = record;
    bucket->count++;
}

struct record *store_put(struct store *store, const struct resource *resource, json_t *object)
{
    struct store_bucket *bucket = need_bucket(store, resource);
    const char *namespace_name = doc_text_or(object, "metadata.namespace", "");
    const char *name = doc_text_or(object, "metadata.name", "");
    size_t index = search(bucket, namespace_name, name);
    struct change change = {.type = CHANGE_ADDED, .resource = resource};

    set_version(store, object);
    change.record = record_new(store->pool, object);
    if (is_at(bucket, index, namespace_name, name)) {
        change.type = CHANGE_MODIFIED;
        change.previous = bucket->records[index];
        bucket->records[index] = change.record;
    } else {
        insert(bucket, index, change.record);
    }
    announce(store, &change);
    record_release(store->pool, change.previous);
    return change.record;
}

struct record *store_remove(struct store *store, const struct resource *resource,
                            const char *namespace_name, const char *name)
{
    struct store_bucket *bucket = find_bucket(store, resource);
    size_t index = search(bucket, namespace_name, name);
    struct change change = {.type = CHANGE_DELETED, .resource = resource};
    cleanup_json json_t *object = NULL;

    if (!is_at(bucket, index, namespace_name, name))
        return NULL;
    change.previous = bucket->records[index];
    object = record_json(change.previous, "", "");
    set_version(store, object);
    change.record = record_new(store->pool, object);
    bucket->count--;
    memmove((void *)(bucket->records + index), (void *)(bucket->records + index + 1),
            (bucket->count - index) * sizeof(struct record *));
    announce(store, &change);
    record_release(store->pool, change.previous);
    return change.record;
}

size_t store_first(const struct store *store, const struct resource *resource,
                   const char *namespace_name)
{
    return search(find_bucket(store, resource), namespace_name ? namespace_name : "", "");
}

size_t store_after(const struct store *store, const struct resource *resource,
                   const char *namespace_name, const char *name)
{
    const struct store_bucket *bucket = find_bucket(store, resource);
    size_t index = search(bucket, namespace_name, name);

    return index + is_at(bucket, index, namespace_name, name);
}

struct record *store_at(const struct store *store, const struct resource *resource,
                        const char *namespace_name, size_t index)
{
    const struct store_bucket *bucket = find_bucket(store, resource);
    struct record *record = bucket && index < bucket->count ? bucket->records[index] : NULL;

    if (record && namespace_name && strcmp(record->namespace_name->bytes, namespace_name) != 0)
        return NULL;
    return record;
}

size_t store_count(const struct store *store, const struct resource *resource)
{
    const struct store_bucket *bucket = find_bucket(store, resource);

    return bucket ? bucket->count : 0;
}

void store_listen(struct store *store, struct store_listener *listener)
{
    listener->next = store->listeners;
    store->listeners = listener;
}

void store_unlisten(struct store *store, struct store_listener *listener)
{
    struct store_listener **place = &store->listeners;

    while (*place && *place != listener)
        place = &(*place)->next;
    if (*place)
        *place = listener->next;
}

void store_size(const struct store *store, size_t *ret_objects, size_t *ret_bytes)
{
    *ret_objects = 0;
    *ret_bytes = store->bucket_count * sizeof(struct store_bucket) +
                 store->history.capacity * sizeof(struct change);
    for (size_t i = 0; i < store->bucket_count; i++) {
        const struct store_bucket *bucket = &store->buckets[i];

        *ret_objects += bucket->count;
        *ret_bytes += bucket->capacity * sizeof(struct record *);
        for (size_t k = 0; k < bucket->count; k++)
            *ret_bytes += record_bytes(bucket->records[k]);
    }
}
