/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/fields.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

bool fields_is_empty(const json_t *set)
{
    return !set;
}

bool fields_is_member(const json_t *set)
{
    return set && (json_object_size(set) == 0 || doc_member(set, "."));
}

static bool is_marker(const char *key)
{
    return strcmp(key, ".") == 0;
}

/* Takes children over. NULL: the node is neither a member nor has children. */
static json_t *make_node(bool is_member, json_t *children)
{
    if (json_object_size(children) == 0) {
        if (is_member)
            return children;
        json_decref(children);
        return NULL;
    }
    if (is_member)
        (void)json_object_set_new(children, ".", json_object());
    return children;
}

static void add_child(json_t *children, const char *key, json_t *child)
{
    if (child)
        (void)json_object_set_new(children, key, child);
}

/* "f:" and the name of a member. */
static char *member_name(const char *key)
{
    return xasprintf("f:%s", key);
}

json_t *fields_union(const json_t *a, const json_t *b)
{
    json_t *children = NULL;
    const char *key = NULL;
    json_t *child = NULL;

    if (!a || !b)
        return a || b ? json_deep_copy(a ? a : b) : NULL;
    children = json_object();
    doc_foreach(a, key, child)
    {
        if (!is_marker(key))
            add_child(children, key, fields_union(child, doc_member(b, key)));
    }
    doc_foreach(b, key, child)
    {
        if (!is_marker(key) && !doc_member(a, key))
            add_child(children, key, json_deep_copy(child));
    }
    return make_node(fields_is_member(a) || fields_is_member(b), children);
}

json_t *fields_minus(const json_t *a, const json_t *b)
{
    json_t *children = NULL;
    const char *key = NULL;
    json_t *child = NULL;

    if (!a || !b)
        return a ? json_deep_copy(a) : NULL;
    children = json_object();
    doc_foreach(a, key, child)
    {
        if (!is_marker(key))
            add_child(children, key, fields_minus(child, doc_member(b, key)));
    }
    return make_node(fields_is_member(a) && !fields_is_member(b), children);
}

json_t *fields_common(const json_t *a, const json_t *b)
{
    json_t *children = NULL;
    const char *key = NULL;
    json_t *child = NULL;

    if (!a || !b)
        return NULL;
    children = json_object();
    doc_foreach(a, key, child)
    {
        if (!is_marker(key))
            add_child(children, key, fields_common(child, doc_member(b, key)));
    }
    return make_node(fields_is_member(a) && fields_is_member(b), children);
}

/* Marks a node as a member, whatever it was. Takes node over. */
static json_t *as_member(json_t *node)
{
    if (!node)
        return json_object();
    if (json_object_size(node) > 0)
        (void)json_object_set_new(node, ".", json_object());
    return node;
}

static json_t *fields_of_items(const struct shape *shape, const json_t *list)
{
    struct shape item_shape = shape_item(shape);
    json_t *children = json_object();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        cleanup_free char *name = shape_item_name(shape, item);

        if (name)
            add_child(children, name,
                      as_member(json_is_object(item) ? fields_of(&item_shape, item) : NULL));
    }
    return make_node(false, children);
}

json_t *fields_of(const struct shape *shape, const json_t *value)
{
    enum shape_type type = shape_type_of(shape, value);
    json_t *children = NULL;
    const char *key = NULL;
    json_t *member = NULL;

    if (type == SHAPE_SCALAR || type == SHAPE_ATOMIC)
        return json_object();
    if (type != SHAPE_OBJECT)
        return fields_of_items(shape, value);
    children = json_object();
    doc_foreach(value, key, member)
    {
        cleanup_free char *name = member_name(key);
        struct shape member_shape = shape_member(shape, key);
        json_t *child = fields_of(&member_shape, member);
        bool is_empty =
            json_is_null(member) || (json_is_object(member) && json_object_size(member) == 0);

        if (is_empty || !shape_declares(shape, key))
            child = as_member(child);
        add_child(children, name, child);
    }
    return make_node(false, children);
}

static void compare(const struct shape *shape, const json_t *before, const json_t *after,
                    json_t **ret_changed, json_t **ret_removed);

static void compare_child(json_t *changed, json_t *removed, const char *name,
                          const struct shape *shape, const json_t *before, const json_t *after)
{
    json_t *child_changed = NULL, *child_removed = NULL;

    compare(shape, before, after, &child_changed, &child_removed);
    add_child(changed, name, child_changed);
    add_child(removed, name, child_removed);
}

