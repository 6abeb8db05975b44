/* SPDX-License-Identifier: Apache-2.0 */
/* A component descriptor: v2 or v3alpha1 in, always v2 out, in the form of the descriptor list. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"
#include "init/component/element.h"

enum {
    DESCRIPTOR_MAX_BYTES = 8 * 1024 * 1024,
    /* Of memory, for all of a descriptor but its lists and one element of those. */
    DESCRIPTOR_TREE_MAX_BYTES = 4 * 1024 * 1024,
    DESCRIPTOR_LISTS = 3,
};

struct descriptor;

/* YAML or JSON text of at most DESCRIPTOR_MAX_BYTES. ERROR_INVALID names the field. Sources,
 * references and resources are never in memory as one tree. */
int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err) must_check;
int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
    must_check;
struct descriptor *descriptor_ref(struct descriptor *descriptor);
void descriptor_free(struct descriptor *descriptor); /* with the last reference */

/* Borrowed. */
const char *descriptor_name(const struct descriptor *descriptor);
const char *descriptor_version(const struct descriptor *descriptor);
/* The last repository context: where references are looked up. */
const json_t *descriptor_context(const struct descriptor *descriptor);
/* Each a new reference. */
size_t descriptor_reference_count(const struct descriptor *descriptor);
json_t *descriptor_reference(const struct descriptor *descriptor, size_t index);
/* By identity {name}: ERROR_NOT_FOUND says whether there is none or more than one. */
int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        json_t **ret_resource, struct error *err) must_check;

/* Compact JSON of the v2 form, keys sorted, piece by piece. The sink returns -1 to end it. */
int descriptor_write(const struct descriptor *descriptor, json_dump_callback_t sink, void *data)
    must_check;

/* The two schemas, brought to v2 (new reference), without the three lists: those are given apart,
 * in the order of descriptor_list_keys, and only checked. */
extern const char *const descriptor_list_keys[DESCRIPTOR_LISTS];
int descriptor_from_v2(const json_t *doc, const struct element_list lists[], json_t **ret_doc,
                       struct error *err) must_check;
int descriptor_from_v3(const json_t *doc, const struct element_list lists[], json_t **ret_doc,
                       struct error *err) must_check;

define_cleanup(struct descriptor *, descriptor_free)
#define cleanup_descriptor __attribute__((cleanup(descriptor_freep)))
