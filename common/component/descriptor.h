/* SPDX-License-Identifier: Apache-2.0 */
/* A component descriptor. It is read in the schema v2 or v3alpha1 and always written as v2, in the
 * form of the component descriptor list. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { DESCRIPTOR_MAX_BYTES = 8 * 1024 * 1024 };

struct descriptor;

/* YAML or JSON text of at most DESCRIPTOR_MAX_BYTES. ERROR_INVALID names the field. While it is
 * parsed, a descriptor takes about seven times the memory of its text. */
int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err) must_check;
/* The same for a descriptor that is part of another document; doc is copied. */
int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
    must_check;
struct descriptor *descriptor_ref(struct descriptor *descriptor);
void descriptor_free(struct descriptor *descriptor); /* drops one reference; NULL is fine */

/* Borrowed. */
const char *descriptor_name(const struct descriptor *descriptor);
const char *descriptor_version(const struct descriptor *descriptor);
/* ERROR_INVALID if this is the descriptor of another component version. "+" and ".build-" in a
 * version are the same, as a registry stores only the latter. */
int descriptor_check_identity(const struct descriptor *descriptor, const char *component_name,
                              const char *version, struct error *err) must_check;
/* The last repository context, in which component references are resolved. */
const json_t *descriptor_context(const struct descriptor *descriptor);
/* Each a new reference. */
size_t descriptor_reference_count(const struct descriptor *descriptor);
json_t *descriptor_reference(const struct descriptor *descriptor, size_t index);
/* The resource with this identity (element.h; NULL: just the name), as a new reference. The message
 * of ERROR_NOT_FOUND says whether no resource matches or more than one. */
int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        const json_t *identity, json_t **ret_resource, struct error *err)
    must_check;
/* All resources; borrowed, NULL if there are none. */
const json_t *descriptor_resources(const struct descriptor *descriptor);

/* Writes compact JSON in v2 form with sorted keys, piece by piece. Stops and returns -1 when the
 * sink returns -1. */
int descriptor_write(const struct descriptor *descriptor, json_dump_callback_t sink, void *data)
    must_check;

/* Inside component/: convert a document of either schema to v2 (a new reference). The lists of
 * sources, references and resources are converted in place and shared with the result. */
int descriptor_from_v2(const json_t *doc, json_t **ret_doc, struct error *err) must_check;
int descriptor_from_v3(const json_t *doc, json_t **ret_doc, struct error *err) must_check;

define_cleanup(struct descriptor *, descriptor_free)
#define cleanup_descriptor __attribute__((cleanup(descriptor_freep)))
