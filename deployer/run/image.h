/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an image source into a root file system in the cache and the image's configuration. The
 * digest of every blob is verified before the blob is used. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/base/loop.h"
#include "common/net/http.h"
#include "common/oci/keyring.h"
#include "deployer/run/image_cache.h"
#include "deployer/run/source.h"

struct image {
    char *rootfs; /* read-only: shared by all runs of this image */
    /* The "config" object of the image (Entrypoint, Cmd, Env, WorkingDir), or NULL. */
    json_t *config;
    char *digest; /* of the manifest, or of a docker archive's configuration; NULL for rootfs:DIR */
    /* "linux/arm64" if the configuration names a platform that is not this machine's, else NULL. */
    char *foreign_platform;
    bool was_cached;
};

void image_done(struct image *image);

struct image_request {
    const struct source *source;
    struct image_cache *cache;
    struct loop *loop;
    const struct keyring *keyring; /* may be NULL */
    bool is_plain_http;            /* speak http to the registry, not https */
    bool is_insecure;              /* accept any certificate */
    /* Called with what is being done ("layer 2 of 5") and the bytes so far. */
    void (*on_progress)(void *data, const char *what, uint64_t bytes);
    /* Called before each wait for a retry. */
    void (*on_retry)(void *data, const struct error *err, uint32_t delay_ms);
    void *data;
    /* As soon as a callback of the loop sets its kind, image_prepare() fails with this error. */
    const struct error *stop;
};

/* Handles events of the loop: waits for one, or only handles those that are there. Fails with
 * request->stop if that is set. */
int image_run_loop(const struct image_request *request, bool is_waiting, struct error *err)
    must_check;

/* Blocks; runs the loop of the request. *ret_image belongs to the caller, also its members; the
 * error names the image. */
int image_prepare(const struct image_request *request, struct image *ret_image, struct error *err)
    must_check;
