/* SPDX-License-Identifier: Apache-2.0 */
/* How a component version is laid out as an OCI artifact: a config of a known type that names the
 * layer with the descriptor, which is YAML, JSON, or YAML in a tar. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/oci/manifest.h"
#include "init/component/descriptor.h"

enum { LAYOUT_CONFIG_MAX_BYTES = 1024 * 1024 };

/* ERROR_INVALID if this manifest is none of a component version. */
int layout_check_manifest(const struct manifest *manifest, struct error *err) must_check;
/* The manifest of an index that is the component version: the one that is marked, else the first.
 * ERROR_INVALID if several are marked. Borrowed. */
int layout_pick_manifest(const struct manifest *index, const struct content **ret_entry,
                         struct error *err) must_check;

struct layout_layer {
    char *digest, *media_type;
    int64_t size; /* -1: not known */
};

/* What the config says. */
int layout_read_config(const char *bytes, size_t size, struct layout_layer *ret_layer,
                       struct error *err) must_check;
void layout_layer_done(struct layout_layer *layer);
/* Empties the buffer as soon as its bytes are not needed any more: a descriptor as tar, as text and
 * as what is kept of it at the same time is what costs memory. */
int layout_take_layer(struct buffer *bytes, const char *media_type,
                      struct descriptor **ret_descriptor, struct error *err) must_check;

/* A descriptor must be that of the component version that was asked for. */
int layout_check_identity(const struct descriptor *descriptor, const char *component_name,
                          const char *version, struct error *err) must_check;

static inline void layout_layer_donep(struct layout_layer *layer)
{
    layout_layer_done(layer);
}
#define cleanup_layer __attribute__((cleanup(layout_layer_donep)))
