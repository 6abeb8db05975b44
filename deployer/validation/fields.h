/* SPDX-License-Identifier: Apache-2.0 */
/* Typed access to the fields of an object. null counts as absent, and so does a value of the wrong
 * type: rules_check() reports it. Limits are not checked here. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/validation/mistakes.h"

/* An object, its path, and where the caller adds what it finds. object may be NULL: then every
 * field is absent. */
struct fields {
    const json_t *object;
    const char *path;
    struct mistakes *mistakes;
};

/* The value; NULL if absent. Results are borrowed unless stated otherwise. */
const json_t *field_any(const struct fields *fields, const char *key);
const json_t *field_object(const struct fields *fields, const char *key);
const json_t *field_array(const struct fields *fields, const char *key);
const char *field_text(const struct fields *fields, const char *key); /* NULL if absent */
bool field_bool(const struct fields *fields, const char *key, bool fallback);
int64_t field_integer(const struct fields *fields, const char *key, int64_t fallback);
/* A duration in the syntax of Go. */
int64_t field_duration_ms(const struct fields *fields, const char *key, int64_t fallback);
/* A list of strings. "" counts as an empty list, as in the examples of the Go deployer. New
 * reference, or NULL if absent. */
json_t *field_text_list(const struct fields *fields, const char *key);
/* A deep copy as a new reference, or NULL if absent. */
json_t *field_copy(const struct fields *fields, const char *key);
/* A copy that belongs to the caller; a copy of fallback (which may be NULL) if the field is absent
 * or empty. */
char *field_text_copy(const struct fields *fields, const char *key, const char *fallback);

/* json_object_foreach() takes a mutable object although it does not change it. */
static inline json_t *field_each(const json_t *object)
{
    return (json_t *)(uintptr_t)object;
}

/* The path of a field. Belongs to the caller. */
char *field_path(const struct fields *fields, const char *key);
