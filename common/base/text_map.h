/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by name, 16 bytes each: the names are in a pool, because thousands of maps have the same
 * ones. Meant for up to some thousand names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/text_pool.h"

struct text_map_entry {
    const char *name; /* of the pool */
    int64_t number;
};

struct text_map {
    struct text_pool *pool;         /* borrowed */
    struct text_map_entry *entries; /* ordered by the address of the name */
    size_t count;
};

void text_map_init(struct text_map *map, struct text_pool *pool);
void text_map_clear(struct text_map *map);
/* Borrowed until the map is changed; NULL: there is no such name. */
struct text_map_entry *text_map_find(const struct text_map *map, const char *name);
void text_map_set(struct text_map *map, const char *name, int64_t number);
void text_map_remove(struct text_map *map, const char *name); /* a name that is not there is fine */
