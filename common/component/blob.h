/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a blueprint, verified before anything looks into them: downloaded into a file of the
 * workspace, or opened where they are. */
#pragma once

#include "common/base/loop.h"
#include "common/oci/registry.h"
#include "init/blueprint/access.h"
#include "init/component/resolve.h"

enum { BLOB_MAX_BYTES = 256 * 1024 * 1024 };

/* Told as bytes come; total is 0 where it is not known. */
typedef void blob_progress_fn(void *data, uint64_t bytes, uint64_t total);

struct blob_env {
    struct loop *loop;
    struct registry *components; /* for blobs beside the descriptors */
    struct registry *artifacts;  /* for artifacts of their own: other credentials come first */
    int workspace_fd;
    blob_progress_fn *on_progress; /* or NULL */
    void *data;
};

enum blob_form {
    BLOB_PACKED,    /* fd is a tar, compressed or not */
    BLOB_DIRECTORY, /* fd is a directory */
    BLOB_TREE,      /* node is a tree of files */
};

struct blob {
    enum blob_form form;
    int fd; /* at its start; -1 for a tree */
    const json_t *node;
    uint64_t bytes;
};

/* Blocks (runs the loop). On success *ret_blob is to be ended with blob_done(). */
int blob_fetch(const struct blob_env *env, const struct access *access,
               const struct resolved_root *root, struct blob *ret_blob, struct error *err)
    must_check;
void blob_done(struct blob *blob);

static inline void blob_donep(struct blob *blob)
{
    blob_done(blob);
}
#define cleanup_blob __attribute__((cleanup(blob_donep)))
