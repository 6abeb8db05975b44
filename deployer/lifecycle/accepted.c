/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/accepted.h"

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

uint64_t accepted_number(const char *hex)
{
    uint64_t number = 0;

    for (; hex && *hex; hex++)
        number = number << 4 | (uint64_t)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
    return number;
}

/* The place of the key, or where it would be. */
static size_t place_of(const struct accepted *accepted, uint64_t key)
{
    size_t first = 0, end = accepted->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (accepted->objects[middle].key < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void accepted_done(struct accepted *accepted)
{
    free(accepted->objects);
    *accepted = (struct accepted){0};
}

const struct accepted_object *accepted_find(const struct accepted *accepted, const char *key)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(accepted, hash);

    return place < accepted->count && accepted->objects[place].key == hash
               ? &accepted->objects[place]
               : NULL;
}

void accepted_set(struct accepted *accepted, const char *key, const char *live, const char *wanted)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(accepted, hash);

    if (place == accepted->count || accepted->objects[place].key != hash) {
        accepted->objects =
            xreallocarray(accepted->objects, accepted->count + 1, sizeof(*accepted->objects));
        memmove(&accepted->objects[place + 1], &accepted->objects[place],
                (accepted->count - place) * sizeof(*accepted->objects));
        accepted->count++;
    }
    accepted->objects[place] =
        (struct accepted_object){hash, accepted_number(live), accepted_number(wanted)};
}

void accepted_remove(struct accepted *accepted, const char *key)
{
    uint64_t hash = hash_of(key);
    size_t place = place_of(accepted, hash);

    if (place == accepted->count || accepted->objects[place].key != hash)
        return;
    accepted->count--;
    memmove(&accepted->objects[place], &accepted->objects[place + 1],
            (accepted->count - place) * sizeof(*accepted->objects));
}

bool accepted_is(const struct accepted *accepted, const char *key, const char *wanted)
{
    const struct accepted_object *object = accepted_find(accepted, key);

    return object && object->live && object->wanted && object->wanted == accepted_number(wanted);
}

bool accepted_is_live(const struct accepted *accepted, const char *key, const char *live)
{
    const struct accepted_object *object = accepted_find(accepted, key);

    return object && object->live && object->live == accepted_number(live);
}
