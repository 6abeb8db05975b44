/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: strings that a document repeats are one value with several references, as
 * strings are never changed in place. The elements of a long list have most of their short strings
 * in common: without this, a component descriptor of 4 MiB would take 35 MiB instead of 30. */
#pragma once

#include <jansson.h>
#include <stddef.h>

enum { STRING_CACHE_SLOTS = 64 };

/* Zeroed memory is an empty cache. It holds a reference to each of its strings. */
struct string_cache {
    json_t *slots[STRING_CACHE_SLOTS];
};

/* A new reference to a string with this text, which is UTF-8. Never NULL. */
json_t *string_cache_get(struct string_cache *cache, const char *text, size_t size);
void string_cache_done(struct string_cache *cache);
