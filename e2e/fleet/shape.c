/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/shape.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/one_of.h"

/* Fields of built-in kinds whose lists are merged by key. A parent tells fields of the same name
 * apart; NULL fits any. */
static const struct {
    const char *field, *parent, *keys[SHAPE_KEYS_MAX + 1];
} list_maps[] = {
    {"containers", NULL, {"name"}},
    {"initContainers", NULL, {"name"}},
    {"ephemeralContainers", NULL, {"name"}},
    {"volumes", NULL, {"name"}},
    {"env", NULL, {"name"}},
    {"volumeMounts", NULL, {"mountPath"}},
    {"volumeDevices", NULL, {"devicePath"}},
    {"imagePullSecrets", NULL, {"name"}},
    {"secrets", "", {"name"}},
    {"hostAliases", NULL, {"ip"}},
    {"topologySpreadConstraints", NULL, {"topologyKey", "whenUnsatisfiable"}},
    {"conditions", NULL, {"type"}},
    {"ownerReferences", NULL, {"uid"}},
    {"ports", "containers", {"containerPort", "protocol"}},
    {"ports", "initContainers", {"containerPort", "protocol"}},
    {"ports", "spec", {"port", "protocol"}},
    {"webhooks", NULL, {"name"}},
};

/* Objects of built-in kinds that are replaced as a whole. */
static const char *const atomic_objects[] = {
    "selector",        "labelSelector",  "nodeSelector",     "roleRef",     "secretKeyRef",
    "configMapKeyRef", "fieldRef",       "resourceFieldRef", "podSelector", "namespaceSelector",
    "objectSelector",  "involvedObject", "claimRef",         "matchLabels",
};

static const char *const list_sets[] = {"finalizers"};

struct shape shape_root(const struct resource *resource, const struct resource_version *version)
{
    return (struct shape){
        .schema = version->schema,
        .is_builtin = !resource->is_custom,
        .field = "",
        .parent_field = "",
        .is_root = true,
    };
}

struct shape shape_member(const struct shape *shape, const char *key)
{
    struct shape member = {
        .is_builtin = shape->is_builtin || (shape->is_root && strcmp(key, "metadata") == 0),
        .field = key,
        .parent_field = shape->field,
    };

    if (!member.is_builtin && shape->schema) {
        member.schema = doc_member(doc_member(shape->schema, "properties"), key);
        if (!member.schema)
            member.schema = doc_member(shape->schema, "additionalProperties");
        if (!json_is_object(member.schema))
            member.schema = NULL;
    }
    return member;
}

struct shape shape_item(const struct shape *shape)
{
    struct shape item = {.is_builtin = shape->is_builtin,
                         .field = shape->field,
                         .parent_field = shape->parent_field};

    if (shape->schema)
        item.schema = doc_member(shape->schema, "items");
    return item;
}

bool shape_declares(const struct shape *shape, const char *key)
{
    return shape->is_builtin || doc_member(doc_member(shape->schema, "properties"), key);
}

static const char *const *builtin_keys(const struct shape *shape)
{
    for (size_t i = 0; i < array_length(list_maps); i++) {
        if (strcmp(list_maps[i].field, shape->field) == 0 &&
            (!list_maps[i].parent || strcmp(list_maps[i].parent, shape->parent_field) == 0))
            return list_maps[i].keys;
    }
    return NULL;
}

static enum shape_type list_type(const struct shape *shape)
{
    const char *type = doc_text_or(shape->schema, "x-kubernetes-list-type", "atomic");

    if (shape->is_builtin && builtin_keys(shape))
        return SHAPE_LIST_MAP;
    if (shape->is_builtin && is_one_of(list_sets, array_length(list_sets), shape->field))
        return SHAPE_LIST_SET;
    if (strcmp(type, "map") == 0)
        return SHAPE_LIST_MAP;
    return strcmp(type, "set") == 0 ? SHAPE_LIST_SET : SHAPE_ATOMIC;
}

enum shape_type shape_type_of(const struct shape *shape, const json_t *value)
{
    if (json_is_array(value))
        return list_type(shape);
    if (!json_is_object(value))
        return SHAPE_SCALAR;
    if (shape->is_builtin && is_one_of(atomic_objects, array_length(atomic_objects), shape->field))
        return SHAPE_ATOMIC;
    if (strcmp(doc_text_or(shape->schema, "x-kubernetes-map-type", ""), "atomic") == 0)
        return SHAPE_ATOMIC;
    return SHAPE_OBJECT;
}

size_t shape_keys(const struct shape *shape, const char *ret_keys[SHAPE_KEYS_MAX])
{
    const char *const *builtin = shape->is_builtin ? builtin_keys(shape) : NULL;
    const json_t *keys = doc_member(shape->schema, "x-kubernetes-list-map-keys");
    size_t count = 0;

    if (builtin) {
        while (builtin[count]) {
            ret_keys[count] = builtin[count];
            count++;
        }
        return count;
    }
    for (; count < json_array_size(keys) && count < SHAPE_KEYS_MAX; count++)
        ret_keys[count] = json_string_value(json_array_get(keys, count));
    return count;
}

const json_t *shape_key_default(const struct shape *shape, const char *key)
{
    const json_t *properties = doc_get(shape->schema, "items.properties");

    return doc_member(doc_member(properties, key), "default");
}

static const json_t *key_value(const struct shape *list, const json_t *item, const char *key)
{
    const json_t *value = doc_member(item, key);

    return value ? value : shape_key_default(list, key);
}

char *shape_item_name(const struct shape *list, const json_t *item)
{
    const char *keys[SHAPE_KEYS_MAX] = {0};
    size_t count = 0;
    cleanup_json json_t *name = NULL;
    cleanup_free char *text = NULL;

    if (list_type(list) == SHAPE_LIST_SET) {
        text = doc_dump_sorted(item);
        return xasprintf("v:%s", text);
    }
    count = shape_keys(list, keys);
    name = json_object();
    for (size_t i = 0; i < count; i++) {
        const json_t *value = key_value(list, item, keys[i]);

        if (value)
            (void)json_object_set(name, keys[i], doc_writable(value));
        else if (list->is_builtin && strcmp(keys[i], "protocol") == 0)
            (void)json_object_set_new(name, keys[i], json_string("TCP"));
        else
            return NULL;
    }
    text = doc_dump_sorted(name);
    return xasprintf("k:%s", text);
}

json_t *shape_find_item(const struct shape *list_shape, const json_t *list, const char *name,
                        size_t *ret_index)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        cleanup_free char *item_name = shape_item_name(list_shape, item);

        if (item_name && strcmp(item_name, name) == 0) {
            if (ret_index)
                *ret_index = i;
            return item;
        }
    }
    return NULL;
}
