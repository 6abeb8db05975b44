/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the descriptor of one component version: asks the repositories in their order. In a
 * registry this takes three requests: manifest, config, descriptor layer. */
#pragma once

#include "common/base/loop.h"
#include "common/component/ocmconfig.h"
#include "common/component/repository.h"
#include "common/oci/manifest.h"
#include "common/oci/registry.h"

/* The repositories to ask. All pointers are borrowed. */
struct lookup {
    struct loop *loop;
    struct registry *registry;
    const struct repository *inline_descriptors; /* of the configuration, or NULL */
    const struct repository *context;    /* repositoryContext of the configuration, or NULL */
    struct repository *const *resolvers; /* parallel to config->resolvers */
    const struct ocmconfig *config;      /* or NULL */
};

/* The next repository to ask for this component, or NULL after the last. *place is 0 before the
 * first call. */
const struct repository *lookup_next(const struct lookup *lookup, const char *component_name,
                                     size_t *place);

struct found {
    struct descriptor *descriptor;
    const struct repository *repository; /* borrowed from the lookup */
    struct manifest manifest;            /* empty if it is not an OCI artifact */
    uint64_t bytes;                      /* downloaded */
};
void found_done(struct found *found);

struct fetch;

/* Called exactly once, from the loop, and never after fetch_cancel(). Unless err->kind is set, the
 * callback owns what found holds and ends it with found_done(). ERROR_NOT_FOUND lists the
 * repositories that were asked; any other error of a repository ends the search. */
typedef void fetch_fn(void *data, struct found *found, const struct error *err);

struct fetch *fetch_start(const struct lookup *lookup, const char *component_name,
                          const char *version, fetch_fn *on_done, void *data);
void fetch_cancel(struct fetch *fetch); /* NULL is fine */
