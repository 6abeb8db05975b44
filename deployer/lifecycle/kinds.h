/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of Kymas, ModuleTemplates, ModuleReleaseMetas and Manifests, for people who write them:
 * those of the CRDs, and what the CRDs cannot express. Documents in, mistakes out; no I/O. */
#pragma once

#include <jansson.h>

#include "deployer/validation/mistakes.h"
#include "deployer/validation/rules.h"

extern const struct field_rule KYMA_FIELDS[], MODULE_TEMPLATE_FIELDS[],
    MODULE_RELEASE_META_FIELDS[], MANIFEST_KIND_FIELDS[];

/* Adds everything that is wrong with the object. */
void kyma_check(const json_t *kyma, struct mistakes *mistakes);
void module_template_check(const json_t *template, struct mistakes *mistakes);
void module_release_meta_check(const json_t *release, struct mistakes *mistakes);
void manifest_check(const json_t *manifest, struct mistakes *mistakes);
