/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/compared.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"

static size_t place_of(const json_t *content, const char *live)
{
    uint32_t hash = hash_bytes(HASH_FIRST, (const char *)&content, sizeof(json_t *));

    return hash_bytes(hash, live, strlen(live)) % COMPARED_MAX;
}

const char *compared_find(const struct compared *compared, const json_t *content, const char *live)
{
    const struct compared_object *object = &compared->objects[place_of(content, live)];

    return object->content == content && strcmp(object->live, live) == 0 ? object->wanted : NULL;
}

void compared_add(struct compared *compared, const json_t *content, const char *live,
                  const char *wanted)
{
    struct compared_object *object = &compared->objects[place_of(content, live)];

    object->content = content;
    (void)snprintf(object->live, sizeof(object->live), "%s", live);
    (void)snprintf(object->wanted, sizeof(object->wanted), "%s", wanted);
}
