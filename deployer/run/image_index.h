/* SPDX-License-Identifier: Apache-2.0 */
/* What an image consists of, wherever it comes from: manifests and indexes of OCI and docker, read
 * as documents. Pure; blobs are somebody else's. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct layout_blob {
    const char *digest; /* borrowed from the manifest */
    int64_t size;       /* -1: not known */
};

/* Whether the document lists manifests (image index, docker manifest list). */
bool layout_is_index(const json_t *document);
/* Picks one manifest of an index: for linux on this kind of machine; with tag, the one annotated
 * with that name (layout directories). ERROR_NOT_FOUND says what there is. Borrowed. */
int layout_pick(const json_t *index, const char *tag, struct layout_blob *ret_blob,
                struct error *err) must_check;
int layout_config(const json_t *manifest, struct layout_blob *ret_blob, struct error *err)
    must_check;
size_t layout_layer_count(const json_t *manifest);
int layout_layer(const json_t *manifest, size_t index, struct layout_blob *ret_blob,
                 struct error *err) must_check;
/* "amd64", "arm64", ... of this machine. */
const char *layout_architecture(void);
