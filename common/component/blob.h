/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the blob of a blueprint: downloads it into a temporary file, or opens it where it is. Its
 * digest is verified before anything interprets it. */
#pragma once

#include "common/base/loop.h"
#include "common/component/access.h"
#include "common/component/resolve.h"
#include "common/oci/registry.h"

enum { BLOB_MAX_BYTES = 256 * 1024 * 1024 };

/* Called as bytes arrive; total is 0 if it is not known. */
typedef void blob_progress_fn(void *data, uint64_t bytes, uint64_t total);

struct blob_env {
    struct loop *loop;
    struct registry *components; /* for local blobs of a component */
    struct registry *artifacts;  /* for separate artifacts: prefers other credentials */
    int workspace_fd;
    blob_progress_fn *on_progress; /* or NULL */
    void *data;
};

enum blob_form {
    BLOB_PACKED,    /* fd is a tar file, compressed or not */
    BLOB_DIRECTORY, /* fd is a directory */
    BLOB_TREE,      /* node is a file tree, see yamlfs.h */
};

struct blob {
    enum blob_form form;
    int fd; /* offset 0; -1 for a tree */
    const json_t *node;
    uint64_t bytes;
};

/* Blocks: runs the loop until the blob is there. The caller ends *ret_blob with blob_done(). */
int blob_fetch(const struct blob_env *env, const struct access *access,
               const struct resolved_root *root, struct blob *ret_blob, struct error *err)
    must_check;
void blob_done(struct blob *blob);

static inline void blob_donep(struct blob *blob)
{
    blob_done(blob);
}
#define cleanup_blob __attribute__((cleanup(blob_donep)))
