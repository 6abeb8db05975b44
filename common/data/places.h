/* SPDX-License-Identifier: Apache-2.0 */
/* Line and column of values in a YAML or JSON text. Trees of doc.h have no positions; this module
 * reads the text once more and finds the values whose paths are wanted.
 *
 * A path is "spec.env[2].name"; a key that is empty or contains one of ".[]/" is in double quotes:
 * labels."example.com/a". "" is the document itself. Documents are counted as
 * doc_parse_yaml_stream() returns them, from 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

bool place_key_is_quoted(const char *key);

struct place {
    size_t line, column; /* both from 1; columns count characters */
};

struct places;

struct places *places_new(void);
void places_free(struct places *places);
define_cleanup(struct places *, places_free)
#define cleanup_places __attribute__((cleanup(places_freep)))

void places_want(struct places *places, size_t document, const char *path);
/* Finds all wanted paths. Never fails: what comes after a syntax error is not found. */
void places_search(struct places *places, const char *text, size_t size);
/* The place of a wanted value: of its key if is_key or if it is empty, a list or an object, else of
 * the value itself. A value that is not in the text (it is missing, or comes from an alias) has the
 * place of the nearest value around it; the last resort is line 1, column 1. */
struct place places_get(const struct places *places, size_t document, const char *path,
                        bool is_key);
