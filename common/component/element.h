/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that v2 and v3 descriptors have in common: checked, and converted to the form of the
 * component descriptor list. What the Go implementation drops is dropped here too (label version,
 * signing and merge, source references, signature timestamps). */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

enum element_kind {
    ELEMENT_RESOURCE,
    ELEMENT_SOURCE,
    ELEMENT_REFERENCE,
};

/* Checks the elements of an array and replaces each by its converted form. ERROR_INVALID
 * "[3]: version: ..." names the first element that is wrong, or that has the same identity as one
 * before it; the array is then partly converted. Anything but an array is left alone. */
int element_list_convert(json_t *list, enum element_kind kind, struct error *err) must_check;

/* Labels with name and value only; *ret_labels is NULL if there are none. */
int element_labels(const json_t *labels, json_t **ret_labels, struct error *err) must_check;
/* Signatures; *ret_signatures is NULL if there are none. */
int element_signatures(const json_t *signatures, json_t **ret_signatures, struct error *err)
    must_check;
/* Repository contexts: at least one, each an object with a type. */
int element_contexts(const json_t *contexts, json_t **ret_contexts, struct error *err) must_check;

/* An identity consists of the name, the extra identity, and the version where another element has
 * the same two. Returns the element with this identity (borrowed), or NULL. identity is an object
 * of strings: the extra identity, and perhaps the version; its member "name" does not count. NULL:
 * just the name. *ret_same_name is the number of elements that have the name. */
const json_t *element_find(const json_t *list, const char *name, const json_t *identity,
                           size_t *ret_same_name);
