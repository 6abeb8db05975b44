/* SPDX-License-Identifier: Apache-2.0 */
/* Where the objects of a module are, according to its component descriptor. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/component/descriptor.h"
#include "common/oci/manifest.h"

struct module_source {
    char *digest;    /* of the layer with the objects, in the repository of the component */
    bool is_archive; /* a tar with one file, else YAML */
    json_t *images;  /* references of the images that the module uses; NULL: none */
};

/* Only the resource "raw-manifest" has to be readable. manifest is that of the component version,
 * for the media type of a layer whose resource does not state one; it may be empty. The caller ends
 * *ret_source with module_source_done(). */
int module_source_find(const struct descriptor *descriptor, const struct manifest *manifest,
                       struct module_source *ret_source, struct error *err) must_check;
void module_source_done(struct module_source *source); /* also for zeroed memory */
#define cleanup_module_source __attribute__((cleanup(module_source_done)))
