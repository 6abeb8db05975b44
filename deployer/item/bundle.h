/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of multi-document YAML or JSON files, which `render`, `validate` and `run` use
 * instead of a cluster. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { BUNDLE_BYTES_MAX = 16 << 20 };

struct bundle {
    json_t *objects; /* array in the order of the files, Lists expanded; never NULL */
};

void bundle_init(struct bundle *bundle);
void bundle_done(struct bundle *bundle);
static inline void bundle_donep(struct bundle *bundle)
{
    bundle_done(bundle);
}
#define cleanup_bundle __attribute__((cleanup(bundle_donep)))

/* Adds the objects of a file; "-" is standard input. ERROR_INVALID, naming the file and the number
 * of the document, for a document that is not an object or has no kind. */
int bundle_load(struct bundle *bundle, const char *path, struct error *err) must_check;
/* Adds an object, or the objects of a List. stringData of Secrets is converted into data, as the
 * API server does. */
int bundle_add_document(struct bundle *bundle, json_t *object, struct error *err) must_check;
/* The same from memory; origin is for messages. */
int bundle_add_text(struct bundle *bundle, const char *origin, const char *text, size_t size,
                    struct error *err) must_check;

/* Finds an object; NULL if there is none. name NULL: the first of its kind. namespace_name NULL:
 * any. An object without a namespace matches every namespace. Borrowed. */
const json_t *bundle_find(const struct bundle *bundle, const char *kind, const char *namespace_name,
                          const char *name);
/* The index-th object of a kind, or NULL. */
const json_t *bundle_at(const struct bundle *bundle, const char *kind, size_t index);
