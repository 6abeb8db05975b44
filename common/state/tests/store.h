/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in memory, as a sink for save.h and a source for restore.h. */
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

    /* The generation being written. */
    const struct state_summary *summary;
    const char *uuid;
    int64_t sequence;
    int fails_after; /* fails after this number of chunks; -1: never */
    char order[64];  /* chunk numbers in order of arrival: "1 2 0 " */

    int unreadable_from; /* the first chunk that can't be read; -1: none */
    enum error_kind unreadable_kind;
};

void store_init(struct store *store);
void store_done(struct store *store);
/* Runs both passes of save.h. */
int store_save(struct store *store, int state_fd, const char *uuid, int64_t sequence,
               struct error *err);
/* Adds a chunk in the format of Go, with only uuid and num as annotations. Copies the bytes. */
void store_add_go(struct store *store, const char *uuid, int number, const void *bytes,
                  size_t size);
/* The arranged set of all chunks. */
struct state_set store_set(const struct store *store);
struct state_source store_source(struct store *store);
/* state_chunk_fn */
int store_write(void *data, int64_t number, const void *bytes, size_t size, struct error *err);
