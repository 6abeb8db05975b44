/* SPDX-License-Identifier: Apache-2.0 */
/* The access of a resource, that is where its content is, and whether it can be what is wanted: a
 * blueprint or a chart. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/oci/manifest.h"

enum access_kind {
    ACCESS_LOCAL_BLOB,     /* one or more blobs in the repository of the component, concatenated */
    ACCESS_LOCAL_OCI_BLOB, /* one such blob; its media type is in the manifest of the component */
    ACCESS_BLOB,           /* a blob of another repository */
    ACCESS_ARTIFACT,       /* a separate OCI artifact */
    ACCESS_RELATIVE,       /* a separate artifact in the registry of the component */
    ACCESS_CHART_REPOSITORY, /* a classic chart repository: chart is set, and nothing can be fetched
                              * as a blob */
};

/* What the resource has to be. */
enum access_content { ACCESS_BLUEPRINT, ACCESS_CHART };

enum { ACCESS_REFERENCES_MAX = 1000 };

struct access {
    enum access_kind kind;
    enum access_content content;
    char **references; /* of blobs: digests or file names */
    size_t reference_count;
    char *media_type; /* "" if not set */
    char *host;       /* NULL: the registry of the component */
    char *repository;
    char *object; /* tag or digest of an artifact */
    bool is_plain_http;
    int64_t size;  /* -1: not set */
    json_t *chart; /* {"url", "name", "version"} of a chart repository; else NULL */
    /* Digests of the component descriptor, "sha256:<hex>", or NULL. */
    char *blob_digest;     /* of the blob */
    char *artifact_digest; /* of the manifest of the artifact */
};

/* resource must be one of a parsed descriptor. ERROR_INVALID if it is not what is wanted or its
 * access is not supported. The caller ends *ret_access with access_done(). */
int access_parse(const json_t *resource, enum access_content content, struct access *ret_access,
                 struct error *err) must_check;
/* The access of a chart in a registry: host/repository[:tag][@digest]. */
int access_of_chart(const char *reference, struct access *ret_access, struct error *err) must_check;
void access_done(struct access *access);

/* ERROR_INVALID if a blob of this media type can't be that content. */
int access_check_blob_type(enum access_content content, const char *media_type, struct error *err)
    must_check;
/* Whether a blob of this media type is an archive of an OCI artifact. */
bool access_is_artifact_set(const char *media_type);
/* Picks the layer with the content. ERROR_INVALID if there is none. *ret_layer is borrowed. */
int access_pick_layer(enum access_content content, const struct manifest *manifest,
                      const struct content **ret_layer, struct error *err) must_check;

static inline void access_donep(struct access *access)
{
    access_done(access);
}
#define cleanup_access __attribute__((cleanup(access_donep)))
