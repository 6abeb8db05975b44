/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of configuration.c. Private to deployer/objects. */
#pragma once

#include "deployer/objects/configuration.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/rules.h"

/* configuration_checks.c */
void config_read_readiness(const struct fields *root, struct manifest_config *config);
/* configuration_exports.c */
void config_read_exports(const struct fields *root, struct manifest_config *config);
void value_export_done(struct value_export *export);
/* configuration_watch.c */
void config_read_watch(const struct fields *root, struct manifest_config *config);
/* configuration_groups.c */
void config_read_groups(const struct fields *root, const char *key,
                        struct removal_group **ret_groups, size_t *ret_count);

/* ---- configuration_fields.c: what several of them read ---- */

/* Calls each with the fields of every element of a list that is an object. */
typedef void config_element_fn(const struct fields *fields, void *data);
void config_each(const struct fields *parent, const char *key, config_element_fn *each, void *data);
/* The fields of a sub-object; object NULL: absent. The path belongs to the caller. */
struct fields config_section(const struct fields *parent, const char *key, char **ret_path);
/* A copy of a text; NULL: absent or empty. Belongs to the caller. */
char *config_text(const struct fields *fields, const char *key);
/* {apiVersion, kind, name, namespace}. */
struct object_ref config_reference(const struct fields *fields);
/* A JSONPath; NULL: absent or empty, or not valid, which is a mistake. ret_text may be NULL. */
struct jsonpath *config_path(const struct fields *fields, const char *key, char **ret_text);
/* The name of a second Target; NULL: none. */
char *config_target_name(const struct fields *fields);
/* A list of strings as an array terminated by NULL; NULL: absent or empty. */
char **config_names(const struct fields *fields, const char *key);

/* ---- configuration_rules.c: what rules_check() reports ---- */

extern const struct field_rule MANIFEST_OLD_FIELDS[]; /* of v1alpha1 */
extern const struct field_rule MANIFEST_GROUPS_RULE;  /* of deletionGroups */
