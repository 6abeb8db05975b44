/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests and blobs of one image, from a layout directory or from a registry. Blobs of a registry
 * are kept in the image cache. Every function blocks; those that talk to a registry run the loop of
 * the request meanwhile. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/oci/manifest.h"
#include "deployer/run/image.h"

struct blobs;

/* For an OCI layout on disk. path is copied; request must outlive the result. */
struct blobs *blobs_from_layout(const struct image_request *request, const char *path);
/* For the reference that is the source's path. ERROR_INVALID if it is malformed. request must
 * outlive the result. */
int blobs_from_registry(const struct image_request *request, struct blobs **ret_blobs,
                        struct error *err) must_check;
void blobs_free(struct blobs *blobs); /* NULL is fine */
define_cleanup(struct blobs *, blobs_free)
#define cleanup_blobs __attribute__((cleanup(blobs_freep)))

/* Reads the image manifest, following indexes: by tag (may be NULL) in a layout, then by platform.
 * The caller owns both results. */
int blobs_read_manifest(struct blobs *blobs, const char *tag, struct manifest *ret_manifest,
                        char **ret_digest, struct error *err) must_check;
/* Reads a JSON blob of at most 4 MiB and verifies its digest. *ret_document is a new reference. */
int blobs_read_document(struct blobs *blobs, const struct content *content, json_t **ret_document,
                        struct error *err) must_check;
/* Returns a descriptor of the blob at offset 0; its digest has been verified. */
int blobs_open(struct blobs *blobs, const struct content *content, struct error *err) must_check;
