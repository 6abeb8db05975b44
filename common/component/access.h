/* SPDX-License-Identifier: Apache-2.0 */
/* How a resource of a component is reached, and whether it can be a blueprint. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/oci/manifest.h"

enum access_kind {
    ACCESS_LOCAL_BLOB,     /* blobs of the component's own repository, one after the other */
    ACCESS_LOCAL_OCI_BLOB, /* one blob of it, whose media type the manifest tells */
    ACCESS_BLOB,           /* a blob of another repository */
    ACCESS_ARTIFACT,       /* an artifact of its own */
    ACCESS_RELATIVE,       /* an artifact in the component's registry */
};

enum { ACCESS_REFERENCES_MAX = 1000 };

struct access {
    enum access_kind kind;
    char **references; /* digests or file names of a blob access */
    size_t reference_count;
    char *media_type; /* "" where it is not given */
    char *host;       /* NULL: the component's registry */
    char *repository;
    char *object; /* tag or digest of an artifact */
    bool is_plain_http;
    int64_t size; /* -1: not given */
    /* What the descriptor says about the content: "sha256:<hex>" or NULL. */
    char *blob_digest;     /* of the blob's bytes */
    char *artifact_digest; /* of the artifact's manifest */
};

/* resource is of a checked descriptor. ERROR_INVALID: no blueprint, or an access that can't be
 * used. */
int access_parse(const json_t *resource, struct access *ret_access, struct error *err) must_check;
void access_done(struct access *access);

/* Whether a blob of this media type is read as a blueprint. */
int access_check_blob_type(const char *media_type, struct error *err) must_check;
bool access_is_artifact_set(const char *media_type);
/* The layer of an artifact that holds the blueprint. Borrowed. */
int access_pick_layer(const struct manifest *manifest, const struct content **ret_layer,
                      struct error *err) must_check;

static inline void access_donep(struct access *access)
{
    access_done(access);
}
#define cleanup_access __attribute__((cleanup(access_donep)))
