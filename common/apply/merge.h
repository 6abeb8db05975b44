/* SPDX-License-Identifier: Apache-2.0 */
/* What an object becomes when a manifest is applied to it. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/inventory.h"

enum update_strategy {
    STRATEGY_UPDATE,          /* PUT: the manifest replaces the object */
    STRATEGY_PATCH,           /* merge patch from the live object to the manifest */
    STRATEGY_MERGE,           /* PUT: fills what is missing or empty in the live object */
    STRATEGY_MERGE_OVERWRITE, /* PUT: the manifest wins, the rest of the live object stays */
    STRATEGY_APPLY,           /* server-side apply, forced */
};

int strategy_parse(const char *text, enum update_strategy *ret_strategy, struct error *err)
    must_check;
const char *strategy_name(enum update_strategy strategy);

/* The merge of the Go deployer, with its quirks: manifest.md 1.5 lists them as a table. Both are
 * unchanged; a new reference. */
json_t *merge_objects(const json_t *live, const json_t *manifest, bool is_overwriting);

/* The manifest with the owner's label and annotation. A new reference. */
json_t *merge_with_owner(const json_t *manifest, const struct apply_owner *owner);
/* The same with additional annotations, which win over those of the manifest; NULL is fine. */
json_t *merge_for_create(const json_t *manifest, const json_t *annotations,
                         const struct apply_owner *owner);

/* The request that changes live into what the manifest wants, or nothing if live is that already
 * (compared without status, managedFields and other members that the server owns).
 *
 * For STRATEGY_UPDATE and STRATEGY_PATCH these stay as they are in live: resourceVersion, a
 * Service's clusterIP, clusterIPs, ipFamilies and nodePorts that the manifest does not set, a Job's
 * selector and pod labels, a ServiceAccount's secrets, and finalizers and ownerReferences of
 * others: those of the manifest are added, and those in entry->own_* that left the manifest are
 * removed. */
struct merge_result {
    bool is_changed;
    bool is_patch; /* body is a merge patch, else the whole object for a PUT */
    json_t *body;
};

struct merge_result merge_for_change(const json_t *live, const json_t *manifest,
                                     enum update_strategy strategy, const struct apply_owner *owner,
                                     const struct inventory_entry *entry);
void merge_result_done(struct merge_result *result);
/* A JSON merge patch (RFC 7386) that turns from into to; NULL if they are equal. */
json_t *merge_patch_between(const json_t *from, const json_t *to);
