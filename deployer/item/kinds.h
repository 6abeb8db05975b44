/* SPDX-License-Identifier: Apache-2.0 */
/* The rules (deployer/validation/rules.h) of Landscaper's objects. */
#pragma once

#include "deployer/validation/rules.h"

extern const struct field_rule ITEM_FIELDS[], ITEM_SPEC_FIELDS[]; /* DeployItem, and its spec */
extern const struct field_rule TARGET_FIELDS[];
extern const struct field_rule CONTEXT_FIELDS[];
