/* SPDX-License-Identifier: Apache-2.0 */
/* Applies JSON merge patches as an API server does. */
#pragma once

#include <jansson.h>

#include "common/data/doc.h"

/* RFC 7386, section 2. Takes target over. */
static inline json_t *apply_patch(json_t *target, const json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(patch)) {
        json_decref(target);
        return json_deep_copy(patch);
    }
    if (!json_is_object(target)) {
        json_decref(target);
        target = json_object();
    }
    doc_foreach(patch, key, value)
    {
        json_t *member = json_incref(json_object_get(target, key));

        if (json_is_null(value)) {
            (void)json_object_del(target, key);
            json_decref(member);
        } else {
            (void)json_object_set_new(target, key, apply_patch(member, value));
        }
    }
    return target;
}
