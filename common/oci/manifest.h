/* SPDX-License-Identifier: Apache-2.0 */
/* The model of OCI and Docker manifests and indexes. Limits on size and number are enforced, and
 * every digest in a parsed manifest is well formed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define MEDIA_TYPE_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIA_TYPE_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIA_TYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define MEDIA_TYPE_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"

enum { MANIFEST_DESCRIPTORS_MAX = 4096 };

/* An OCI descriptor. */
struct content {
    char *media_type; /* "" if missing */
    char *digest;
    int64_t size;            /* -1 if missing */
    char *architecture, *os; /* platform of an entry of an index, or NULL */
    char *ref_name;          /* annotation org.opencontainers.image.ref.name, or NULL */
    bool is_component;       /* annotation software.ocm.descriptor is "true" */
};

struct manifest {
    bool is_index;
    struct content config;   /* of an image manifest; digest is NULL in an index */
    struct content *entries; /* layers of an image manifest, manifests of an index */
    size_t entry_count;
};

/* Index or image manifest is decided by the shape ("manifests" or "config"); ERROR_INVALID if
 * media_type (NULL: unknown) or the document's own mediaType says otherwise, ERROR_TOO_LARGE if
 * there are more than MANIFEST_DESCRIPTORS_MAX entries. */
int manifest_from_doc(const json_t *doc, const char *media_type, struct manifest *ret_manifest,
                      struct error *err) must_check;
/* Same for the text of a document. */
int manifest_parse(const char *bytes, size_t size, const char *media_type,
                   struct manifest *ret_manifest, struct error *err) must_check;
void manifest_done(struct manifest *manifest);

/* The entry or config with this digest, or NULL. Borrowed. */
const struct content *manifest_find(const struct manifest *manifest, const char *digest);

static inline void manifest_donep(struct manifest *manifest)
{
    manifest_done(manifest);
}
#define cleanup_manifest __attribute__((cleanup(manifest_donep)))
