/* SPDX-License-Identifier: Apache-2.0 */
/* deletionGroups and deletionGroupsDuringUpdate of a provider configuration. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/configuration_parts.h"

struct group_list {
    struct removal_group *groups;
    size_t count;
};

static void read_resource(const struct fields *fields, void *data)
{
    struct removal_group *group = data;

    group->resources =
        xreallocarray(group->resources, group->resource_count + 1, sizeof(*group->resources));
    group->resources[group->resource_count++] = (struct removal_resource){
        .api_version = config_text(fields, "apiVersion"),
        .kind = config_text(fields, "kind"),
        .names = config_names(fields, "names"),
        .namespaces = config_names(fields, "namespaces"),
    };
}

static void read_resources(const struct fields *fields, struct removal_group *group)
{
    cleanup_free char *path = field_path(fields, "resources");

    config_each(fields, "resources", read_resource, group);
    if (json_array_size(field_any(fields, "resources")) == 0)
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, path, "at least one resource");
}

static void read_type(const struct fields *fields, struct removal_group *group)
{
    static const struct {
        const char *word;
        enum removal_group_type type;
    } types[] = {
        {"namespaced-resources", REMOVAL_NAMESPACED},
        {"cluster-scoped-resources", REMOVAL_CLUSTER_SCOPED},
        {"crds", REMOVAL_CRDS},
        {"empty", REMOVAL_NOTHING},
    };
    const char *word = field_text(fields, "type");

    for (size_t i = 0; word && i < array_length(types); i++) {
        if (strcmp(types[i].word, word) == 0)
            group->type = types[i].type;
    }
}

static void read_predefined(const struct fields *fields, struct removal_group *group)
{
    read_type(fields, group);
    group->is_force = field_bool(fields, "forceDelete", false);
}

/* Neither deployer would limit a custom group by these fields: it would delete what they were
 * meant to spare. */
static void refuse_limits(const struct fields *fields)
{
    static const char *const limits[] = {"matchLabels", "waitOnly"};

    for (size_t i = 0; i < array_length(limits); i++) {
        cleanup_free char *path = field_path(fields, limits[i]);

        if (field_any(fields, limits[i]))
            mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, path,
                         "does not limit this group; use selectedResourceGroup beside "
                         "'predefinedResourceGroup: {type: empty}'");
    }
}

static void read_custom(const struct fields *fields, struct removal_group *group)
{
    bool is_all = field_bool(fields, "deleteAllResources", false);
    cleanup_free char *path = field_path(fields, "targetName");

    group->type = is_all ? REMOVAL_ALL : REMOVAL_CUSTOM;
    group->is_force = field_bool(fields, "forceDelete", false);
    group->target_name = config_target_name(fields);
    read_resources(fields, group);
    refuse_limits(fields);
    if (group->target_name && !is_all)
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, path,
                     "needs deleteAllResources: true, because objects that the item applied are "
                     "in its own target");
}

/* Without names, namespaces or labels it would select every object of a kind. */
static bool is_limited(const struct removal_group *group)
{
    if (json_object_size(group->match_labels) > 0)
        return true;
    for (size_t i = 0; i < group->resource_count; i++) {
        if (!group->resources[i].names && !group->resources[i].namespaces)
            return false;
    }
    return true;
}

static void read_selected(const struct fields *fields, struct removal_group *group)
{
    const json_t *labels = field_object(fields, "matchLabels");

    group->type = REMOVAL_SELECTED;
    group->match_labels = labels ? json_deep_copy(labels) : NULL;
    group->is_force = field_bool(fields, "forceDelete", false);
    group->is_wait_only = field_bool(fields, "waitOnly", false);
    group->target_name = config_target_name(fields);
    read_resources(fields, group);
    if (!is_limited(group))
        mistakes_add(fields->mistakes, MISTAKE_REQUIRED, fields->path,
                     "matchLabels, or names or namespaces for every resource");
    if (group->is_wait_only && group->is_force)
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, fields->path,
                     "forceDelete contradicts waitOnly");
}

static void read_group(const struct fields *fields, void *data)
{
    struct group_list *list = data;
    struct removal_group group = {0};
    cleanup_free char *predefined_path = NULL;
    cleanup_free char *custom_path = NULL;
    cleanup_free char *selected_path = NULL;
    struct fields predefined = config_section(fields, "predefinedResourceGroup", &predefined_path);
    struct fields custom = config_section(fields, "customResourceGroup", &custom_path);
    struct fields selected = config_section(fields, "selectedResourceGroup", &selected_path);

    if (!predefined.object == !custom.object) {
        mistakes_add(fields->mistakes, MISTAKE_INVALID, fields->path,
                     "must have either predefinedResourceGroup or customResourceGroup");
        return;
    }
    if (custom.object)
        read_custom(&custom, &group);
    else
        read_predefined(&predefined, &group);
    /* The Go deployer does not know the field, so it may only be where that deployer deletes
     * nothing. */
    if (selected.object && group.type != REMOVAL_NOTHING)
        mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, selected_path,
                     "is only allowed together with 'predefinedResourceGroup: {type: empty}'");
    else if (selected.object)
        read_selected(&selected, &group);
    list->groups = xreallocarray(list->groups, list->count + 1, sizeof(*list->groups));
    list->groups[list->count++] = group;
}

void config_read_groups(const struct fields *root, const char *key,
                        struct removal_group **ret_groups, size_t *ret_count)
{
    struct group_list list = {0};

    config_each(root, key, read_group, &list);
    *ret_groups = list.groups;
    *ret_count = list.count;
}
