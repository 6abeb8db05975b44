/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: limits on the memory that a parsed document takes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/data/doc.h"

/* A document may take this much memory, by the estimates below; more is ERROR_TOO_LARGE. A few
 * bytes of text can become hundreds of bytes of memory. */
enum {
    DOC_TREE_MAX_BYTES = 64 * 1024 * 1024,
    DOC_WEIGHT_OBJECT = 224,
    DOC_WEIGHT_ARRAY = 128,
    DOC_WEIGHT_MEMBER = 72, /* without the key and the value */
    DOC_WEIGHT_STRING = 64, /* without its text */
    DOC_WEIGHT_OTHER = 32,
};
#define DOC_TREE_TOO_LARGE "the document takes too much memory"
#define DOC_TOO_DEEP "nested deeper than 128 levels"
_Static_assert(DOC_DEPTH_MAX == 128, "DOC_TOO_DEEP says so");

struct doc_budget {
    size_t nodes_left;
    size_t bytes_left; /* of strings and keys */
};

/* Takes the cost of a copy of value out of the budget of YAML aliases; false: it is used up. */
bool doc_budget_take(struct doc_budget *budget, const json_t *value);
/* The nesting of lists and objects: 0 for a scalar, 1 for {}. */
size_t doc_height(const json_t *value);
