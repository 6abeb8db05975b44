/* SPDX-License-Identifier: Apache-2.0 */
/* The provider status of a manifest item: the list of applied objects, which is the only memory of
 * what has to be removed one day. Written as v1alpha2 in the form of the Go deployer; our additions
 * are in members "longshore", which that deployer ignores and drops. */
#pragma once

#include <jansson.h>

#include "common/apply/inventory.h"
#include "common/base/error.h"
#include "deployer/objects/late_change.h"

struct manifest_status {
    struct inventory inventory;
    char *cluster; /* hash of the cluster that the objects are in; NULL: unknown */
    json_t *late;  /* what is known of late changes; NULL: nothing */
};

void manifest_status_done(struct manifest_status *status);
#define cleanup_manifest_status __attribute__((cleanup(manifest_status_done)))

/* Reads a provider status of v1alpha2, or of v1alpha1, whose entries are flat and have no policy.
 * NULL and null are an empty one. ERROR_INVALID names the entry that cannot be read; then nothing
 * may be removed from the list. */
int manifest_status_parse(const json_t *document, struct manifest_status *ret_status,
                          struct error *err) must_check;
/* The document. late may be NULL. A new reference. */
json_t *manifest_status_document(const struct inventory *inventory, const char *cluster,
                                 const json_t *late);

/* The part of a provider status that a run writes: without what describes a pod, and without the
 * version, which depends on the type of the item. NULL gives NULL. A new reference. */
json_t *manifest_status_core(const json_t *document);

/* ---- What is known of late changes ---- */

/* From a provider status, or NULL; job: the present one. */
struct late_memory manifest_status_late(const json_t *document, const char *job);
/* Replaces it in a whole item status. */
void manifest_status_set_late(json_t *status, const struct late_memory *memory, const char *job);
