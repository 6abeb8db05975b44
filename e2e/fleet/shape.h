/* SPDX-License-Identifier: Apache-2.0 */
/* How the value of a field is merged and owned by server-side apply: as a whole, member by member,
 * or item by item. For custom resources the schema says so (x-kubernetes-list-type and the like);
 * for built-in kinds there is a table of the fields that are not of the default type. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "e2e/fleet/resource.h"

enum shape_type {
    SHAPE_SCALAR, /* also null */
    SHAPE_ATOMIC, /* a list or an object that is replaced as a whole */
    SHAPE_OBJECT,
    SHAPE_LIST_MAP, /* items are identified by the values of keys */
    SHAPE_LIST_SET, /* items are scalars, each of which occurs once */
};

enum { SHAPE_KEYS_MAX = 4 };

/* A position in the schema. Copied by value; borrows the schema and the names of fields. */
struct shape {
    const json_t *schema; /* NULL: a built-in kind, or unknown to the schema */
    bool is_builtin;
    const char *field, *parent_field; /* "" at the root */
    bool is_root;
};

struct shape shape_root(const struct resource *resource, const struct resource_version *version);
struct shape shape_member(const struct shape *shape, const char *key);
struct shape shape_item(const struct shape *shape);
/* Whether the schema declares this member of an object: then owning the object's members says
 * nothing about the object itself. */
bool shape_declares(const struct shape *shape, const char *key);

/* The type of a value at this position. */
enum shape_type shape_type_of(const struct shape *shape, const json_t *value);
/* The keys of a SHAPE_LIST_MAP, and the default of a key that an item may leave out, or NULL. */
size_t shape_keys(const struct shape *shape, const char *ret_keys[SHAPE_KEYS_MAX]);
const json_t *shape_key_default(const struct shape *shape, const char *key);

/* The name of an item in a FieldsV1 set: "k:{...}" or "v:...". Belongs to the caller; NULL if a key
 * is missing. */
char *shape_item_name(const struct shape *list, const json_t *item);
/* The item of the list with this name, or NULL. Borrowed. */
json_t *shape_find_item(const struct shape *list_shape, const json_t *list, const char *name,
                        size_t *ret_index);
