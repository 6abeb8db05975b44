/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of an object in a cluster. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

/* All strings belong to the reference. namespace_name is NULL for cluster-scoped objects, uid is
 * NULL if the object was never seen. */
struct object_ref {
    char *api_version, *kind, *namespace_name, *name, *uid;
};

void object_ref_done(struct object_ref *ref);
struct object_ref object_ref_copy(const struct object_ref *ref);
/* From metadata of an object. Missing members are empty strings (apiVersion, kind, name) or NULL.
 */
struct object_ref object_ref_of(const json_t *object);
/* From a core ObjectReference {apiVersion, kind, name, namespace, uid}; ERROR_INVALID names the
 * member that is missing or has another type. */
int object_ref_parse(const json_t *value, struct object_ref *ret_ref, struct error *err) must_check;
/* The ObjectReference; absent members are left out. A new reference. */
json_t *object_ref_json(const struct object_ref *ref);
/* The same group, kind, namespace and name; the version and the uid may differ. */
bool object_ref_is_same_name(const struct object_ref *a, const struct object_ref *b);
/* A text that two references have in common exactly if object_ref_is_same_name(). Belongs to the
 * caller. */
char *object_ref_key(const struct object_ref *ref);
/* The same uid if both have one, else object_ref_is_same_name(). */
bool object_ref_equal(const struct object_ref *a, const struct object_ref *b);
/* For people: "ConfigMap example/name", "ClusterRole name". Belongs to the caller. */
char *object_ref_text(const struct object_ref *ref);
/* The labels of an object {"a": "b", "c": "d"} as a selector, "a=b,c=d". Belongs to the caller. */
char *label_selector_text(const json_t *labels);
/* The group and version of an apiVersion; group "" for the core group. Borrowed pieces: *ret_group
 * has *ret_group_size bytes inside api_version, the version is the rest. */
void api_version_split(const char *api_version, const char **ret_group, size_t *ret_group_size,
                       const char **ret_version);
