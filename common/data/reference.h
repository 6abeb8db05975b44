/* SPDX-License-Identifier: Apache-2.0 */
/* Docker image references, normalised as docker does: "alpine" is docker.io/library/alpine:latest.
 */
#pragma once

#include "common/base/error.h"

struct reference;

/* [host[:port]/]path[:tag][@digest]. With both tag and digest the digest wins and the tag is
 * dropped; with neither the tag is "latest". index.docker.io becomes docker.io. ERROR_INVALID names
 * the fault. */
int reference_parse(const char *text, struct reference **ret_reference, struct error *err)
    must_check;
void reference_free(struct reference *reference);

/* Borrowed. tag or digest is NULL, never both. */
const char *reference_host(const struct reference *reference); /* "docker.io", "localhost:5000" */
const char *reference_repository(const struct reference *reference);
const char *reference_tag(const struct reference *reference);
const char *reference_digest(const struct reference *reference);
/* Tag or digest, for /v2/<repository>/manifests/<this>. */
const char *reference_object(const struct reference *reference);
/* host/repository:tag or host/repository@digest. */
const char *reference_text(const struct reference *reference);

define_cleanup(struct reference *, reference_free)
#define cleanup_reference __attribute__((cleanup(reference_freep)))
