/* SPDX-License-Identifier: Apache-2.0 */
/* A place where component versions live: a typed repository specification, understood. Pure; what
 * is read from files is in files.h, what is fetched in fetch.h. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "init/component/descriptor.h"

enum repository_kind {
    REPOSITORY_REGISTRY,    /* OCI registry */
    REPOSITORY_TRANSPORT,   /* common transport format: directory, tar, tgz */
    REPOSITORY_ARCHIVE,     /* component archive: directory, tar, tgz */
    REPOSITORY_DIRECTORY,   /* "local": every file is a descriptor, blobs/ beside them */
    REPOSITORY_INLINE,      /* the same as a tree inside the specification */
    REPOSITORY_GIVEN,       /* descriptors that stand in the configuration itself */
    REPOSITORY_UNSUPPORTED, /* of a type that is not known: an error when it is asked */
};

struct repository {
    enum repository_kind kind;
    char *text; /* for people: "localhost:5000/ocm" */

    /* Registry; sub_path also of a transport archive ("" where there is none). */
    char *host, *sub_path;
    bool is_plain_http;
    bool is_hashed; /* componentNameMapping sha256-digest */

    /* Files. */
    char *path;
    int directory_fd; /* -1 until it is opened */

    json_t *tree, *blob_tree; /* inline */
    char *descriptor_dir, *blob_dir;

    struct descriptor **given;
    size_t given_count;
};

/* ERROR_INVALID for a specification of a known type that is malformed. */
int repository_parse(const json_t *spec, struct repository **ret_repository, struct error *err)
    must_check;
/* An empty one of kind REPOSITORY_GIVEN. */
struct repository *repository_new_given(void);
void repository_take_descriptor(struct repository *repository, struct descriptor *descriptor);
void repository_free(struct repository *repository);

/* The registry's (or transport archive's) repository of a component. Belongs to the caller. */
char *repository_component_path(const struct repository *repository, const char *component_name);

define_cleanup(struct repository *, repository_free)
#define cleanup_repository __attribute__((cleanup(repository_freep)))
