/* SPDX-License-Identifier: Apache-2.0 */
/* One version of an object, constant and shared by the store, its history and pending responses.
 *
 * It is stored as the JSON text of each member of the object and of its metadata. These texts are
 * shared with all other records that have the same value (text_pool.h). What differs between equal
 * objects of two clusters (uid, resourceVersion and times) is stored outside of the texts. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/data/uuid.h"
#include "e2e/fleet/text_pool.h"

struct record_part {
    struct text *key, *value; /* value is JSON */
};

/* One entry of metadata.managedFields; entry is its JSON without the time. */
struct record_manager {
    struct text *entry;
    int64_t time_s; /* 0: none */
};

struct record {
    struct text *namespace_name; /* "" for objects without one */
    struct text *name;
    uint64_t resource_version;
    int64_t created_s;
    uint32_t references;
    uint16_t metadata_count, member_count, manager_count;
    char uid[UUID_TEXT_SIZE];
    /* First the members of the metadata, then those of the object, then the managers. */
    struct record_part parts[];
};

/* The object has metadata.name, uid, resourceVersion and creationTimestamp, as the API server sets
 * them. apiVersion and kind are not stored. A new reference. */
struct record *record_new(struct text_pool *pool, const json_t *object);
/* The same object with other texts: change returns a new reference to the text that takes the place
 * of the one that it gets. A new reference. */
typedef struct text *record_text_fn(struct text_pool *pool, struct text *text, const void *data);
struct record *record_copy(struct text_pool *pool, const struct record *record,
                           record_text_fn *change, const void *data);
struct record *record_take(struct record *record);
void record_release(struct text_pool *pool, struct record *record); /* NULL is fine */

/* The whole object again. A new reference. */
json_t *record_json(const struct record *record, const char *api_version, const char *kind);
/* One member of the metadata, such as "labels", or NULL. A new reference. */
json_t *record_metadata_json(const struct record *record, const char *key);
/* The text of a member of the object, such as "spec"; NULL: it has none. Borrowed. */
const struct text *record_member(const struct record *record, const char *key);
bool record_has_metadata(const struct record *record, const char *key);

/* Appends the JSON of the object to out, which has no limit. kind NULL: without apiVersion and
 * kind, as the items of lists of built-in kinds are. */
void record_write(const struct record *record, const char *api_version, const char *kind,
                  struct buffer *out);
/* The same as PartialObjectMetadata. */
void record_write_metadata(const struct record *record, struct buffer *out);
/* Both with another resourceVersion: a watch ends what it showed of an object in its last version
 * that matched, with the version of the change. */
void record_write_version(const struct record *record, uint64_t version, const char *api_version,
                          const char *kind, struct buffer *out);
void record_write_metadata_version(const struct record *record, uint64_t version,
                                   struct buffer *out);

/* Orders by namespace, then by name, as the keys of etcd are ordered. */
int record_compare(const struct record *record, const char *namespace_name, const char *name);
/* Memory of the record itself, without its texts. */
size_t record_bytes(const struct record *record);

/* Appends text to a buffer without limit: it cannot fail. */
void put_bytes(struct buffer *out, const void *bytes, size_t size);
void put_text(struct buffer *out, const char *text);
