/* SPDX-License-Identifier: Apache-2.0 */
/* A repository of component versions, parsed from its typed specification. No I/O:
 * file_repository.h reads files, fetch.h asks registries. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/component/descriptor.h"

enum repository_kind {
    REPOSITORY_REGISTRY,    /* OCI registry */
    REPOSITORY_TRANSPORT,   /* common transport format: directory, tar, tgz */
    REPOSITORY_ARCHIVE,     /* component archive: directory, tar, tgz */
    REPOSITORY_DIRECTORY,   /* type "local": every file is a descriptor, blobs are in blobs/ */
    REPOSITORY_INLINE,      /* such a directory as a file tree (yamlfs.h) in the specification */
    REPOSITORY_DESCRIPTORS, /* a list of descriptors, from the configuration */
    REPOSITORY_UNSUPPORTED, /* of an unknown type: fails when it is asked */
};

struct repository {
    enum repository_kind kind;
    char *text; /* for messages, for example "localhost:5000/ocm" */

    /* Of a registry; sub_path also of a transport archive. "" if there is none. */
    char *host, *sub_path;
    bool is_plain_http;
    bool is_hashed; /* componentNameMapping sha256-digest */

    /* Of a repository in files. */
    char *path;
    int directory_fd; /* -1 before file_repository_open(), or if it does not exist */

    /* Of an inline repository. */
    json_t *tree, *blob_tree;
    char *descriptor_dir, *blob_dir;

    struct descriptor **descriptors;
    size_t descriptor_count;
};

/* ERROR_INVALID for a malformed specification. One of an unknown type is accepted, because it is an
 * error only if the repository is asked. */
int repository_parse(const json_t *spec, struct repository **ret_repository, struct error *err)
    must_check;
/* Whether a specification of this type can be read; "/v1" at the end is allowed. */
bool repository_type_is_known(const char *type);
/* An empty repository of kind REPOSITORY_DESCRIPTORS. Belongs to the caller. */
struct repository *repository_new_descriptors(void);
void repository_take_descriptor(struct repository *repository, struct descriptor *descriptor);
void repository_free(struct repository *repository);

/* The path of a component inside a registry or transport archive. Belongs to the caller. */
char *repository_component_path(const struct repository *repository, const char *component_name);

define_cleanup(struct repository *, repository_free)
#define cleanup_repository __attribute__((cleanup(repository_freep)))
