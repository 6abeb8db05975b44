/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of state as objects of the API, for tests and fuzzers. */
#pragma once

#include <stdlib.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/state/generation.h"

/* NULL: no such annotation. */
struct chunk_spec {
    const char *object, *uuid, *number, *created;
    const char *count, *sha256, *sequence;
};

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static inline void chunk_put(json_t *object, const char *key, const char *text)
{
    if (text)
        (void)json_object_set_new(object, key, json_string(text));
}

static inline json_t *chunk_secret(const struct chunk_spec *spec)
{
    json_t *secret = json_object(), *metadata = json_object(), *annotations = json_object();

    chunk_put(annotations, ANNOTATION_STATE_UUID, spec->uuid);
    chunk_put(annotations, ANNOTATION_STATE_NUMBER, spec->number);
    chunk_put(annotations, ANNOTATION_STATE_CHUNKS, spec->count);
    chunk_put(annotations, ANNOTATION_STATE_SHA256, spec->sha256);
    chunk_put(annotations, ANNOTATION_STATE_SEQUENCE, spec->sequence);
    chunk_put(metadata, "name", spec->object);
    chunk_put(metadata, "creationTimestamp", spec->created);
    (void)json_object_set_new(metadata, "annotations", annotations);
    (void)json_object_set_new(secret, "metadata", metadata);
    return secret;
}

static inline void chunk_add(struct state_set *set, const struct chunk_spec *spec)
{
    cleanup_json json_t *secret = chunk_secret(spec);

    state_set_add_secret(set, secret);
}
