/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the best complete generation of the state into a directory: unpacked into a temporary
 * directory, verified by its sha256, then renamed. Falls back to the previous generation if one is
 * incomplete or damaged. */
#pragma once

#include "common/base/buffer.h"
#include "common/state/generation.h"

/* Reads chunks from mounted directories, from Secrets through the API or from the local store. */
struct state_source {
    /* Appends the bytes of one chunk to ret_bytes, whose maximum is a little more than
     * STATE_CHUNK_BYTES. */
    int (*read_chunk)(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err);
    void *data;
};

/* Called for each generation that could not be restored, with the reason. */
typedef void state_skip_fn(void *data, const struct state_generation *generation,
                           const struct error *err);

struct state_restored {
    const struct state_generation *generation; /* NULL: there is no state */
    uint64_t entries, bytes;
};

/* Replaces the directory `name` (a single path component) below parent_fd atomically. Fails if
 * there are generations but none can be restored: running without the state would be worse. If
 * there are only interrupted uploads, there is no state, and `name` is not touched. If the source
 * can't be read (ERROR_TEMPORARY, ERROR_DENIED ...) or the disk is full it fails at once instead of
 * falling back to an older generation. */
int state_restore(const struct state_set *set, const struct state_source *source, int parent_fd,
                  const char *name, state_skip_fn *on_skip, void *data,
                  struct state_restored *ret_restored, struct error *err) must_check;

/* Adds the chunks of a directory: one subdirectory per chunk with the files "config" (data) and
 * "metadata.json" ({"annotations": {...}, "creationTimestamp": ...}); see docs/state.md. The
 * directory is trusted (a volume of the kubelet, which has symlinks, or the local store). A
 * subdirectory without metadata.json is still being written and is ignored. */
int state_set_add_directory(struct state_set *set, int directory_fd, struct error *err) must_check;
/* The matching source; borrows *directory_fd. */
struct state_source state_source_directory(const int *directory_fd);
