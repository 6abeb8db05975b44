/* SPDX-License-Identifier: Apache-2.0 */
/* The blueprint's files, put together aside, checked to be a blueprint, then moved to their place
 * in one step. parent_fd is the directory that CONTENT_PATH lies in. */
#pragma once

#include "init/blueprint/blob.h"

struct content_counts {
    uint64_t files, bytes;
    uint64_t lists; /* entries of an inline tree that were left out, see yamlfs.h */
};

/* Both leave the files aside in parent_fd, until content_publish() or content_discard(). */
int content_from_tree(const json_t *filesystem, int parent_fd, struct content_counts *ret_counts,
                      struct error *err) must_check;
int content_from_blob(const struct blob *blob, int parent_fd, struct content_counts *ret_counts,
                      struct error *err) must_check;

/* blueprint.yaml must be there and be one. Then what is aside takes the place of name; what was
 * there goes. */
int content_publish(int parent_fd, const char *name, struct error *err) must_check;
void content_discard(int parent_fd);
