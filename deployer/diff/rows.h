/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a comparison (docs/schemas/diff-result.schema.json). Pure. */
#pragma once

#include "common/apply/apply.h"
#include "common/apply/removal_preview.h"

/* Adds what a dry run says about an object. */
void rows_add_planned(json_t *objects, const struct plan_object *object,
                      const struct apply_object_result *result);
/* Adds a recorded object that is not wanted any more, unless it is gone already. */
void rows_add_orphan(json_t *objects, const struct inventory_entry *entry,
                     const struct removal_forecast *forecast);
/* {created: 1, ...}; a new reference. */
json_t *rows_count_actions(const json_t *objects);
/* "same", "different" or "failed". */
const char *rows_result_of(const json_t *summary);
