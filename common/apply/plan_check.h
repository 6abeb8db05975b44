/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: checks of a plan that need no server. Pure. */
#pragma once

#include "common/apply/plan.h"
#include "common/apply/summary.h"

/* Passes on each object, also of lists, that has no problem. The others are added to problems. */
typedef void plan_object_fn(void *data, const struct plan_input *input, const json_t *manifest,
                            const char *source);
void plan_expand(const struct plan_input *inputs, size_t count, plan_object_fn *on_object,
                 void *data, struct summary *problems);
/* Adds a problem if seen has the same object, else adds it to seen. */
void plan_check_twin(json_t *seen, const struct object_ref *ref, const char *source,
                     struct summary *problems);
