/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/known.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/* FNV-1a. 32 bits (common/base/hash.h) are too few here: the keys themselves are not kept. */
static uint64_t hash_of(const char *key)
{
    uint64_t hash = 14695981039346656037u;

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return hash;
}

static uint64_t number_of(const char *hex)
{
    return hex ? strtoull(hex, NULL, 16) : 0;
}

/* The place of the key, or where it would be. */
static size_t place_of(const struct known *known, uint64_t key)
{
    size_t first = 0, end = known->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (known->objects[middle].key < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void known_done(struct known *known)
{
    free(known->objects);
    *known = (struct known){0};
}

const struct known_object *known_find(const struct known *known, const char *key)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(known, hash);

    return place < known->count && known->objects[place].key == hash ? &known->objects[place]
                                                                     : NULL;
}

void known_set(struct known *known, const char *key, const char *live, const char *wanted)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(known, hash);

    if (place == known->count || known->objects[place].key != hash) {
        known->objects = xreallocarray(known->objects, known->count + 1, sizeof(*known->objects));
        memmove(&known->objects[place + 1], &known->objects[place],
                (known->count - place) * sizeof(*known->objects));
        known->count++;
    }
    known->objects[place] = (struct known_object){hash, number_of(live), number_of(wanted)};
}

void known_remove(struct known *known, const char *key)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(known, hash);

    if (place == known->count || known->objects[place].key != hash)
        return;
    known->count--;
    memmove(&known->objects[place], &known->objects[place + 1],
            (known->count - place) * sizeof(*known->objects));
}

bool known_is(const struct known *known, const char *key, const char *wanted)
{
    const struct known_object *object = known_find(known, key);

    return object && object->live && object->wanted && object->wanted == number_of(wanted);
}

bool known_is_live(const struct known *known, const char *key, const char *live)
{
    const struct known_object *object = known_find(known, key);

    return object && object->live && object->live == number_of(live);
}
