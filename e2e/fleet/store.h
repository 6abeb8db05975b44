/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of one cluster, sorted by resource, namespace and name, with a version that every
 * change increases. Listeners are called for each change. */
#pragma once

#include "e2e/fleet/history.h"

struct store_bucket {
    const char *group, *plural; /* borrowed from the resource that was used first */
    struct record **records;
    size_t count, capacity;
};

struct store_listener {
    void (*on_change)(void *data, const struct change *change);
    void *data;
    struct store_listener *next;
};

struct store {
    struct text_pool *pool; /* borrowed */
    uint64_t version;
    struct store_bucket *buckets;
    size_t bucket_count;
    struct history history;
    struct store_listener *listeners;
};

void store_init(struct store *store, struct text_pool *pool, size_t history_max);
void store_done(struct store *store);

/* Borrowed until the object changes; NULL: there is none. namespace_name is "" for objects without
 * one. */
struct record *store_get(const struct store *store, const struct resource *resource,
                         const char *namespace_name, const char *name);
/* Creates or replaces an object. Sets metadata.resourceVersion of object. Borrowed. */
struct record *store_put(struct store *store, const struct resource *resource, json_t *object);
/* Removes an object; returns its last version with the version of the deletion, as a new reference
 * that the caller releases. NULL: there is none. */
struct record *store_remove(struct store *store, const struct resource *resource,
                            const char *namespace_name, const char *name);

/* Replaces all objects by those of another cluster, which are shared until one of the two changes.
 * Nothing is announced: watches from before have to list again. */
void store_copy(struct store *store, const struct store *from);

/* The objects of a resource by index, in order; NULL behind the last. namespace_name NULL: all. */
size_t store_first(const struct store *store, const struct resource *resource,
                   const char *namespace_name);
/* The index behind this object, whether or not it exists. */
size_t store_after(const struct store *store, const struct resource *resource,
                   const char *namespace_name, const char *name);
struct record *store_at(const struct store *store, const struct resource *resource,
                        const char *namespace_name, size_t index);
size_t store_count(const struct store *store, const struct resource *resource);

/* Listeners belong to the caller, who removes them before they are freed. A listener may remove
 * itself while it is called. */
void store_listen(struct store *store, struct store_listener *listener);
void store_unlisten(struct store *store, struct store_listener *listener);

/* Objects, and the memory that they take, without shared texts. */
void store_size(const struct store *store, size_t *ret_objects, size_t *ret_bytes);
