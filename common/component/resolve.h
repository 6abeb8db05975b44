/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a component version and everything it refers to, directly or indirectly, into the
 * component descriptor list. Descriptors are fetched in parallel and spooled to a file, so that
 * memory does not grow with their number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/component/fetch.h"

enum { RESOLVE_COMPONENTS_MAX = 500, RESOLVE_PARALLEL_MAX = 4 };

struct resolution;

struct resolve_progress {
    size_t done, known; /* components */
    uint64_t bytes;
};
typedef void resolve_progress_fn(void *data, const struct resolve_progress *progress);

struct resolve_options {
    int spool_fd;                    /* an empty file for the descriptors; stays the caller's */
    const char *resource_name;       /* a resource of the root to keep; NULL: none */
    const json_t *resource_identity; /* its other attributes (element.h); NULL: just the name */
    resolve_progress_fn *on_progress;
    void *data;
};

/* Blocks: runs the loop until all descriptors are there or one has failed. Every component version
 * is fetched once, so that cycles end. ERROR_TOO_LARGE above RESOLVE_COMPONENTS_MAX components,
 * ERROR_NOT_FOUND if the root lacks the resource; errors of a fetch are returned as they are.
 * lookup must outlive the resolution. */
int resolve_components(const struct lookup *lookup, const char *component_name, const char *version,
                       const struct resolve_options *options, struct resolution **ret_resolution,
                       struct error *err) must_check;
void resolution_free(struct resolution *resolution);

/* Borrowed from the resolution. */
struct resolved_root {
    const char *component_name;
    const struct repository *repository; /* where it was found */
    const struct manifest *manifest;     /* empty if it is not an OCI artifact */
    const json_t *resource;              /* the one of resource_name, or NULL */
};
struct resolved_root resolution_root(const struct resolution *resolution);
size_t resolution_count(const struct resolution *resolution);
uint64_t resolution_bytes(const struct resolution *resolution);

/* Whether there is a cycle of references. If so, *ret_from refers back to *ret_to, both
 * "name:version" and borrowed. */
bool resolution_cycle(const struct resolution *resolution, const char **ret_from,
                      const char **ret_to);

/* Writes the component descriptor list, {"meta": ..., "components": [...]}: the root, then depth
 * first in the order of the references. */
int resolution_write(const struct resolution *resolution, int fd, struct error *err) must_check;

define_cleanup(struct resolution *, resolution_free)
#define cleanup_resolution __attribute__((cleanup(resolution_freep)))
