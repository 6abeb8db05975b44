/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of JSON documents. Pure. Results are new references. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* RFC 7386. */
json_t *patch_merge(const json_t *target, const json_t *patch);
/* RFC 6902. ERROR_INVALID: an operation is malformed, its path is missing, or its test failed. */
int patch_json(const json_t *target, const json_t *operations, json_t **ret_result,
               struct error *err) must_check;
/* Removes the members of objects that are null, at any depth, in place. */
void patch_drop_nulls(json_t *value);
