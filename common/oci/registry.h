/* SPDX-License-Identifier: Apache-2.0 */
/* Client for pulling manifests and blobs from OCI registries. Content is verified against its
 * digest while it is received. Supports anonymous, basic and bearer-token authentication.
 *
 * Every fetch retries connection errors, 429, 5xx and truncated bodies until the deadline (blobs
 * resume by Range). It does not retry 400, 401, 403, 404, 416. Failures that look temporary but do
 * not resolve themselves become final (ERROR_INVALID) within 15 s: a host name that is unknown for
 * 10 s, and three times in a row a web page instead of a manifest or plain HTTP on a TLS
 * connection. So an error of kind ERROR_TEMPORARY means that the deadline has passed; every other
 * kind is final. Tokens are cached per host and scope.
 *
 * Credentials are sent to the registry's host, and to its token server (realm) if that is in the
 * same domain (auth.h) or has its own entry in the keyring; with TLS, unless the registry has none.
 * They are never sent to the target of a redirect. The authentication scheme of a host is
 * remembered, so that a second repository causes no further 401. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/http.h"
#include "common/oci/keyring.h"

struct registry; /* a client for any number of registries */
struct registry_call;

struct registry_options {
    const struct keyring *keyring; /* borrowed; NULL: anonymous */
    /* oci.allowPlainHttp: https is tried first, then plain http. */
    bool is_plain_http_allowed;
    bool is_insecure;         /* oci.insecureSkipVerify */
    uint64_t deadline_ms;     /* for the retries of one fetch; 0: 120 s */
    const char *extra_ca_pem; /* trusted besides the system's, or NULL */
    /* Before each wait for a retry, or NULL; err is what failed. Must not call the registry. */
    void (*on_retry)(void *data, const struct error *err, uint32_t delay_ms);
    void *on_retry_data;
};

int registry_new(struct loop *loop, struct http_client *http,
                 const struct registry_options *options, struct registry **ret_registry,
                 struct error *err) must_check;
void registry_free(struct registry *registry);

/* A repository. */
struct registry_place {
    const char *host; /* "docker.io" is contacted as registry-1.docker.io */
    const char *repository;
    bool is_plain_http; /* plain http only, as the reference says http:// */
};

enum { REGISTRY_MANIFEST_MAX = 4 * 1024 * 1024 };

/* Called exactly once, from the loop, unless the call is cancelled. If err->kind is ERROR_NONE,
 * bytes and strings are borrowed for the duration of the call, and digest is that of bytes. */
typedef void registry_manifest_fn(void *data, const struct buffer *bytes, const char *media_type,
                                  const char *digest, const struct error *err);
typedef int registry_bytes_fn(void *data, const char *bytes, size_t size, struct error *err);
/* Called exactly once, as above. After a failure discard the bytes that were received. */
typedef void registry_blob_fn(void *data, const struct error *err);

/* object is a tag or a digest, which is verified. Accepts OCI and Docker manifests and indexes. The
 * call ends with on_done or registry_cancel(); ret_call may be NULL. */
int registry_get_manifest(struct registry *registry, const struct registry_place *place,
                          const char *object, registry_manifest_fn *on_done, void *data,
                          struct registry_call **ret_call, struct error *err) must_check;

struct registry_blob {
    const char *digest;          /* verified */
    int64_t size;                /* verified; -1: not known */
    uint64_t max_bytes;          /* ERROR_TOO_LARGE beyond */
    registry_bytes_fn *on_bytes; /* in order, each byte once, over all retries */
    /* The server can't resume: discard what was handed out so far, the blob starts over. */
    void (*on_restart)(void *data);
    registry_blob_fn *on_done;
    void *data;
};

int registry_get_blob(struct registry *registry, const struct registry_place *place,
                      const struct registry_blob *blob, struct registry_call **ret_call,
                      struct error *err) must_check;
void registry_cancel(struct registry_call *call);

/* Blocks: runs the loop until the manifest is there or the fetch has failed. On success the three
 * results belong to the caller. */
int registry_read_manifest(struct registry *registry, const struct registry_place *place,
                           const char *object, json_t **ret_manifest, char **ret_media_type,
                           char **ret_digest, struct error *err) must_check;
