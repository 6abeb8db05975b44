/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of Environments and DeployerRegistrations. Documents in, mistakes out; no I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"
#include "deployer/validation/selector.h"

extern const struct field_rule ENVIRONMENT_FIELDS[], REGISTRATION_FIELDS[];

/* Adds everything that is wrong with the object. An agent writes an Environment; parts of it become
 * import data mappings, which the central Landscaper evaluates as templates: texts with "((" are
 * errors. Mappings of a registration are templates by purpose. */
void environment_check(const json_t *environment, struct mistakes *mistakes);
void registration_check(const json_t *registration, struct mistakes *mistakes);

/* The first text or key in value, at any depth, that contains "((", or NULL. Borrowed. */
const char *template_find(const json_t *value);

/* spec.targetSelectors as deployers of this registration get them. The deployer registered as
 * "helm" does not serve Targets with the annotation deployer-only, which are left to the agent's
 * own deployer. New reference. */
json_t *registration_selectors(const json_t *environment, const char *registration);
/* Whether a deployer of this registration would serve the host Target of the environment, so that
 * it can install other deployers. namespace_name: of the Target. */
bool registration_serves_host(const json_t *environment, const char *registration,
                              const char *namespace_name);
/* The host Target of an environment: apiVersion, kind, metadata without owner, spec. New reference.
 */
json_t *environment_host_target(const json_t *environment, const char *namespace_name);
