/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/string_cache.h"

#include <string.h>

#include "common/base/hash.h"

enum { LENGTH_MAX = 32 }; /* longer strings are rarely repeated */

static size_t slot_of(const char *text, size_t size)
{
    uint32_t hash = hash_bytes(HASH_FIRST, text, size);

    return (hash ^ hash >> 16) % STRING_CACHE_SLOTS;
}

json_t *string_cache_get(struct string_cache *cache, const char *text, size_t size)
{
    json_t **slot = NULL;

    if (size == 0 || size > LENGTH_MAX)
        return json_stringn_nocheck(text, size);
    slot = &cache->slots[slot_of(text, size)];
    if (json_string_length(*slot) != size || memcmp(json_string_value(*slot), text, size) != 0) {
        json_decref(*slot);
        *slot = json_stringn_nocheck(text, size);
    }
    return json_incref(*slot);
}

void string_cache_done(struct string_cache *cache)
{
    for (size_t i = 0; i < STRING_CACHE_SLOTS; i++)
        json_decref(cache->slots[i]);
}
