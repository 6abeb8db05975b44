/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that v2 and v3 descriptors have in common, checked and brought into the form that the
 * descriptor list has: what Go's conversion drops is dropped here too (label version, signing and
 * merge, source references, signature timestamps). */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

enum element_kind {
    ELEMENT_RESOURCE,
    ELEMENT_SOURCE,
    ELEMENT_REFERENCE,
};

/* A list as v2 has it; NULL and null give the empty list. New reference. No two elements may have
 * the same identity. */
int element_list(const json_t *list, enum element_kind kind, json_t **ret_list, struct error *err)
    must_check;
/* Labels with name and value only; *ret_labels is NULL if there are none. */
int element_labels(const json_t *labels, json_t **ret_labels, struct error *err) must_check;
/* Signatures; *ret_signatures is NULL if there are none. */
int element_signatures(const json_t *signatures, json_t **ret_signatures, struct error *err)
    must_check;
/* Repository contexts: at least one, each an object with a type. */
int element_contexts(const json_t *contexts, json_t **ret_contexts, struct error *err) must_check;

/* An identity is the name, the extra identity, and the version where another element has the same
 * two. The one element whose identity is just this name, or NULL. Borrowed. */
const json_t *element_by_name(const json_t *list, const char *name);
