/* SPDX-License-Identifier: Apache-2.0 */
/* A component version with all that it refers to, directly or not, each once, and the descriptor
 * list that comes of it. Descriptors are fetched several at a time and put on disk as they come, so
 * that memory holds one or a few of them, whatever their number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "init/component/fetch.h"

enum { RESOLVE_COMPONENTS_MAX = 500, RESOLVE_PARALLEL_MAX = 4 };

struct resolution;

struct resolve_progress {
    size_t done, known; /* components */
    uint64_t bytes;
};
typedef void resolve_progress_fn(void *data, const struct resolve_progress *progress);

struct resolve_options {
    int spool_fd;              /* an empty file of the caller's, for the descriptors */
    bool is_root_only;         /* references are not followed */
    const char *resource_name; /* of the root, to be kept; NULL: none */
    resolve_progress_fn *on_progress;
    void *data;
};

/* Blocks (runs the loop). References that lead back to a component already seen end there; more
 * than RESOLVE_COMPONENTS_MAX components are ERROR_TOO_LARGE by name. */
int resolve_components(const struct lookup *lookup, const char *component_name, const char *version,
                       const struct resolve_options *options, struct resolution **ret_resolution,
                       struct error *err) must_check;
void resolution_free(struct resolution *resolution);

/* Where the root was found, its manifest if it is an OCI artifact, and the resource that was asked
 * for. Borrowed. */
struct resolved_root {
    const char *component_name;
    const struct repository *repository;
    const struct manifest *manifest;
    const json_t *resource;
};
struct resolved_root resolution_root(const struct resolution *resolution);
size_t resolution_count(const struct resolution *resolution);
uint64_t resolution_bytes(const struct resolution *resolution);

/* Two components of a cycle of references, if there is one: the first refers back to the second. */
bool resolution_cycle(const struct resolution *resolution, const char **ret_from,
                      const char **ret_to);

/* {"meta": ..., "components": [...]}: the root first, then depth first in the order of the
 * references. */
int resolution_write(const struct resolution *resolution, int fd, struct error *err) must_check;

define_cleanup(struct resolution *, resolution_free)
#define cleanup_resolution __attribute__((cleanup(resolution_freep)))
