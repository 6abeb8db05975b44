/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: the weight of trees, and JSON's half of doc_lists.h. */
#pragma once

#include "common/data/doc_lists.h"

/* What jansson takes for a value, beside its text; rather too much than too little. */
enum { WEIGHT_SCALAR = 64, WEIGHT_ARRAY = 128, WEIGHT_OBJECT = 256 };

#define DOC_LISTS_TOO_LARGE "this part of the document is too large to be held in memory"

/* The index of the list with these keys, or lists->count. */
size_t doc_lists_find(const struct doc_lists *lists, const char *const keys[2]);

/* ERROR_TOO_LARGE is for the caller to report. Any other failure only means that this is no JSON.
 */
int doc_lists_read_json(const char *text, size_t size, const struct doc_lists *lists,
                        json_t **ret_doc, struct error *err) must_check;
