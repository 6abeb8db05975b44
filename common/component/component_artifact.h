/* SPDX-License-Identifier: Apache-2.0 */
/* A component version as an OCI artifact: the config has a known media type and names the layer
 * with the descriptor, which is YAML, JSON, or YAML in a tar. No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/component/descriptor.h"
#include "common/oci/manifest.h"

enum { COMPONENT_CONFIG_MAX_BYTES = 1024 * 1024 };

/* ERROR_INVALID if the manifest is not that of a component version. */
int component_artifact_check_manifest(const struct manifest *manifest, struct error *err)
    must_check;
/* Picks the manifest of the component version from an index: the one that is marked as such, else
 * the first. ERROR_INVALID if several are marked. *ret_entry is borrowed. */
int component_artifact_pick_manifest(const struct manifest *index, const struct content **ret_entry,
                                     struct error *err) must_check;

struct component_artifact_layer {
    char *digest, *media_type;
    int64_t size; /* -1: not known */
};

/* Reads the config. The caller ends *ret_layer with component_artifact_layer_done(). */
int component_artifact_read_config(const char *bytes, size_t size,
                                   struct component_artifact_layer *ret_layer, struct error *err)
    must_check;
void component_artifact_layer_done(struct component_artifact_layer *layer);
/* Parses the descriptor layer. Takes the content of bytes and frees it as early as possible,
 * because tar, text and document together determine the memory that init needs. */
int component_artifact_take_layer(struct buffer *bytes, const char *media_type,
                                  struct descriptor **ret_descriptor, struct error *err) must_check;

static inline void component_artifact_layer_donep(struct component_artifact_layer *layer)
{
    component_artifact_layer_done(layer);
}
#define cleanup_component_artifact_layer __attribute__((cleanup(component_artifact_layer_donep)))
