/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of single fields. Each adds what is wrong to mistakes, at path, and goes on; value may
 * be NULL (absent: fine). Nothing here knows a type of item. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/item/mistakes.h"

enum {
    VALIDATE_ENV_MAX = 1000,
    VALIDATE_ENV_VALUE_MAX = 128 * 1024 - 1, /* the kernel's limit of one string */
    VALIDATE_LIST_MAX = 1000,
};

/* An image reference; empty is the caller's to judge. */
void validate_image(const char *image, const char *path, struct mistakes *mistakes);
/* Always, IfNotPresent, Never. */
void validate_pull_policy(const json_t *value, const char *path, struct mistakes *mistakes);
/* [{"name", "value"}]: names legal, not twice, none of the contract; no valueFrom. */
void validate_env(const json_t *value, const char *path, struct mistakes *mistakes);
/* {"requests": {cpu: "1"}, "limits": {...}}: names, quantities, requests not above limits, and the
 * API server's rules for resources of vendors and for huge pages. */
void validate_resources(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_quantity(const char *text, const char *path, struct mistakes *mistakes);
void validate_node_selector(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_tolerations(const json_t *value, const char *path, struct mistakes *mistakes);
/* A DNS name (runtimeClassName, priorityClassName). */
void validate_object_name(const json_t *value, const char *path, struct mistakes *mistakes);
void validate_name(const char *name, const char *path, struct mistakes *mistakes);
/* [{"name", "namespace"}], both needed. */
void validate_pull_secrets(const json_t *value, const char *path, struct mistakes *mistakes);
/* {"cron"} or {"every"}: at most one, parsable, every > 0. True if one of them is set. */
bool validate_continuous_reconcile(const json_t *value, const char *path,
                                   struct mistakes *mistakes);
void validate_component_descriptor(const json_t *value, const char *path,
                                   struct mistakes *mistakes);
/* has_descriptor: a reference can't be resolved without. */
void validate_blueprint(const json_t *value, const char *path, bool has_descriptor,
                        struct mistakes *mistakes);
/* A name that the contract gives to main, init or wait, and that no item may set. */
bool validate_is_reserved_env(const char *name);
