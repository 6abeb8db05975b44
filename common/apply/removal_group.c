/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/removal_group.h"

#include <string.h>

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum { FINALIZERS_TEXT_MAX = 200, SELECTOR_MAX = 64 * 1024 };

const struct removal_group REMOVAL_DEFAULT_GROUPS[3] = {
    {.type = REMOVAL_NAMESPACED},
    {.type = REMOVAL_CLUSTER_SCOPED},
    {.type = REMOVAL_CRDS},
};

static void free_texts(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

void removal_group_done(struct removal_group *group)
{
    for (size_t i = 0; i < group->resource_count; i++) {
        free(group->resources[i].api_version);
        free(group->resources[i].kind);
        free_texts(group->resources[i].names);
        free_texts(group->resources[i].namespaces);
    }
    free(group->resources);
    json_decref(group->match_labels);
    free(group->target_name);
    *group = (struct removal_group){0};
}

bool removal_group_is_listed(const struct removal_group *group)
{
    return group->type == REMOVAL_ALL || group->type == REMOVAL_SELECTED;
}

/* Any group: the Go deployer does not compare it either. */
static bool is_crd(const struct object_ref *ref)
{
    return strcmp(ref->kind, "CustomResourceDefinition") == 0;
}

static bool has_elements(char *const *texts)
{
    return texts && texts[0];
}

static bool is_empty_or_has(char *const *texts, const char *text)
{
    if (!has_elements(texts))
        return true;
    for (; *texts; texts++) {
        if (text && strcmp(*texts, text) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(const struct removal_resource *resource, const char *namespace_name,
                      const char *name)
{
    return is_empty_or_has(resource->names, name) &&
           is_empty_or_has(resource->namespaces, namespace_name);
}

static bool has_resource_of(const struct removal_group *group, const struct object_ref *ref)
{
    for (size_t i = 0; i < group->resource_count; i++) {
        const struct removal_resource *resource = &group->resources[i];

        if (strcmp(resource->api_version, ref->api_version) == 0 &&
            strcmp(resource->kind, ref->kind) == 0 &&
            is_wanted(resource, ref->namespace_name, ref->name))
            return true;
    }
    return false;
}

static bool takes(const struct removal_group *group, const struct object_ref *ref)
{
    switch (group->type) {
    case REMOVAL_NAMESPACED:
        return ref->namespace_name && !is_crd(ref);
    case REMOVAL_CLUSTER_SCOPED:
        return !ref->namespace_name && !is_crd(ref);
    case REMOVAL_CRDS:
        return is_crd(ref);
    case REMOVAL_CUSTOM:
    case REMOVAL_ALL:
        return !group->target_name && has_resource_of(group, ref);
    case REMOVAL_NOTHING:
    case REMOVAL_SELECTED:
    default:
        return false;
    }
}

size_t removal_group_of(const struct removal_group *groups, size_t count,
                        const struct object_ref *ref)
{
    for (size_t i = 0; i < count; i++) {
        if (takes(&groups[i], ref))
            return i;
    }
    return REMOVAL_NO_GROUP;
}

int removal_group_check(const struct removal_group *group, bool has_cluster, struct error *err)
{
    if (group->target_name && !has_cluster)
        return error_set(err, ERROR_INVALID, "deletion group: target %s was not resolved",
                         group->target_name);
    if (group->type != REMOVAL_SELECTED || json_object_size(group->match_labels) > 0)
        return 0;
    for (size_t i = 0; i < group->resource_count; i++) {
        if (!has_elements(group->resources[i].names) &&
            !has_elements(group->resources[i].namespaces))
            return error_set(err, ERROR_INVALID,
                             "deletion group: %s is not limited: add matchLabels, names or "
                             "namespaces",
                             group->resources[i].kind);
    }
    return 0;
}

static bool has_labels(const json_t *wanted, const json_t *object)
{
    const json_t *labels = doc_get(object, "metadata.labels");
    const char *key = NULL;
    const json_t *value = NULL;

    doc_foreach(wanted, key, value)
    {
        if (!json_equal(doc_member(labels, key), value))
            return false;
    }
    return true;
}

bool removal_group_selects(const struct removal_group *group,
                           const struct removal_resource *resource, const json_t *object)
{
    return doc_text(object, "metadata.name") &&
           is_wanted(resource, doc_text(object, "metadata.namespace"),
                     doc_text(object, "metadata.name")) &&
           (group->type != REMOVAL_SELECTED || has_labels(group->match_labels, object));
}

char *removal_group_selector(const struct removal_group *group)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    const char *key = NULL;
    const json_t *value = NULL;

    if (group->type != REMOVAL_SELECTED || json_object_size(group->match_labels) == 0)
        return NULL;
    buffer_init(&text, SELECTOR_MAX);
    doc_foreach(group->match_labels, key, value)
    {
        /* A selector that is cut selects more, but removal_group_selects() sees all labels. */
        if (buffer_append_text(&text, &ignored, "%s%s=%s", text.size > 0 ? "," : "", key,
                               json_is_string(value) ? json_string_value(value) : "") < 0)
            break;
    }
    return buffer_take(&text);
}

json_t *removal_prepare(const struct inventory_entry *entry, const json_t *live)
{
    cleanup_json json_t *additions = json_object();

    if (entry->annotate_before_delete)
        doc_set_new(additions, "metadata.annotations",
                    json_deep_copy(entry->annotate_before_delete));
    if (entry->patch_before_delete) {
        cleanup_json json_t *annotated = merge_objects(live, additions, true);

        return merge_objects(annotated, entry->patch_before_delete, true);
    }
    return merge_objects(live, additions, true);
}

char *removal_finalizers(const json_t *object)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};

    if (json_array_size(finalizers) == 0)
        return NULL;
    buffer_init(&text, FINALIZERS_TEXT_MAX);
    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        const char *finalizer = json_string_value(json_array_get(finalizers, i));

        if (finalizer &&
            buffer_append_text(&text, &ignored, "%s%s", text.size > 0 ? ", " : "", finalizer) < 0)
            break;
    }
    return buffer_take(&text);
}