static void compare_members(const struct shape *shape, const json_t *before, const json_t *after,
                            json_t *changed, json_t *removed)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(before, key, value)
    {
        cleanup_free char *name = member_name(key);
        struct shape member = shape_member(shape, key);

        compare_child(changed, removed, name, &member, value, doc_member(after, key));
    }
    doc_foreach(after, key, value)
    {
        cleanup_free char *name = member_name(key);
        struct shape member = shape_member(shape, key);

        if (!doc_member(before, key))
            compare_child(changed, removed, name, &member, NULL, value);
    }
}

static void compare_items(const struct shape *shape, const json_t *before, const json_t *after,
                          json_t *changed, json_t *removed)
{
    struct shape item_shape = shape_item(shape);

    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *item = json_array_get(before, i);
        cleanup_free char *name = shape_item_name(shape, item);

        if (name)
            compare_child(changed, removed, name, &item_shape, item,
                          shape_find_item(shape, after, name, NULL));
    }
    for (size_t i = 0; i < json_array_size(after); i++) {
        const json_t *item = json_array_get(after, i);
        cleanup_free char *name = shape_item_name(shape, item);

        if (name && !shape_find_item(shape, before, name, NULL))
            compare_child(changed, removed, name, &item_shape, NULL, item);
    }
}

static bool is_whole(enum shape_type type, const json_t *value)
{
    return type == SHAPE_SCALAR || type == SHAPE_ATOMIC ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static void compare(const struct shape *shape, const json_t *before, const json_t *after,
                    json_t **ret_changed, json_t **ret_removed)
{
    const json_t *either = after ? after : before;
    enum shape_type type = shape_type_of(shape, either);
    bool is_leaf =
        is_whole(type, either) && (!before || is_whole(shape_type_of(shape, before), before));
    json_t *changed = NULL, *removed = NULL;

    if (json_equal(before, after))
        return;
    changed = json_object();
    removed = json_object();
    if (!is_leaf && type == SHAPE_OBJECT)
        compare_members(shape, json_is_object(before) ? before : NULL, after, changed, removed);
    else if (!is_leaf)
        compare_items(shape, json_is_array(before) ? before : NULL, after, changed, removed);
    *ret_changed = make_node(after && (!before || is_leaf), changed);
    *ret_removed = make_node(before && !after, removed);
}

struct fields_change fields_compare(const struct shape *shape, const json_t *before,
                                    const json_t *after)
{
    struct fields_change change = {0};

    compare(shape, before, after, &change.changed, &change.removed);
    return change;
}

void fields_change_done(struct fields_change *change)
{
    json_decref(change->changed);
    json_decref(change->removed);
    *change = (struct fields_change){0};
}

static char *item_path(const char *path, const char *name)
{
    cleanup_json json_t *keys = NULL;
    cleanup_buffer struct buffer out = {0};
    struct error err = {0};
    const char *key = NULL;
    json_t *value = NULL;

    buffer_init(&out, 4096);
    if (doc_parse_json(name + 2, strlen(name + 2), 4096, &keys, &err) < 0)
        return xasprintf("%s[%s]", path, name);
    if (!json_is_object(keys)) /* an item of a set */
        return xasprintf("%s[=%s]", path, name + 2);
    doc_foreach(keys, key, value)
    {
        cleanup_free char *text = doc_dump(value);

        (void)!buffer_append_text(&out, &err, "%s%s=%s", out.size > 0 ? "," : "", key, text);
    }
    return xasprintf("%s[%s]", path, out.data ? out.data : "");
}

static void visit(const json_t *set, const char *path, fields_found_fn *found, void *data)
{
    const char *key = NULL;
    json_t *child = NULL;

    if (fields_is_member(set) && path[0])
        found(data, path);
    doc_foreach(set, key, child)
    {
        cleanup_free char *child_path = NULL;

        if (is_marker(key))
            continue;
        child_path = key[0] == 'f' ? xasprintf("%s.%s", path, key + 2) : item_path(path, key);
        visit(child, child_path, found, data);
    }
}

void fields_visit(const json_t *set, fields_found_fn *found, void *data)
{
    if (set)
        visit(set, "", found, data);
}
