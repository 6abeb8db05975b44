/* SPDX-License-Identifier: Apache-2.0 */
/* An object that is kept for long and looked at rarely: as compressed text, which takes a tenth of
 * the memory of a parsed document. A control plane keeps tens of thousands of them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct kept {
    char *bytes;      /* NULL: no object */
    uint32_t size;    /* of bytes */
    uint32_t length;  /* of the text; the same: it is not compressed */
    uint64_t uid;     /* of the object, hashed */
    uint64_t version; /* resourceVersion as a number; 0: not numeric */
    json_t *parsed;   /* while it is held, once it has been read; or NULL */
    bool is_held;
};

/* NULL: forget it. */
void kept_set(struct kept *kept, const json_t *object);
void kept_done(struct kept *kept);
bool kept_is_there(const struct kept *kept);
/* A new reference to a document that must not be changed; NULL if there is no object. */
json_t *kept_get(struct kept *kept);
/* Until it is released, the object is parsed only once. For whoever reads it several times. */
void kept_hold(struct kept *kept);
void kept_release(struct kept *kept);
/* Whether this very version is kept. */
bool kept_has(const struct kept *kept, const json_t *object);
/* Whether the object is an older version than the one that is kept. */
bool kept_is_newer_than(const struct kept *kept, const json_t *object);
/* Takes the answer to a write over, unless the object was deleted, replaced or changed since. */
void kept_take_answer(struct kept *kept, const json_t *object);
