/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in memory, as a sink of save.h and a source of restore.h. Help for tests. */
#pragma once

#include "common/base/buffer.h"
#include "common/state/restore.h"
#include "common/state/save.h"

struct stored {
    json_t *secret; /* with metadata.name "<uuid>-<number>" */
    struct buffer bytes;
};

struct store {
    struct stored *chunks;
    size_t count;
    int creation; /* seconds of the next creationTimestamp */

    /* Of the generation that is being written. */
    const struct state_summary *summary;
    const char *uuid;
    int64_t sequence;
    int fails_after; /* so many chunks are stored, then the sink fails; -1: never */
    char order[64];  /* numbers as they came: "1 2 0 " */

    int unreadable_from; /* chunks from this on can't be read; -1: all can */
    enum error_kind unreadable_kind;
};

void store_init(struct store *store);
void store_done(struct store *store);
/* Both passes; the error is of the second one if it fails. */
int store_save(struct store *store, int state_fd, const char *uuid, int64_t sequence,
               struct error *err);
/* Go's format: no annotations but uuid and num; the bytes are copied. */
void store_add_go(struct store *store, const char *uuid, int number, const void *bytes,
                  size_t size);
/* The arranged set of what is stored. */
struct state_set store_set(const struct store *store);
struct state_source store_source(struct store *store);
/* state_chunk_fn */
int store_write(void *data, int64_t number, const void *bytes, size_t size, struct error *err);
