/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/apply_merge.h"

#include <string.h>

#include "common/data/doc.h"
#include "e2e/fleet/fields.h"

static json_t *merge_members(const struct shape *shape, const json_t *live, const json_t *config)
{
    json_t *result = json_copy(doc_writable(live));
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(config, key, value)
    {
        struct shape member = shape_member(shape, key);

        (void)json_object_set_new(result, key, apply_merge(&member, doc_member(live, key), value));
    }
    return result;
}

static json_t *merge_items(const struct shape *shape, const json_t *live, const json_t *config)
{
    struct shape item_shape = shape_item(shape);
    json_t *result = json_copy(doc_writable(live));

    for (size_t i = 0; i < json_array_size(config); i++) {
        const json_t *item = json_array_get(config, i);
        cleanup_free char *name = shape_item_name(shape, item);
        size_t at = 0;
        const json_t *old = name ? shape_find_item(shape, result, name, &at) : NULL;

        if (old)
            (void)json_array_set_new(result, at, apply_merge(&item_shape, old, item));
        else
            (void)json_array_append_new(result, json_deep_copy(item));
    }
    return result;
}

json_t *apply_merge(const struct shape *shape, const json_t *live, const json_t *config)
{
    enum shape_type type = shape_type_of(shape, config);

    if (type == SHAPE_OBJECT && json_is_object(live))
        return merge_members(shape, live, config);
    if ((type == SHAPE_LIST_MAP || type == SHAPE_LIST_SET) && json_is_array(live))
        return merge_items(shape, live, config);
    return json_deep_copy(config);
}

static bool is_key(const struct shape *list, const char *name)
{
    const char *keys[SHAPE_KEYS_MAX] = {0};
    size_t count = shape_keys(list, keys);

    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, "f:", 2) == 0 && strcmp(name + 2, keys[i]) == 0)
            return true;
    }
    return false;
}

static bool is_removed_whole(const json_t *gone, const json_t *keep)
{
    return fields_is_member(gone) && !keep;
}

static void remove_item(const struct shape *shape, json_t *list, const char *name,
                        const json_t *gone, const json_t *keep)
{
    struct shape item_shape = shape_item(shape);
    size_t at = 0;
    json_t *item = shape_find_item(shape, list, name, &at);
    json_t *copy = NULL;
    const char *key = NULL;
    json_t *child = NULL;

    if (!item)
        return;
    if (is_removed_whole(gone, keep)) {
        (void)json_array_remove(list, at);
        return;
    }
    copy = json_object(); /* gone without the keys, which identify an item that stays */
    doc_foreach(gone, key, child)
    {
        if (!is_key(shape, key) && strcmp(key, ".") != 0)
            (void)json_object_set(copy, key, child);
    }
    item = json_copy(item);
    apply_remove(&item_shape, item, copy, keep);
    (void)json_array_set_new(list, at, item);
    json_decref(copy);
}

static void remove_member(const struct shape *shape, json_t *object, const char *name,
                          const json_t *gone, const json_t *keep)
{
    struct shape member = shape_member(shape, name);
    json_t *value = json_object_get(object, name);
    json_t *copy = NULL;

    if (!value)
        return;
    if (is_removed_whole(gone, keep) || (!json_is_object(value) && !json_is_array(value))) {
        (void)json_object_del(object, name);
        return;
    }
    copy = json_copy(value);
    apply_remove(&member, copy, gone, keep);
    /* An object or a list that lost its last member to this is removed, too. */
    if (!keep && (json_is_array(copy) ? json_array_size(copy) : json_object_size(copy)) == 0) {
        json_decref(copy);
        (void)json_object_del(object, name);
        return;
    }
    (void)json_object_set_new(object, name, copy);
}

void apply_remove(const struct shape *shape, json_t *value, const json_t *gone, const json_t *keep)
{
    const char *key = NULL;
    json_t *child = NULL;

    doc_foreach(gone, key, child)
    {
        const json_t *kept = doc_member(keep, key);

        if (strcmp(key, ".") == 0)
            continue;
        if (strncmp(key, "f:", 2) == 0 && json_is_object(value))
            remove_member(shape, value, key + 2, child, kept);
        else if (json_is_array(value))
            remove_item(shape, value, key, child, kept);
    }
}
