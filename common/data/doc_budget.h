/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: copies of trees that can't grow past a budget, for YAML's aliases. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct doc_budget {
    size_t nodes_left;
    size_t bytes_left; /* of texts and keys */
};

/* Takes a copy's cost out of the budget; false when that is used up. */
bool doc_budget_take(struct doc_budget *budget, const json_t *value);
/* Levels of lists and objects: 0 for a scalar, 1 for {}. */
size_t doc_height(const json_t *value);
