/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a module, from the YAML of its raw-manifest resource. Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum {
    MODULE_BYTES_MAX = 16 << 20,
    MODULE_OBJECTS_MAX = 2000,
};

/* All documents, Lists expanded, without empty ones; of an object that appears twice the first is
 * taken, as in the original. ERROR_INVALID names the document for one that is not an object with
 * apiVersion, kind and metadata.name. *ret_objects is a new array. */
int module_objects_parse(const char *text, size_t size, json_t **ret_objects, struct error *err)
    must_check;

/* Who installs the objects: they are the same in all clusters but for this. */
struct module_owner {
    const char *namespace_name, *manifest_name; /* of the Manifest in the control plane */
};

/* A copy of the object for one cluster, with the labels and annotations that the module's objects
 * carry there, and with images replaced (images.h; images may be NULL). */
int module_object_for(const json_t *object, const struct module_owner *owner, const json_t *images,
                      json_t **ret_object, struct error *err) must_check;
