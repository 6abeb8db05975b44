/* SPDX-License-Identifier: Apache-2.0 */
/* A file system as a tree in JSON or YAML: names are keys, a string is a file, an object is a
 * directory or, with "$type", a typed node (file, directory, symlink, yaml, json). */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

enum { YAMLFS_DEPTH_MAX = 64, YAMLFS_FILE_MAX_BYTES = 16 * 1024 * 1024 };

struct yamlfs_counts {
    uint64_t files, bytes;
    uint64_t lists; /* entries that are lists, which nobody knows how to write; left out as in Go */
};

/* The tree itself, or parsed from a string that holds YAML. New reference; null gives an empty
 * object. */
int yamlfs_open(const json_t *value, json_t **ret_tree, struct error *err) must_check;

/* Writes the tree below the directory: files 0666, directories 0777, less umask. Symlinks become
 * copies of what they lead to inside the tree. Names "", ".", ".." and those with "/" are
 * ERROR_INVALID. */
int yamlfs_write(const json_t *tree, int directory_fd, struct yamlfs_counts *ret_counts,
                 struct error *err) must_check;

/* The node at a path of names ("", "." and "/" are the tree); symlinks are followed.
 * ERROR_NOT_FOUND. Borrowed. */
int yamlfs_find(const json_t *tree, const char *path, const json_t **ret_node, struct error *err)
    must_check;
bool yamlfs_is_directory(const json_t *node);
/* The object of a directory's entries. Borrowed. */
const json_t *yamlfs_entries(const json_t *directory);
/* The bytes of a file node, appended. */
int yamlfs_read(const json_t *node, struct buffer *ret_bytes, struct error *err) must_check;
