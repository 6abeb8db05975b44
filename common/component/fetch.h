/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one component version: asks the repositories in their order, on the loop. From a registry
 * it takes three requests: manifest, config, descriptor layer. */
#pragma once

#include "common/base/loop.h"
#include "common/oci/manifest.h"
#include "common/oci/registry.h"
#include "init/component/ocmconfig.h"
#include "init/component/repository.h"

/* Where to look. Everything is borrowed. */
struct lookup {
    struct loop *loop;
    struct registry *registry;
    const struct repository *given;      /* descriptors of the configuration, or NULL */
    const struct repository *context;    /* of the root reference, or NULL */
    struct repository *const *resolvers; /* one for each of config's, in their order */
    const struct ocmconfig *config;      /* or NULL */
};

/* The repository to ask at this place, or NULL; *place moves on. */
const struct repository *lookup_next(const struct lookup *lookup, const char *component_name,
                                     size_t *place);

/* What was found. */
struct found {
    struct descriptor *descriptor;
    const struct repository *repository; /* borrowed from the lookup */
    struct manifest manifest;            /* empty for what is no OCI artifact */
    uint64_t bytes;
};
void found_done(struct found *found);

struct fetch;

/* The callback takes found over (found_done()) unless err->kind says that there is none. Exactly
 * once, from the loop; never after fetch_cancel(). ERROR_NOT_FOUND lists where it was looked for;
 * any other failure of a repository ends the search. */
typedef void fetch_fn(void *data, struct found *found, const struct error *err);

struct fetch *fetch_start(const struct lookup *lookup, const char *component_name,
                          const char *version, fetch_fn *on_done, void *data);
void fetch_cancel(struct fetch *fetch); /* NULL is fine */
