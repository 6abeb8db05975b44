/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an API object's metadata. Pure; texts are borrowed from the object. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

const char *object_annotation(const json_t *object, const char *key); /* NULL if there is none */
const char *object_label(const json_t *object, const char *key);      /* NULL if there is none */
/* The resourceVersion as a number. Clients should treat it as opaque, but every API server counts;
 * 0 if it is not a number. */
uint64_t object_version(const json_t *object);
bool object_has_finalizer(const json_t *object, const char *finalizer);
/* All finalizers except this one. New reference. */
json_t *object_other_finalizers(const json_t *object, const char *finalizer);
