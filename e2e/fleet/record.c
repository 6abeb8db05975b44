/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/record.h"

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

void put_bytes(struct buffer *out, const void *bytes, size_t size)
{
    struct error ignored = {0};

    if (buffer_append(out, bytes, size, &ignored) < 0)
        out_of_memory();
}

void put_text(struct buffer *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static struct record_manager *managers_of(const struct record *record)
{
    const struct record_part *end = record->parts + record->metadata_count + record->member_count;
    union {
        const struct record_part *parts;
        struct record_manager *managers;
    } same = {.parts = end};

    return same.managers;
}

/* These are in fields of the record. */
static bool is_stored_apart(const char *key)
{
    return strcmp(key, "uid") == 0 || strcmp(key, "resourceVersion") == 0 ||
           strcmp(key, "creationTimestamp") == 0 || strcmp(key, "managedFields") == 0;
}

static bool is_type_member(const char *key)
{
    return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
           strcmp(key, "metadata") == 0;
}

static struct record_part make_part(struct text_pool *pool, const char *key, const json_t *value)
{
    cleanup_free char *text = doc_dump_sorted(value);

    return (struct record_part){text_get_string(pool, key), text_get_string(pool, text)};
}

/* 0 for a text that is not a time. */
static int64_t parse_seconds(const char *text)
{
    struct error ignored = {0};
    int64_t time_ms = 0;

    return timestamp_parse(text, &time_ms, &ignored) < 0 ? 0 : time_ms / 1000;
}

static struct record_manager make_manager(struct text_pool *pool, const json_t *entry)
{
    cleanup_json json_t *copy = json_copy(doc_writable(entry));
    cleanup_free char *text = NULL;

    (void)json_object_del(copy, "time");
    text = doc_dump_sorted(copy);
    return (struct record_manager){text_get_string(pool, text),
                                   parse_seconds(doc_text_or(entry, "time", ""))};
}

static size_t count_members(const json_t *object, bool (*is_skipped)(const char *))
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t count = 0;

    doc_foreach(object, key, value) count += !is_skipped(key);
    return count;
}

static struct record_part *fill_parts(struct text_pool *pool, const json_t *object,
                                      bool (*is_skipped)(const char *), struct record_part *part)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(object, key, value)
    {
        if (!is_skipped(key))
            *part++ = make_part(pool, key, value);
    }
    return part;
}

static size_t record_size(size_t parts, size_t managers)
{
    return sizeof(struct record) + parts * sizeof(struct record_part) +
           managers * sizeof(struct record_manager);
}

struct record *record_new(struct text_pool *pool, const json_t *object)
{
    const json_t *metadata = doc_member(object, "metadata");
    const json_t *managed = doc_member(metadata, "managedFields");
    size_t metadata_count = count_members(metadata, is_stored_apart);
    size_t member_count = count_members(object, is_type_member);
    size_t manager_count = json_array_size(managed);
    struct record *record = xcalloc(1, record_size(metadata_count + member_count, manager_count));

    record->references = 1;
    record->metadata_count = (uint16_t)metadata_count;
    record->member_count = (uint16_t)member_count;
    record->manager_count = (uint16_t)manager_count;
    record->namespace_name = text_get_string(pool, doc_text_or(metadata, "namespace", ""));
    record->name = text_get_string(pool, doc_text_or(metadata, "name", ""));
    (void)number_parse(doc_text_or(metadata, "resourceVersion", "0"), UINT64_MAX,
                       &record->resource_version);
    record->created_s = parse_seconds(doc_text_or(metadata, "creationTimestamp", ""));
    (void)snprintf(record->uid, sizeof(record->uid), "%s", doc_text_or(metadata, "uid", ""));
    (void)fill_parts(pool, object, is_type_member,
                     fill_parts(pool, metadata, is_stored_apart, record->parts));
    for (size_t i = 0; i < manager_count; i++)
        managers_of(record)[i] = make_manager(pool, json_array_get(managed, i));
    return record;
}

struct record *record_copy(struct text_pool *pool, const struct record *record,
                           record_text_fn *change, const void *data)
{
    size_t parts = (size_t)record->metadata_count + record->member_count;
    struct record *copy = xmemdup(record, record_size(parts, record->manager_count));

    copy->references = 1;
    copy->namespace_name = text_take(record->namespace_name);
    copy->name = text_take(record->name);
    for (size_t i = 0; i < parts; i++) {
        copy->parts[i].key = text_take(record->parts[i].key);
        copy->parts[i].value = change(pool, record->parts[i].value, data);
    }
    for (size_t i = 0; i < record->manager_count; i++)
        managers_of(copy)[i].entry = change(pool, managers_of(record)[i].entry, data);
    return copy;
}

struct record *record_take(struct record *record)
{
    record->references++;
    return record;
}

