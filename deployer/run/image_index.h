/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the manifest to run from an image index. No I/O. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/oci/manifest.h"

/* Chooses the entry named tag (the index of a layout directory), or, if tag is NULL, the first one
 * for linux on this architecture; an entry without a platform fits every machine.
 * *ret_chosen is borrowed from index. ERROR_NOT_FOUND if none fits, ERROR_INVALID if several
 * entries without a platform fit and no tag was given. */
int image_index_choose(const struct manifest *index, const char *tag,
                       const struct content **ret_chosen, struct error *err) must_check;

/* "linux/arm64" if an image configuration is for another platform than this machine, else NULL; a
 * configuration without a platform fits every machine. The caller frees. */
char *image_index_foreign_platform(const json_t *config);

/* The architecture of this machine in OCI terms: "amd64", "arm64", ... */
const char *image_index_architecture(void);
