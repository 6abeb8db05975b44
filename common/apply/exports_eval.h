/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: what an export finds in an object, and where it puts it. Pure. No message
 * contains a value. */
#pragma once

#include "common/apply/exports.h"

/* The single value at the path: a new reference. ERROR_NOT_FOUND if there is none yet,
 * ERROR_INVALID if there are several or the path does not fit the object. path_text NULL is fine.
 */
int export_find(const struct jsonpath *path, const char *path_text, const json_t *object,
                json_t **ret_value, struct error *err) must_check;
/* The object that value refers to: {"name": ..., "namespace": ...}. ERROR_INVALID names the member
 * that is missing or has another type. */
int export_parse_reference(const struct export_rule *rule, const json_t *value,
                           struct object_ref *ret_ref, struct error *err) must_check;
/* Whether a reference that was found may be shown: not if it may be a value that is secret. */
bool export_is_public(const struct export_rule *rule, const struct object_ref *reference);
/* The object of this reference among those that the last writes returned, if it needs no watch;
 * else NULL. Borrowed. */
const json_t *export_find_seen(const struct exports_options *options, const struct object_ref *ref);
