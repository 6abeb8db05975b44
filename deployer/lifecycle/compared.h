/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers comparisons of objects in clusters with the content of modules. The objects of
 * thousands of clusters are the same but for the name of their Manifest, so only the first of them
 * has to be compared. Pure. */
#pragma once

#include <jansson.h>

enum { COMPARED_MAX = 1024, COMPARED_HASH_SIZE = 17 };

struct compared_object {
    const json_t *content; /* an object of a module; NULL: the place is free */
    char live[COMPARED_HASH_SIZE], wanted[COMPARED_HASH_SIZE];
};

/* Zeroed: empty. */
struct compared {
    struct compared_object objects[COMPARED_MAX];
};

/* The hash of what is wanted if an object with this drift_hash() was found to be as the content
 * says; NULL: it is not known. Borrowed until the next call of compared_add(). content is never
 * freed. */
const char *compared_find(const struct compared *compared, const json_t *content, const char *live);
/* An older comparison may be forgotten. */
void compared_add(struct compared *compared, const json_t *content, const char *live,
                  const char *wanted);
