/* SPDX-License-Identifier: Apache-2.0 */
/* Relations between the fields of a value, which the tables of rules.h cannot express. Each
 * function adds every problem that it finds to mistakes, at path. value may be NULL, which means
 * that the field is absent and is always valid; parts of the wrong type are skipped, because
 * rules_check() reports them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/validation/mistakes.h"

/* No duplicates, and no names that the deployer sets. */
void validate_env(const json_t *value, const char *path, struct mistakes *mistakes);
/* Requests that do not exceed limits, and the API server's rules for extended resources and huge
 * pages. */
void validate_resources(const json_t *value, const char *path, struct mistakes *mistakes);
/* The API server's rules for tolerations. */
void validate_tolerations(const json_t *value, const char *path, struct mistakes *mistakes);
/* {"cron"} or {"every"}, not both. Returns whether one of them is set. */
bool validate_continuous_reconcile(const json_t *value, const char *path,
                                   struct mistakes *mistakes);
/* The reference, unless there is an inline descriptor, which takes precedence. A reference that our
 * init would refuse is an error; is_go_init: init is the Go deployer's, which is more tolerant. */
void validate_component_descriptor(const json_t *value, const char *path, bool is_go_init,
                                   struct mistakes *mistakes);
/* A typed repository specification. problem: the kind of mistake that an unknown type is. */
void validate_repository_context(const json_t *value, const char *path, enum mistake_kind problem,
                                 struct mistakes *mistakes);
/* has_descriptor: the item has a component descriptor, which ref needs. */
void validate_blueprint(const json_t *value, const char *path, bool has_descriptor,
                        struct mistakes *mistakes);
