/* SPDX-License-Identifier: Apache-2.0 */
/* From a source to a root file system in the store and the image's own configuration. Every blob is
 * verified by its digest before it counts. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/base/loop.h"
#include "common/net/http.h"
#include "common/oci/keyring.h"
#include "deployer/run/source.h"
#include "deployer/run/store.h"

struct image {
    char *rootfs; /* read-only for us: shared by all runs of this image */
    json_t
        *config;  /* "config" object of the image: Entrypoint, Cmd, Env, WorkingDir; may be NULL */
    char *digest; /* of the manifest or configuration; NULL for rootfs directories */
    bool was_cached;
};

void image_done(struct image *image);
static inline void image_donep(struct image *image)
{
    image_done(image);
}
#define cleanup_image __attribute__((cleanup(image_donep)))

struct image_request {
    const struct source *source;
    struct store *store;
    struct loop *loop;
    const struct keyring *keyring; /* may be NULL */
    bool is_plain_http_allowed, is_insecure;
    /* Told what is being done: "layer 2 of 5", bytes so far. May be NULL. */
    void (*on_progress)(void *data, const char *what, uint64_t bytes);
    void *data;
};

int image_prepare(const struct image_request *request, struct image *ret_image, struct error *err)
    must_check;
