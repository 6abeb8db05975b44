/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading of an object's fields. A field that is absent or null is as good as not written;
 * one of another type is a mistake at its path, and reads as absent. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/item/mistakes.h"

/* An object that is being read. object may be NULL: every field is absent then. */
struct fields {
    const json_t *object;
    const char *path;
    struct mistakes *mistakes;
};

/* The raw value; NULL if absent or null. Borrowed, as all results but the char * ones. */
const json_t *field_any(const struct fields *fields, const char *key);
const json_t *field_object(const struct fields *fields, const char *key);
const json_t *field_array(const struct fields *fields, const char *key);
const char *field_text(const struct fields *fields, const char *key); /* NULL if absent */
bool field_bool(const struct fields *fields, const char *key, bool fallback);
/* Outside of min..max is a mistake and reads as fallback. */
int64_t field_integer(const struct fields *fields, const char *key, int64_t fallback, int64_t min,
                      int64_t max);
/* A Go duration of at least min_ms. */
int64_t field_duration_ms(const struct fields *fields, const char *key, int64_t fallback,
                          int64_t min_ms);
/* A list of strings; "" reads as an empty list (the Go deployer's documentation shows it). New
 * reference or NULL. */
json_t *field_text_list(const struct fields *fields, const char *key);
/* Like field_text(), but belongs to the caller; NULL, or fallback's copy, if absent or empty. */
char *field_text_copy(const struct fields *fields, const char *key, const char *fallback);

/* For json_object_foreach(), which wants a mutable object although it changes nothing. */
static inline json_t *field_each(const json_t *object)
{
    return (json_t *)(uintptr_t)object;
}

/* The path of a member; belongs to the caller. */
char *field_path(const struct fields *fields, const char *key);
