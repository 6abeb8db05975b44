/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/replicate.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

enum { OBJECTS_MAX = 64 }; /* of one resource and one cluster, in the control plane */

/* What is replaced in the texts of a copy. */
struct replacement {
    char *from, *to;
    bool is_name; /* a name is not followed by a further digit */
};

static const char *find(const char *text, const struct replacement *replacement)
{
    size_t size = strlen(replacement->from);
    const char *found = strstr(text, replacement->from);

    while (found && replacement->is_name && isdigit((unsigned char)found[size]))
        found = strstr(found + size, replacement->from);
    return found;
}

/* Replaces all occurrences; NULL: there is none. */
static char *replace(const char *text, const struct replacement *replacement)
{
    cleanup_buffer struct buffer out = {0};
    const char *found = find(text, replacement);

    if (!found)
        return NULL;
    buffer_init(&out, SIZE_MAX);
    for (; found; found = find(text, replacement)) {
        put_bytes(&out, text, (size_t)(found - text));
        put_text(&out, replacement->to);
        text = found + strlen(replacement->from);
    }
    put_text(&out, text);
    return xstrndup(out.data, out.size);
}

static struct text *replaced_text(struct text_pool *pool, struct text *text, const void *data)
{
    cleanup_free char *replaced = replace(text->bytes, data);

    return replaced ? text_get_string(pool, replaced) : text_take(text);
}

/* ---- In the cluster ---- */

/* No object in a cluster is named after it, so the order stays. */
static void rename_objects(struct store *store, const struct replacement *name)
{
    for (size_t i = 0; i < store->bucket_count; i++) {
        for (size_t k = 0; k < store->buckets[i].count; k++) {
            struct record *original = store->buckets[i].records[k];

            store->buckets[i].records[k] = record_copy(store->pool, original, replaced_text, name);
            record_release(store->pool, original);
        }
    }
}

/* ---- In the control plane ---- */

/* "-" is before all digits, so no other cluster is between the objects of a cluster. */
static bool is_of_cluster(const struct record *record, const char *name)
{
    const char *text = record->name->bytes;
    size_t size = strlen(name);

    return strncmp(text, name, size) == 0 && (text[size] == '\0' || text[size] == '-');
}

/* owner: its uid is that of the first object, which the others refer to. */
static void copy_object(struct cluster *cluster, const struct resource *resource,
                        const struct record *record, const struct replacement *name,
                        struct replacement *owner)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_free char *renamed = NULL, *owned = NULL;
    cleanup_json json_t *object = NULL;
    char uid[UUID_TEXT_SIZE];
    struct error ignored = {0};

    uuid_make(uid);
    buffer_init(&text, SIZE_MAX);
    record_write(record, NULL, NULL, &text);
    put_bytes(&text, "", 1);
    renamed = replace(text.data, name);
    owned = owner->from ? replace(renamed, owner) : NULL;
    if (doc_parse_json(owned ? owned : renamed, strlen(owned ? owned : renamed), SIZE_MAX, &object,
                       &ignored) < 0)
        return;
    doc_set_text(object, "metadata.uid", uid);
    (void)store_put(&cluster->store, resource, object);
    if (!owner->from) {
        owner->from = xstrdup(record->uid);
        owner->to = xstrdup(uid);
    }
}

static const struct resource *find_resource(const struct cluster *cluster, const char *text,
                                            size_t size)
{
    cleanup_free char *plural = xstrndup(text, size);
    char *dot = strchr(plural, '.');

    if (dot)
        *dot = '\0';
    return cluster_find_resource(cluster, dot ? dot + 1 : "", plural);
}

static void copy_objects(const struct replica *replica, const struct resource *resource,
                         const struct replacement *name, struct replacement *owner)
{
    struct cluster *cluster = replica->control_plane;
    const struct store *store = &cluster->store;
    struct record *found[OBJECTS_MAX], *record = NULL;
    size_t count = 0;

    record = store_get(store, resource, replica->namespace_name, name->from);
    if (record)
        found[count++] = record_take(record);
    for (size_t i = store_after(store, resource, replica->namespace_name, name->from);
         count < OBJECTS_MAX && (record = store_at(store, resource, replica->namespace_name, i)) &&
         is_of_cluster(record, name->from);
         i++)
        found[count++] = record_take(record);
    /* The copies move the others. */
    for (size_t i = 0; i < count; i++) {
        copy_object(cluster, resource, found[i], name, owner);
        record_release(store->pool, found[i]);
    }
}

int replicate(const struct replica *replica, struct error *err)
{
    cleanup_free char *from = xasprintf("%s%u", replica->prefix, replica->from->index);
    cleanup_free char *to = xasprintf("%s%u", replica->prefix, replica->to->index);
    const struct replacement name = {from, to, true};
    struct replacement owner = {0};
    const char *text = replica->resources;
    int result = 0;

    cluster_copy(replica->to, replica->from);
    rename_objects(&replica->to->store, &name);
    while (*text && result == 0) {
        size_t size = strcspn(text, ",");
        const struct resource *resource = find_resource(replica->control_plane, text, size);

        if (resource)
            copy_objects(replica, resource, &name, &owner);
        else
            result = error_set(err, ERROR_INVALID, "the control plane does not serve \"%.*s\"",
                               (int)size, text);
        text += size + (text[size] == ',');
    }
    free(owner.from);
    free(owner.to);
    return result;
}
