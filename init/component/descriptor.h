/* SPDX-License-Identifier: Apache-2.0 */
/* A component descriptor: v2 or v3alpha1 in, always v2 out, in the form of the descriptor list. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

enum { DESCRIPTOR_MAX_BYTES = 8 * 1024 * 1024 };

struct descriptor;

/* YAML or JSON text of at most DESCRIPTOR_MAX_BYTES. ERROR_INVALID names the field. */
int descriptor_parse(const char *text, size_t size, struct descriptor **ret_descriptor,
                     struct error *err) must_check;
int descriptor_from_doc(const json_t *doc, struct descriptor **ret_descriptor, struct error *err)
    must_check;
void descriptor_free(struct descriptor *descriptor);

/* Borrowed. */
const char *descriptor_name(const struct descriptor *descriptor);
const char *descriptor_version(const struct descriptor *descriptor);
const json_t *descriptor_doc(const struct descriptor *descriptor);        /* v2 */
const json_t *descriptor_references(const struct descriptor *descriptor); /* v2 array */
/* The last repository context: where references are looked up. */
const json_t *descriptor_context(const struct descriptor *descriptor);
/* By identity {name}: ERROR_NOT_FOUND says whether there is none or more than one. */
int descriptor_resource(const struct descriptor *descriptor, const char *name,
                        const json_t **ret_resource, struct error *err) must_check;

/* The two schemas, brought to v2 (new reference). */
int descriptor_from_v2(const json_t *doc, json_t **ret_doc, struct error *err) must_check;
int descriptor_from_v3(const json_t *doc, json_t **ret_doc, struct error *err) must_check;

define_cleanup(struct descriptor *, descriptor_free)
#define cleanup_descriptor __attribute__((cleanup(descriptor_freep)))
