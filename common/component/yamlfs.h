/* SPDX-License-Identifier: Apache-2.0 */
/* A file system as a JSON or YAML document. Keys are file names; a string is a file, an object is a
 * directory or, with "$type", a typed node (file, directory, symlink, yaml, json). */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/archive/limits.h"
#include "common/base/buffer.h"
#include "common/base/error.h"

enum { YAMLFS_FILE_MAX_BYTES = 16 * 1024 * 1024 };

struct yamlfs_counts {
    uint64_t files, bytes;
    uint64_t lists; /* entries that are lists: they have no meaning and are skipped, as in Go */
};

/* Returns value as a tree, or the tree parsed from it if it is a string with YAML. NULL and null
 * give an empty tree. *ret_tree is a new reference. */
int yamlfs_open(const json_t *value, json_t **ret_tree, struct error *err) must_check;

/* Writes the tree below directory_fd: files 0666, directories 0777, less umask. A symlink becomes a
 * copy of the file it points to inside the tree. ERROR_TOO_LARGE above bytes_max, entries_max or
 * depth_max of limits, copies included. ERROR_INVALID for the names "", ".", "..", names with "/",
 * symlinks to directories, and symlinks that resolve to nothing or through more than 40 others. */
int yamlfs_write(const json_t *tree, int directory_fd, const struct archive_limits *limits,
                 struct yamlfs_counts *ret_counts, struct error *err) must_check;

/* Finds the node at a path ("", "." and "/" are the tree itself) and follows symlinks.
 * ERROR_NOT_FOUND if there is none. *ret_node is borrowed from tree. */
int yamlfs_find(const json_t *tree, const char *path, const json_t **ret_node, struct error *err)
    must_check;
bool yamlfs_is_directory(const json_t *node);
/* The object with the entries of a directory. Borrowed; NULL for a typed directory without any. */
const json_t *yamlfs_entries(const json_t *directory);
/* Appends the content of a file node. ERROR_INVALID for directories, symlinks and lists. */
int yamlfs_read(const json_t *node, struct buffer *ret_bytes, struct error *err) must_check;
