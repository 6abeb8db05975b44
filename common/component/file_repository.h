/* SPDX-License-Identifier: Apache-2.0 */
/* Repositories that are files: component archives, transport archives (CTF), directories of
 * descriptors, and inline file trees. Files are opened beneath the directory of the repository, so
 * that no symlink leads out of it. */
#pragma once

#include "common/component/repository.h"
#include "common/oci/manifest.h"

/* Opens a repository that has a path. An archive in one tar or tgz file is unpacked into a new
 * directory name below workspace_fd. A path that does not exist is an empty repository. */
int file_repository_open(struct repository *repository, int workspace_fd, const char *name,
                         struct error *err) must_check;

/* Finds a component version. ERROR_NOT_FOUND if the repository does not have it; a repository that
 * is damaged is another error. *ret_manifest is set only for a transport archive. */
int file_repository_find_descriptor(const struct repository *repository, const char *component_name,
                                    const char *version, struct descriptor **ret_descriptor,
                                    struct manifest *ret_manifest, struct error *err) must_check;

/* Opens a local blob by digest ("sha256:<hex>" or "sha256.<hex>", verified) or file name. Returns a
 * descriptor of a regular file, at its start, or of a directory. */
int file_repository_open_blob(const struct repository *repository, const char *reference,
                              bool *ret_is_directory, struct error *err) must_check;
/* Finds the node of a blob of an inline repository. Borrowed. */
int file_repository_find_node(const struct repository *repository, const char *reference,
                              const json_t **ret_node, struct error *err) must_check;
