/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of configuration.c. Private to deployer/manifest. */
#pragma once

#include "deployer/manifest/configuration.h"
#include "deployer/validation/fields.h"

/* configuration_checks.c */
void config_read_readiness(const struct fields *root, struct manifest_config *config);
/* configuration_exports.c */
void config_read_exports(const struct fields *root, struct manifest_config *config);
/* configuration_groups.c */
void config_read_groups(const struct fields *root, const char *key,
                        struct removal_group **ret_groups, size_t *ret_count);

/* ---- configuration_fields.c: what several of them read ---- */

/* Calls each with the fields of every element of a list, whose unknown fields are reported. An
 * element that is not an object is a mistake. */
typedef void config_element_fn(const struct fields *fields, void *data);
void config_each(const struct fields *parent, const char *key, const char *const *known,
                 config_element_fn *each, void *data);
/* The fields of a sub-object, whose unknown fields are reported; object NULL: absent. The path
 * belongs to the caller. */
struct fields config_section(const struct fields *parent, const char *key, const char *const *known,
                             char **ret_path);
void config_warn_unused(const struct fields *fields, const char *key, const char *why);
/* A text that must not be missing or empty; a copy, or NULL after a mistake. */
char *config_required(const struct fields *fields, const char *key, const char *what);
/* {apiVersion, kind, name, namespace}. */
struct object_ref config_reference(const struct fields *fields);
extern const char *const CONFIG_REFERENCE_FIELDS[];
/* A JSONPath, required; NULL after a mistake. ret_text may be NULL. */
struct jsonpath *config_path(const struct fields *fields, const char *key, char **ret_text);
/* The name of a second Target; NULL: none. */
char *config_target_name(const struct fields *fields);
/* A list of strings as an array terminated by NULL; NULL: absent or empty. */
char **config_names(const struct fields *fields, const char *key);
/* {label: value}, checked; borrowed, NULL if absent. */
const json_t *config_labels(const struct fields *fields, const char *key);
