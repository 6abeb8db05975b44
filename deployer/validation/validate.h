/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of single fields, independent of the type of an item. Each function adds every problem
 * that it finds to mistakes, at path. value may be NULL, which means that the field is absent and
 * is always valid. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/validation/mistakes.h"

enum {
    VALIDATE_ENV_MAX = 1000,
    VALIDATE_ENV_VALUE_MAX = 128 * 1024 - 1, /* MAX_ARG_STRLEN of the kernel, less NUL */
    VALIDATE_LIST_MAX = 1000,
};

/* An image reference. NULL and "" are accepted. */
void validate_image(const char *image, const char *path, struct mistakes *mistakes);
/* Always, IfNotPresent, Never. */
void validate_pull_policy(const json_t *value, const char *path, struct mistakes *mistakes);
/* [{"name", "value"}]: valid names, no duplicates, none that the deployer sets; no valueFrom. */
void validate_env(const json_t *value, const char *path, struct mistakes *mistakes);
/* {"requests": {cpu: "1"}, "limits": {...}}: names, quantities, requests that do not exceed limits,
 * and the API server's rules for extended resources and huge pages. */
void validate_resources(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_quantity(const char *text, const char *path, struct mistakes *mistakes);
void validate_node_selector(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_tolerations(const json_t *value, const char *path, struct mistakes *mistakes);
/* A DNS name (runtimeClassName, priorityClassName). */
void validate_object_name(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_name(const char *name, const char *path, struct mistakes *mistakes);
/* [{"name", "namespace"}], both required. */
void validate_pull_secrets(const json_t *value, const char *path, struct mistakes *mistakes);
/* {"cron"} or {"every"}: at most one, valid, every > 0. Returns whether one of them is set. */
bool validate_continuous_reconcile(const json_t *value, const char *path,
                                   struct mistakes *mistakes);
void validate_component_descriptor(const json_t *value, const char *path,
                                   struct mistakes *mistakes);
/* has_descriptor: the item has a component descriptor, which ref needs. */
void validate_blueprint(const json_t *value, const char *path, bool has_descriptor,
                        struct mistakes *mistakes);
/* Whether the deployer sets this variable itself, so that an item must not. */
bool validate_is_reserved_env(const char *name);
