/* SPDX-License-Identifier: Apache-2.0 */
/* The pull side of the OCI distribution protocol: manifests and blobs by digest, verified while
 * they stream, with anonymous, basic and bearer-token access. The only code that knows /v2/ paths.
 *
 * Every fetch retries connect errors, 429, 5xx and truncated bodies until the deadline (blobs
 * resume by Range), and none of 400, 401, 403, 404, 416. Tokens are cached per host and scope.
 *
 * Credentials go to the registry's own host and, over https or as plainly as the registry itself,
 * to the realm it names if that is of the same domain (auth.h) or has an entry of its own in the
 * keyring; never to a redirect's target. What a host asked for once is sent without being asked
 * again, so that a second repository costs no 401. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/http.h"
#include "common/oci/keyring.h"

struct registry; /* all registries of a run */
struct registry_call;

struct registry_options {
    const struct keyring *keyring; /* borrowed; NULL: anonymous */
    /* oci.allowPlainHttp: a host that can't be reached by https is tried by plain http. */
    bool is_plain_http_allowed;
    bool is_insecure;         /* oci.insecureSkipVerify */
    uint64_t deadline_ms;     /* for retries of one fetch; 0: 120 s */
    const char *extra_ca_pem; /* trusted besides the system's, or NULL */
};

int registry_new(struct loop *loop, struct http_client *http,
                 const struct registry_options *options, struct registry **ret_registry,
                 struct error *err) must_check;
void registry_free(struct registry *registry);

/* Which repository. is_plain_http: the reference itself said http://. */
struct registry_place {
    const char *host; /* "docker.io" is contacted as registry-1.docker.io */
    const char *repository;
    bool is_plain_http;
};

enum { REGISTRY_MANIFEST_MAX = 4 * 1024 * 1024 };

/* Digest is of the bytes that came. Exactly once, from the loop; never after registry_cancel(). */
typedef void registry_manifest_fn(void *data, const struct buffer *bytes, const char *media_type,
                                  const char *digest, const struct error *err);
typedef int registry_bytes_fn(void *data, const char *bytes, size_t size, struct error *err);
/* After a failure what was handed out is to be thrown away. */
typedef void registry_blob_fn(void *data, const struct error *err);

/* object is a tag or a digest; a digest is verified. All four manifest types are accepted. */
int registry_get_manifest(struct registry *registry, const struct registry_place *place,
                          const char *object, registry_manifest_fn *on_done, void *data,
                          struct registry_call **ret_call, struct error *err) must_check;

struct registry_blob {
    const char *digest;          /* verified */
    int64_t size;                /* verified; -1: not known */
    uint64_t max_bytes;          /* ERROR_TOO_LARGE beyond */
    registry_bytes_fn *on_bytes; /* in order, each byte once, over all retries */
    /* A server that can't resume: what was handed out so far counts for nothing, start over. NULL:
     * the bytes already seen are read again and skipped instead. */
    void (*on_restart)(void *data);
    registry_blob_fn *on_done;
    void *data;
};

int registry_get_blob(struct registry *registry, const struct registry_place *place,
                      const struct registry_blob *blob, struct registry_call **ret_call,
                      struct error *err) must_check;
void registry_cancel(struct registry_call *call);

/* Runs the loop until done: the blob in memory, at most max_bytes. */
int registry_read_blob(struct registry *registry, const struct registry_place *place,
                       const char *digest, int64_t size, size_t max_bytes, struct buffer *ret_bytes,
                       struct error *err) must_check;
int registry_read_manifest(struct registry *registry, const struct registry_place *place,
                           const char *object, json_t **ret_manifest, char **ret_media_type,
                           char **ret_digest, struct error *err) must_check;

define_cleanup(struct registry *, registry_free)
#define cleanup_registry __attribute__((cleanup(registry_freep)))
