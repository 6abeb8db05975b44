/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the blueprint. They are written to a temporary directory, checked, and moved to
 * their place in one step. parent_fd is the parent directory of CONTENT_PATH. */
#pragma once

#include "common/component/blob.h"

struct content_counts {
    uint64_t files, bytes;
    uint64_t lists; /* skipped entries of an inline tree, see yamlfs.h */
};

/* Both write the temporary directory; content_publish() or content_discard() must follow. */
int content_from_tree(const json_t *filesystem, int parent_fd, struct content_counts *ret_counts,
                      struct error *err) must_check;
int content_from_blob(const struct blob *blob, int parent_fd, struct content_counts *ret_counts,
                      struct error *err) must_check;

/* Checks that there is a valid blueprint.yaml, then replaces the directory name by the temporary
 * one. ERROR_INVALID if it is not a blueprint. */
int content_publish(int parent_fd, const char *name, struct error *err) must_check;
/* Removes the temporary directory, if there is one. */
void content_discard(int parent_fd);
