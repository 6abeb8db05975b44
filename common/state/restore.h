/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the best whole generation of the state into a directory: verified (sha256), unpacked aside,
 * then renamed in; a generation that is torn or altered is passed over for the one before. */
#pragma once

#include "common/base/buffer.h"
#include "common/state/generation.h"

/* Where chunks come from: mounted directories, Secrets through the API, or the local store. */
struct state_source {
    /* The bytes of one chunk, into ret_bytes (its max is STATE_CHUNK_BYTES plus a margin). */
    int (*read_chunk)(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err);
    void *data;
};

/* Told about each generation that was passed over, and why. */
typedef void state_skip_fn(void *data, const struct state_generation *generation,
                           const struct error *err);

struct state_restored {
    const struct state_generation *generation; /* NULL: there was nothing to restore */
    uint64_t entries, bytes;
};

/* Unpacks below parent_fd into name, a plain component (made anew, all or nothing; what was there
 * goes). If every generation is unusable that is an error: going on without the state that a
 * program once had would be worse. Interrupted first uploads are no generations: then there is
 * nothing to restore, and name is left alone. A source that can't be read (ERROR_TEMPORARY,
 * ERROR_DENIED ...) or a disk that is full is an error at once, no reason to go back to an older
 * state. */
int state_restore(const struct state_set *set, const struct state_source *source, int parent_fd,
                  const char *name, state_skip_fn *on_skip, void *data,
                  struct state_restored *ret_restored, struct error *err) must_check;

/* Reads the chunks of a mounted directory: one subdirectory a chunk with the files "config" (data)
 * and "metadata.json" ({"annotations": {...}, "creationTimestamp": ...}); see docs/state.md. The
 * directory is trusted (a volume of the kubelet, full of symlinks, or a store of our own). A
 * subdirectory without metadata.json is ignored: it is still being written. */
int state_set_add_directory(struct state_set *set, int directory_fd, struct error *err) must_check;
/* The matching source; *directory_fd stays the caller's and must live on. */
struct state_source state_source_directory(const int *directory_fd);
