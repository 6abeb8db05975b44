/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of fields in the format FieldsV1 of metadata.managedFields, and what two versions of an
 * object differ in. A set is an object with a member per child ("f:name", "k:{...}", "v:..."). A
 * node is in the set itself if it has the member "." or no member at all. NULL is the empty set.
 * All results are new references; arguments are not changed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "e2e/fleet/shape.h"

/* All fields of a value. */
json_t *fields_of(const struct shape *shape, const json_t *value);
json_t *fields_union(const json_t *a, const json_t *b);
json_t *fields_minus(const json_t *a, const json_t *b);
json_t *fields_common(const json_t *a, const json_t *b);
bool fields_is_empty(const json_t *set);
/* Whether the node that set is stands for a field itself, not only for some of its children. */
bool fields_is_member(const json_t *set);

/* The fields that were added or changed, and those that were removed. */
struct fields_change {
    json_t *changed, *removed; /* references of the caller, or NULL */
};
struct fields_change fields_compare(const struct shape *shape, const json_t *before,
                                    const json_t *after);
void fields_change_done(struct fields_change *change);

/* Calls found for every field in the set, with its path as the API server writes it:
 * ".data.a", ".spec.containers[name=\"c\"].image". */
typedef void fields_found_fn(void *data, const char *path);
void fields_visit(const json_t *set, fields_found_fn *found, void *data);
