/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/drift.h"

#include <string.h>

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"

static bool is_list_covered(const json_t *live, const json_t *wanted)
{
    size_t i;
    json_t *element;

    if (json_array_size(live) != json_array_size(wanted))
        return false;
    json_array_foreach(doc_writable(wanted), i, element)
    {
        if (!drift_is_covered(json_array_get(live, i), element))
            return false;
    }
    return true;
}

bool drift_is_covered(const json_t *live, const json_t *wanted)
{
    const char *key;
    json_t *value;

    if (json_is_array(wanted))
        return is_list_covered(live, wanted);
    if (!json_is_object(wanted))
        return merge_is_equal(live, wanted);
    doc_foreach(wanted, key, value)
    {
        const json_t *found = doc_member(live, key);

        /* Objects of a list have neither. */
        if (!found && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0))
            continue;
        /* The server drops what is empty. */
        if (!found && (json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
                       (json_is_array(value) && !json_array_size(value))))
            continue;
        if (!found || !drift_is_covered(found, value))
            return false;
    }
    return true;
}

/* No label can have this value. */
static const char OWNER[] = "<owner>";

static void replace_mark(json_t *metadata, const char *map, const char *key, const char *mark)
{
    const json_t *marks = doc_member(metadata, map);
    const char *value = json_string_value(doc_member(marks, key));
    json_t *copy = NULL;

    if (!value || strcmp(value, mark) != 0)
        return;
    copy = json_copy(doc_writable(marks));
    (void)json_object_set_new(copy, key, doc_new_text(OWNER));
    (void)json_object_set_new(metadata, map, copy);
}

/* A shallow copy whose metadata can be changed. A new reference. */
static json_t *without_owner(const json_t *object, const struct module_owner *owner)
{
    cleanup_free char *owned_by = xasprintf("%s/%s", owner->namespace_name, owner->manifest_name);
    json_t *copy = json_copy(doc_writable(object));
    json_t *metadata = json_copy(doc_writable(doc_member(object, "metadata")));

    if (!metadata)
        return copy;
    replace_mark(metadata, "labels", KYMA_LABEL_COMPONENT, owner->manifest_name);
    replace_mark(metadata, "annotations", KYMA_ANNOTATION_OWNED_BY, owned_by);
    (void)json_object_set_new(copy, "metadata", metadata);
    return copy;
}

char *drift_wanted_hash(const json_t *wanted, const struct module_owner *owner)
{
    cleanup_json json_t *copy = without_owner(wanted, owner);

    return merge_hash(copy);
}

char *drift_hash(const json_t *live, const struct module_owner *owner)
{
    static const char *const of_server[] = {"resourceVersion", "generation",        "uid",
                                            "managedFields",   "creationTimestamp", "selfLink"};
    cleanup_json json_t *copy = without_owner(live, owner);
    json_t *metadata = json_object_get(copy, "metadata");

    for (size_t i = 0; metadata && i < array_length(of_server); i++)
        (void)json_object_del(metadata, of_server[i]);
    (void)json_object_del(copy, "status");
    (void)json_object_del(copy, "apiVersion");
    (void)json_object_del(copy, "kind");
    return merge_hash(copy);
}
