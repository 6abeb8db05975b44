/* SPDX-License-Identifier: Apache-2.0 */
/* OCI and Docker manifests, read within limits: every digest in a parsed manifest is well formed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define MEDIA_TYPE_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIA_TYPE_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIA_TYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define MEDIA_TYPE_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"

enum { MANIFEST_DESCRIPTORS_MAX = 4096 };

/* Where something is and how much of it: the OCI descriptor. */
struct content {
    char *media_type; /* "" where it is not given */
    char *digest;
    int64_t size;            /* -1: not given */
    char *architecture, *os; /* of an index entry's platform, or NULL */
    bool is_component;       /* annotation software.ocm.descriptor is "true" */
};

struct manifest {
    bool is_index;
    struct content config;   /* no index: always there */
    struct content *entries; /* layers; of an index the manifests */
    size_t entry_count;
};

/* What counts is the shape ("manifests" or "config"), checked against media_type (NULL: not known)
 * and the manifest's own mediaType. ERROR_INVALID, ERROR_TOO_LARGE. */
int manifest_parse(const char *bytes, size_t size, const char *media_type,
                   struct manifest *ret_manifest, struct error *err) must_check;
void manifest_done(struct manifest *manifest);

/* The layer (or the config) with this digest, or NULL. Borrowed. */
const struct content *manifest_find(const struct manifest *manifest, const char *digest);

static inline void manifest_donep(struct manifest *manifest)
{
    manifest_done(manifest);
}
#define cleanup_manifest __attribute__((cleanup(manifest_donep)))
