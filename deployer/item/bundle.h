/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a few multi-document YAML or JSON files: what `render`, `validate` and `run` work
 * on instead of a cluster. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { BUNDLE_BYTES_MAX = 16 << 20 };

struct bundle {
    json_t *objects; /* array, in the order of reading; kind List is taken apart; never NULL */
};

void bundle_init(struct bundle *bundle);
void bundle_done(struct bundle *bundle);
static inline void bundle_donep(struct bundle *bundle)
{
    bundle_done(bundle);
}
#define cleanup_bundle __attribute__((cleanup(bundle_donep)))

/* "-" is standard input. A document that is no object, or has no kind, is ERROR_INVALID naming file
 * and number. */
int bundle_load(struct bundle *bundle, const char *path, struct error *err) must_check;
/* The same from memory; origin is for messages. */
int bundle_add_text(struct bundle *bundle, const char *origin, const char *text, size_t size,
                    struct error *err) must_check;

/* Secrets written with stringData are turned into data, as the API server does. */

/* Borrowed; NULL if there is none. name NULL: the first of its kind. namespace_name NULL: any; an
 * object without a namespace is in every one. */
const json_t *bundle_find(const struct bundle *bundle, const char *kind, const char *namespace_name,
                          const char *name);
/* The index-th object of a kind, or NULL. */
const json_t *bundle_at(const struct bundle *bundle, const char *kind, size_t index);
