/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/text_map.h"

#include <stdlib.h>

#include "common/base/memory.h"

/* The place of the name, or where it would be. */
static size_t place_of(const struct text_map *map, const char *name)
{
    size_t first = 0, end = map->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if ((uintptr_t)map->entries[middle].name < (uintptr_t)name)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void text_map_init(struct text_map *map, struct text_pool *pool)
{
    *map = (struct text_map){.pool = pool};
}

void text_map_clear(struct text_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        text_pool_give(map->pool, map->entries[i].name);
    free(map->entries);
    map->entries = NULL;
    map->count = 0;
}

struct text_map_entry *text_map_find(const struct text_map *map, const char *name)
{
    const char *stored = text_pool_find(map->pool, name);
    size_t place = stored ? place_of(map, stored) : map->count;

    return place < map->count && map->entries[place].name == stored ? &map->entries[place] : NULL;
}

void text_map_set(struct text_map *map, const char *name, int64_t number)
{
    struct text_map_entry *found = text_map_find(map, name);
    const char *stored = NULL;
    size_t place = 0;

    if (found) {
        found->number = number;
        return;
    }
    stored = text_pool_take(map->pool, name);
    place = place_of(map, stored);
    map->entries = xreallocarray(map->entries, map->count + 1, sizeof(*map->entries));
    memmove(&map->entries[place + 1], &map->entries[place],
            (map->count - place) * sizeof(*map->entries));
    map->entries[place] = (struct text_map_entry){stored, number};
    map->count++;
}

void text_map_remove(struct text_map *map, const char *name)
{
    struct text_map_entry *found = text_map_find(map, name);
    size_t place = found ? (size_t)(found - map->entries) : 0;

    if (!found)
        return;
    text_pool_give(map->pool, found->name);
    map->count--;
    memmove(found, found + 1, (map->count - place) * sizeof(*found));
}
