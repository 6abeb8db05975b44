/* SPDX-License-Identifier: Apache-2.0 */
/* Image references, normalised as Docker does: "alpine" is docker.io/library/alpine:latest. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

struct reference;

/* Parses [host[:port]/]path[:tag][@digest]. If there is a digest, a tag is dropped; with neither,
 * the tag is "latest". index.docker.io becomes docker.io. */
int reference_parse(const char *text, struct reference **ret_reference, struct error *err)
    must_check;
void reference_free(struct reference *reference); /* NULL is fine */

/* Borrowed. The tag is NULL if there is a digest. */
const char *reference_host(const struct reference *reference); /* "docker.io", "localhost:5000" */
const char *reference_repository(const struct reference *reference);
const char *reference_tag(const struct reference *reference);
/* The digest, or else the tag, as in /v2/<repository>/manifests/<this>. */
const char *reference_object(const struct reference *reference);

/* Whether text is a valid repository name or tag and can be part of a registry's URL. */
bool reference_is_repository(const char *text);
bool reference_is_tag(const char *text);

define_cleanup(struct reference *, reference_free)
#define cleanup_reference __attribute__((cleanup(reference_freep)))
