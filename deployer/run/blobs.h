/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs of one image, by digest, from a layout directory or from a registry through the store. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "deployer/run/image.h"
#include "deployer/run/layout.h"

struct blobs;

/* An OCI layout on disk; path is copied. */
struct blobs *blobs_from_layout(const struct image_request *request, const char *path);
/* A registry's repository; the reference was parsed from the source. */
int blobs_from_registry(const struct image_request *request, struct blobs **ret_blobs,
                        struct error *err) must_check;
void blobs_free(struct blobs *blobs);
define_cleanup(struct blobs *, blobs_free)
#define cleanup_blobs __attribute__((cleanup(blobs_freep)))

/* The manifest for this machine, indexes resolved; digest belongs to the caller. */
int blobs_read_manifest(struct blobs *blobs, const char *tag, json_t **ret_manifest,
                        char **ret_digest, struct error *err) must_check;
/* A small document, verified. */
int blobs_read_document(struct blobs *blobs, const struct layout_blob *blob, json_t **ret_document,
                        struct error *err) must_check;
/* A descriptor of the verified bytes, at offset 0. */
int blobs_open(struct blobs *blobs, const struct layout_blob *blob, struct error *err) must_check;
