/* SPDX-License-Identifier: Apache-2.0 */
/* status.synced of a Manifest: the objects of the module in the cluster. It is written before they
 * are applied, so that none is ever forgotten. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/inventory.h"
#include "common/apply/plan.h"

/* {group, version, kind, name, namespace}; a new reference. */
json_t *synced_entry(const struct object_ref *ref);
/* The reference of an entry; its strings belong to the caller (object_ref_done()). */
struct object_ref synced_ref(const json_t *entry);
/* The list of the plan's objects, in its order. A new reference. */
json_t *synced_of_plan(const struct plan *plan);
/* before, and after it the entries of more that are not in it (by group, kind, namespace and name).
 * Of an object that both have the version of more counts: that of before may not be served any more
 * when the object is to be removed. A new reference. */
json_t *synced_union(const json_t *before, const json_t *more);
/* The entries of before that are not in now. A new reference. */
json_t *synced_minus(const json_t *before, const json_t *now);

/* Objects are removed in two steps: custom resources, configuration and so on first, and then what
 * an operator needs to run, so that it can still act while they go. */
bool synced_is_removed_last(const json_t *entry);
/* The entries of one of the two steps, as an inventory. The namespace kyma-system is kept. */
struct inventory synced_inventory(const json_t *synced, bool is_last);

/* The first Deployment or StatefulSet: the module's manager. NULL: none. Borrowed. */
const json_t *synced_manager(const json_t *synced);
/* Whether an object of this kind can be the manager. */
bool synced_may_be_manager(const struct object_ref *ref);
/* The object of a module's content that an entry names; NULL: none. Borrowed. */
const json_t *synced_find_object(const json_t *objects, const struct object_ref *ref);
/* Whether the content has the object in another version of its API, and not in this one. */
bool synced_has_other_version(const json_t *objects, const struct object_ref *ref);
