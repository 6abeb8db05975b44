/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from objects of clusters, waiting until they are there. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/reference.h"
#include "common/jsonpath/jsonpath.h"

/* One export. Everything belongs to it. */
struct export_rule {
    char *key; /* "a.b": the value becomes {"a": {"b": value}} */
    char *path_text;
    struct jsonpath *path; /* jsonPath: applied to the object from */
    struct object_ref from;
    /* fromObjectRef: path finds {name, namespace} instead of the value (without namespace: that of
     * from), and reference_path (fromObjectRef.jsonPath) is applied to that object, in the same
     * cluster. NULL: none. */
    char *reference_api_version, *reference_kind;
    char *reference_path_text;
    struct jsonpath *reference_path;
    char *target_name;
};

void export_rule_done(struct export_rule *rule);

enum { EXPORT_KEY_NAMES_MAX = 32 };

/* Checks a key: names separated by dots, with an optional dot in front; in a name a backslash takes
 * the next character literally. ERROR_INVALID if it is something else, or has more names. */
int export_key_check(const char *key, struct error *err) must_check;

/* Adds the value under the key: an object is merged with what is there, anything else replaces it.
 * The key has passed export_key_check(). */
void export_place(json_t *values, const char *key, const json_t *value);

/* The value of a key in exported values, borrowed; NULL if the key is missing. */
const json_t *export_value_at(const json_t *values, const char *key);

/* Everything but seen is borrowed until on_done or exports_cancel(). */
struct exports_options {
    struct cluster *cluster;
    const struct export_rule *rules;
    struct cluster *const *rule_clusters; /* parallel; NULL or NULL elements: cluster */
    size_t count;
    /* Objects of cluster as the last write returned them: used without a request if they have the
     * value and no status, since a status may have changed after the write. NULL elements are
     * skipped. May be NULL. */
    json_t *const *seen;
    size_t seen_count;
    /* A new reference: one object with all keys; values of later rules win over those of earlier
     * ones, objects are merged. The exports are freed. */
    void (*on_done)(void *data, json_t *values);
    /* If not NULL: the objects are watched until exports_cancel(). This is called from the loop,
     * instead of on_done, when something was observed; what was found is exports_find(). */
    void (*on_change)(void *data);
    void *data;
};

struct exports;
/* on_done is called once, from the loop, when every rule finds exactly one value at the same
 * moment. ERROR_INVALID: a key is invalid, or the cluster of a target_name is missing. */
int exports_start(const struct exports_options *options, struct exports **ret_exports,
                  struct error *err) must_check;
void exports_cancel(struct exports *exports); /* NULL is fine; not after on_done */
/* Which keys are missing and why, for up to five of them; names and types, never values. Belongs to
 * the caller; NULL: none is missing. */
char *exports_describe(const struct exports *exports);

enum export_state {
    EXPORT_UNKNOWN, /* it was not observed yet, or cannot be at present */
    EXPORT_FOUND,
    EXPORT_ABSENT, /* there is no such object, or no value in it */
};

/* For exports with on_change: the value of a rule, by its index. *ret_value is borrowed until the
 * loop runs; NULL unless it was found. */
enum export_state exports_find(const struct exports *exports, size_t index,
                               const json_t **ret_value);
