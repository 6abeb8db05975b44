/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/secrets.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"

/* Leaves room for "-<uuid>-<number>". */
enum { STATE_PREFIX_MAX = NAME_MAX_SUBDOMAIN - 1 - (UUID_TEXT_SIZE - 1) - 1 - 19 };

char *secret_state_prefix(const char *prefix, const char *item_namespace, const char *item_name)
{
    cleanup_free char *plain = NULL;
    cleanup_free char *hashed = NULL;

    if (prefix) {
        size_t length = strlen(prefix);

        /* Accepted with or without the trailing dash. */
        while (length > 0 && prefix[length - 1] == '-')
            length--;
        return xstrndup(prefix, length);
    }
    plain = xasprintf(PREFIX_STATE "%s-%s", item_namespace, item_name);
    if (strlen(plain) <= STATE_PREFIX_MAX)
        return steal(&plain);
    hashed = name_make(item_namespace, item_name, "", NAME_MAX_LABEL);
    return xasprintf(PREFIX_STATE "%s", hashed);
}

char *secret_export_name(const char *item_namespace, const char *item_name)
{
    cleanup_free char *plain = xasprintf("%s-%s" SUFFIX_EXPORT, item_namespace, item_name);

    if (strlen(plain) <= NAME_MAX_SUBDOMAIN)
        return steal(&plain);
    return name_make(item_namespace, item_name, SUFFIX_EXPORT, NAME_MAX_SUBDOMAIN);
}

char *secret_state_selector(const char *item_namespace, const char *item_name)
{
    cleanup_free char *namespace_value = name_label_value(item_namespace);
    cleanup_free char *name_value = name_label_value(item_name);

    return xasprintf(LABEL_ITEM_NAME "=%s," LABEL_ITEM_NAMESPACE "=%s," LABEL_TYPE
                                     "=" LABEL_TYPE_STATE,
                     name_value, namespace_value);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        (void)json_object_set_new(object, key, json_string(text));
}

static void set_number_text(json_t *object, const char *key, int64_t number)
{
    (void)json_object_set_new(object, key, json_sprintf("%" PRId64, number));
}

static void add_item_labels(json_t *labels, const struct origin *origin)
{
    cleanup_free char *namespace_value = name_label_value(origin->item_namespace);
    cleanup_free char *name_value = name_label_value(origin->item_name);
    char hash[NAME_HASH_SIZE] = "";

    name_hash(origin->item_namespace, origin->item_name, hash);
    set_text(labels, LABEL_ITEM_NAME, name_value);
    set_text(labels, LABEL_ITEM_NAMESPACE, namespace_value);
    set_text(labels, LABEL_ITEM_HASH, hash);
    set_text(labels, LABEL_MANAGED_BY, MANAGED_BY);
}

static void add_item_annotations(json_t *annotations, const struct origin *origin)
{
    set_text(annotations, ANNOTATION_ITEM_NAME, origin->item_name);
    set_text(annotations, ANNOTATION_ITEM_NAMESPACE, origin->item_namespace);
}

static json_t *data_config(const void *bytes, size_t size)
{
    cleanup_free char *text = base64_encode(bytes, size);

    return json_pack("{s:s}", SECRET_KEY_CONFIG, text);
}

static json_t *secret_new(const char *name)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{}, s:{}}, s:s}", "apiVersion", "v1", "kind", "Secret",
                     "metadata", "name", name, "labels", "annotations", "type", SECRET_TYPE_OPAQUE);
}

json_t *secret_state_chunk(const char *prefix, const struct generation *generation, int64_t number,
                           const void *bytes, size_t size)
{
    const struct origin *origin = generation->origin;
    cleanup_free char *name = xasprintf("%s-%s-%" PRId64, prefix, generation->uuid, number);
    json_t *secret = secret_new(name);
    json_t *metadata = json_object_get(secret, "metadata");
    json_t *labels = json_object_get(metadata, "labels");
    json_t *annotations = state_chunk_annotations(generation->summary, number, generation->uuid,
                                                  origin->sequence, origin->job, origin->pod_uid);

    add_item_labels(labels, origin);
    set_text(labels, LABEL_TYPE, LABEL_TYPE_STATE);
    add_item_annotations(annotations, origin);
    (void)json_object_set_new(metadata, "annotations", annotations);
    (void)json_object_set_new(secret, "data", data_config(bytes, size));
    return secret;
}

/* The object at key, created if it is missing. */
static json_t *object_below(json_t *parent, const char *key)
{
    json_t *child = json_object_get(parent, key);

    if (json_is_object(child))
        return child;
    child = json_object();
    (void)json_object_set_new(parent, key, child);
    return child;
}

json_t *secret_export(const char *name, const json_t *existing, const struct origin *origin,
                      const void *bytes, size_t size)
{
    cleanup_free char *name_value = name_label_value(origin->item_name);
    json_t *secret = existing ? json_deep_copy(existing) : secret_new(name);
    json_t *metadata = object_below(secret, "metadata");
    json_t *labels = object_below(metadata, "labels");
    json_t *annotations = object_below(metadata, "annotations");

    (void)json_object_del(metadata, "managedFields");
    add_item_labels(labels, origin);
    set_text(labels, LABEL_NAME, name_value);
    set_text(labels, LABEL_ROLE, LABEL_ROLE_RUN);
    add_item_annotations(annotations, origin);
    /* Not left over from an earlier run if this run does not know its job. */
    (void)json_object_del(annotations, ANNOTATION_JOB);
    (void)json_object_del(annotations, ANNOTATION_POD_UID);
    set_text(annotations, ANNOTATION_JOB, origin->job);
    set_text(annotations, ANNOTATION_POD_UID, origin->pod_uid);
    set_number_text(annotations, ANNOTATION_STATE_SEQUENCE, origin->sequence);
    (void)json_object_set_new(secret, "data", data_config(bytes, size));
    return secret;
}

json_t *secret_report(const char *name, const struct origin *origin,
                      const struct save_progress *progress)
{
    json_t *secret = secret_new(name);
    json_t *labels = object_below(object_below(secret, "metadata"), "labels");
    json_t *annotations = object_below(object_below(secret, "metadata"), "annotations");

    add_item_labels(labels, origin);
    set_text(labels, LABEL_ROLE, LABEL_ROLE_RUN);
    add_item_annotations(annotations, origin);
    set_text(annotations, ANNOTATION_JOB, origin->job);
    set_text(annotations, ANNOTATION_POD_UID, origin->pod_uid);
    set_text(annotations, ANNOTATION_SNAPSHOT,
             progress->is_done ? SNAPSHOT_SAVED : SNAPSHOT_SAVING);
    set_number_text(annotations, ANNOTATION_STATE_CHUNKS, progress->chunks);
    set_number_text(annotations, ANNOTATION_CHUNKS_STORED, progress->stored);
    set_number_text(annotations, ANNOTATION_MILLISECONDS, (int64_t)progress->duration_ms);
    return secret;
}

bool secret_export_is_newer(const json_t *existing, const struct origin *origin)
{
    const json_t *annotations = doc_get(existing, "metadata.annotations");
    const json_t *value = doc_member(annotations, ANNOTATION_STATE_SEQUENCE);
    const char *text = json_is_string(value) ? json_string_value(value) : "0";
    uint64_t sequence = 0;

    /* An invalid sequence must not block all exports forever. */
    return number_parse(text, INT64_MAX, &sequence) && (int64_t)sequence > origin->sequence;
}
