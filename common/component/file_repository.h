/* SPDX-License-Identifier: Apache-2.0 */
/* Component versions and blobs in files: component archives, transport archives (CTF), plain
 * directories and trees inside a specification. Everything is opened beneath the repository's own
 * directory. Archives that are one tar or tgz file are unpacked into the workspace first. */
#pragma once

#include "common/oci/manifest.h"
#include "init/component/repository.h"

/* Opens the repository's files; an archive is unpacked below workspace_fd into name. A path that
 * does not exist is an empty repository. */
int files_open(struct repository *repository, int workspace_fd, const char *name, struct error *err)
    must_check;

/* ERROR_NOT_FOUND: ask the next one. *ret_manifest is filled in for a transport archive. */
int files_find_descriptor(const struct repository *repository, const char *component_name,
                          const char *version, struct descriptor **ret_descriptor,
                          struct manifest *ret_manifest, struct error *err) must_check;

/* A local blob by its reference: a digest ("sha256:<hex>" or "sha256.<hex>", verified) or a file
 * name. A descriptor of a regular file at its start, or of a directory. */
int files_open_blob(const struct repository *repository, const char *reference,
                    bool *ret_is_directory, struct error *err) must_check;
/* The node of an inline repository's blob. Borrowed. */
int files_find_node(const struct repository *repository, const char *reference,
                    const json_t **ret_node, struct error *err) must_check;
