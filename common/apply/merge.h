/* SPDX-License-Identifier: Apache-2.0 */
/* What an object becomes when a manifest is applied to it. Pure.
 *
 * An object that is already as wanted must not be written, but the server adds defaults, rewrites
 * values (a quantity 1000m becomes 1) and swallows others (stringData of a Secret), so that even an
 * untouched object differs from its manifest. Therefore a write is remembered by two hashes in the
 * inventory entry, see merge_note_applied():
 *
 *   desired_hash  of the manifest with its owner, and of the strategy;
 *   applied_hash  of the object as that write returned it, without what may change later although
 *                 nobody interferes: status, metadata of the server, and what the controllers of
 *                 the cluster wrote.
 *
 * If both are still the same, nothing changed. Otherwise the object is compared with what would be
 * written, and written if they differ. A write that turns out to change nothing is harmless: the
 * server then keeps the resourceVersion. The hashes can get lost at any time (the Go deployer drops
 * them): then the worst case is one such write. */
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

/* "" is STRATEGY_UPDATE; an unknown word is ERROR_INVALID. */
int strategy_parse(const char *text, enum update_strategy *ret_strategy, struct error *err)
    must_check;
const char *strategy_name(enum update_strategy strategy);

/* The merge of the Go deployer. Both arguments are unchanged; a new reference. Objects are merged
 * member by member; for other values:
 *
 *   manifest            live                          merge     overwriting
 *   anything            missing                       manifest  manifest
 *   null                anything                      live      null
 *   scalar, list        empty: "" 0 false null [] {}  manifest  manifest
 *   scalar, also empty  not empty                     live      manifest
 *   list, also empty    not empty                     live      manifest, as a whole
 *   object              empty, but not an object      manifest  manifest
 *   object              scalar or list, not empty     live      manifest
 *   empty object        object                        live      live */
json_t *merge_objects(const json_t *live, const json_t *manifest, bool is_overwriting);

/* The manifest with the owner's label and annotation. A new reference. */
json_t *merge_with_owner(const json_t *manifest, const struct apply_owner *owner);
/* The same with additional annotations, which win over those of the manifest (NULL is fine), and
 * without the metadata that only the server can set. */
json_t *merge_for_create(const json_t *manifest, const json_t *annotations,
                         const struct apply_owner *owner);

/* The request that changes live into what the manifest wants, or nothing if live is that already.
 *
 * For STRATEGY_UPDATE and STRATEGY_PATCH these stay as they are in live:
 *   - resourceVersion and other metadata of the server; the status, unless the manifest has one;
 *   - finalizers and ownerReferences of others: those of the manifest are added, and those in
 *     entry->own_* that left the manifest are removed;
 *   - unless the manifest sets them: a Service's clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy
 *     and nodePorts, a ServiceAccount's secrets, a Pod's nodeName, the volumeName and
 *     storageClassName of a PersistentVolumeClaim;
 *   - unless the manifest sets it: what the controllers of the cluster wrote, according to
 *     metadata.managedFields: managers such as kube-controller-manager, and everything that was
 *     written through a subresource, such as the replicas that an autoscaler set;
 *   - a Job's selector and pod labels.
 * Everything else that is not in the manifest is removed.
 *
 * STRATEGY_MERGE_OVERWRITE only adds the finalizers and ownerReferences of the manifest, too. */
struct merge_result {
    bool is_changed;
    bool is_patch; /* body is a merge patch, else the whole object for a PUT or an apply */
    json_t *body;  /* NULL if nothing changed */
};

/* live is the object as the server has it, complete with managedFields. entry may be NULL: nothing
 * is known. */
struct merge_result merge_for_change(const json_t *live, const json_t *manifest,
                                     enum update_strategy strategy, const struct apply_owner *owner,
                                     const struct inventory_entry *entry);
void merge_result_done(struct merge_result *result);

/* Records that the manifest was applied: own_finalizers, own_owners, desired_hash and applied_hash
 * of the entry. To be called after each create or change that succeeded, with the
 * complete object as the server returned it, and for an unchanged object with the object as it was
 * read. annotations are those that merge_for_create() added, NULL otherwise: STRATEGY_UPDATE and
 * STRATEGY_PATCH remove them with the next job, therefore no hashes are recorded then. Not to be
 * called after a late patch: the next job applies the manifest again. */
void merge_note_applied(struct inventory_entry *entry, const json_t *manifest,
                        enum update_strategy strategy, const struct apply_owner *owner,
                        const json_t *annotations, const json_t *object);

/* A JSON merge patch (RFC 7386) that turns from into to; NULL if they are equal. Members that are
 * null count as missing, and 1 equals 1.0. A new reference. */
json_t *merge_patch_between(const json_t *from, const json_t *to);
/* Whether two values are equal in the same sense. */
bool merge_is_equal(const json_t *a, const json_t *b);
/* 16 hex characters that identify the content of a value, whatever the order of its members.
 * Belongs to the caller. */
char *merge_hash(const json_t *value);