void record_release(struct text_pool *pool, struct record *record)
{
    if (!record || --record->references > 0)
        return;
    for (size_t i = 0; i < (size_t)record->metadata_count + record->member_count; i++) {
        text_release(pool, record->parts[i].key);
        text_release(pool, record->parts[i].value);
    }
    for (size_t i = 0; i < record->manager_count; i++)
        text_release(pool, managers_of(record)[i].entry);
    text_release(pool, record->namespace_name);
    text_release(pool, record->name);
    free(record);
}

static void put_format(struct buffer *out, const char *format, ...) printf_like(2, 3);

static void put_format(struct buffer *out, const char *format, ...)
{
    char text[512];
    va_list arguments;
    int size = 0;

    va_start(arguments, format);
    size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    put_bytes(out, text, size < 0 ? 0 : (size_t)size);
}

/* Keys of objects are names of fields, annotations or data, which need no escapes. */
static void put_part(struct buffer *out, const struct record_part *part)
{
    put_text(out, ",\"");
    put_bytes(out, part->key->bytes, part->key->size);
    put_text(out, "\":");
    put_bytes(out, part->value->bytes, part->value->size);
}

static void put_managers(struct buffer *out, const struct record *record)
{
    char time[TIMESTAMP_MAX];

    put_text(out, ",\"managedFields\":[");
    for (size_t i = 0; i < record->manager_count; i++) {
        const struct record_manager *manager = &managers_of(record)[i];

        if (i > 0)
            put_text(out, ",");
        put_bytes(out, manager->entry->bytes, manager->entry->size - 1);
        timestamp_format(manager->time_s * 1000, time);
        if (manager->time_s > 0)
            put_format(out, ",\"time\":\"%s\"", time);
        put_text(out, "}");
    }
    put_text(out, "]");
}

static void put_metadata(struct buffer *out, const struct record *record, uint64_t version)
{
    char created[TIMESTAMP_MAX];

    timestamp_format(record->created_s * 1000, created);
    put_format(out, "\"metadata\":{\"uid\":\"%s\",\"creationTimestamp\":\"%s\"", record->uid,
               created);
    if (version > 0) /* else it was a dry run */
        put_format(out, ",\"resourceVersion\":\"%llu\"", (unsigned long long)version);
    for (size_t i = 0; i < record->metadata_count; i++)
        put_part(out, &record->parts[i]);
    if (record->manager_count > 0)
        put_managers(out, record);
    put_text(out, "}");
}

void record_write_version(const struct record *record, uint64_t version, const char *api_version,
                          const char *kind, struct buffer *out)
{
    put_text(out, "{");
    if (kind)
        put_format(out, "\"apiVersion\":\"%s\",\"kind\":\"%s\",", api_version, kind);
    put_metadata(out, record, version);
    for (size_t i = 0; i < record->member_count; i++)
        put_part(out, &record->parts[record->metadata_count + i]);
    put_text(out, "}");
}

void record_write(const struct record *record, const char *api_version, const char *kind,
                  struct buffer *out)
{
    record_write_version(record, record->resource_version, api_version, kind, out);
}

void record_write_metadata_version(const struct record *record, uint64_t version,
                                   struct buffer *out)
{
    put_text(out, "{\"apiVersion\":\"meta.k8s.io/v1\",\"kind\":\"PartialObjectMetadata\",");
    put_metadata(out, record, version);
    put_text(out, "}");
}

void record_write_metadata(const struct record *record, struct buffer *out)
{
    record_write_metadata_version(record, record->resource_version, out);
}

static json_t *parse(const char *text, size_t size)
{
    json_t *value = NULL;
    struct error err = {0};

    if (doc_parse_json(text, size, SIZE_MAX, &value, &err) < 0)
        return NULL;
    return value;
}

json_t *record_json(const struct record *record, const char *api_version, const char *kind)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, SIZE_MAX);
    record_write(record, api_version, kind, &text);
    return parse(text.data, text.size);
}

static const struct text *find_part(const struct record_part *parts, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parts[i].key->bytes, key) == 0)
            return parts[i].value;
    }
    return NULL;
}

json_t *record_metadata_json(const struct record *record, const char *key)
{
    const struct text *text = find_part(record->parts, record->metadata_count, key);

    return text ? parse(text->bytes, text->size) : NULL;
}

bool record_has_metadata(const struct record *record, const char *key)
{
    return find_part(record->parts, record->metadata_count, key) != NULL;
}

const struct text *record_member(const struct record *record, const char *key)
{
    return find_part(record->parts + record->metadata_count, record->member_count, key);
}

int record_compare(const struct record *record, const char *namespace_name, const char *name)
{
    int order = strcmp(record->namespace_name->bytes, namespace_name);

    return order != 0 ? order : strcmp(record->name->bytes, name);
}

size_t record_bytes(const struct record *record)
{
    return record_size((size_t)record->metadata_count + record->member_count,
                       record->manager_count);
}
