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

/* A list as v2 has it, as texts: a tree of thousands of elements would take a dozen times as much.
 * Zeroed memory is an empty list. */
struct element_text {
    char *json;        /* compact, keys sorted */
    char identity[24]; /* a hash of what tells it from the others */
};

struct element_list {
    struct element_text *items;
    size_t count;
    size_t capacity;
    struct error failure; /* the first one */
};

/* Appends the element. What is wrong with it is told by element_list_check(), at its turn. */
void element_list_add(struct element_list *list, enum element_kind kind, const json_t *element);
/* Every element was right, and no two have the same identity. */
int element_list_check(const struct element_list *list, struct error *err) must_check;
json_t *element_list_get(const struct element_list *list, size_t index); /* a new reference */
void element_list_done(struct element_list *list);

/* Labels with name and value only; *ret_labels is NULL if there are none. */
int element_labels(const json_t *labels, json_t **ret_labels, struct error *err) must_check;
/* Signatures; *ret_signatures is NULL if there are none. */
int element_signatures(const json_t *signatures, json_t **ret_signatures, struct error *err)
    must_check;
/* Repository contexts: at least one, each an object with a type. */
int element_contexts(const json_t *contexts, json_t **ret_contexts, struct error *err) must_check;

/* An identity is the name, the extra identity, and the version where another element has the same
 * two. The one element whose identity is just this name, or NULL; *ret_namesakes counts all that
 * have the name. A new reference. */
json_t *element_by_name(const struct element_list *list, const char *name, size_t *ret_namesakes);
