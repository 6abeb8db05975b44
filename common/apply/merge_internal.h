/* SPDX-License-Identifier: Apache-2.0 */
/* Inside merge*.c. */
#pragma once

#include "common/apply/merge.h"

/* The members of metadata that the server sets; what a manifest says about them is ignored. NULL at
 * the end. */
extern const char *const merge_server_members[];

/* A shallow copy of an object whose metadata is copied as well and has no member of
 * merge_server_members. A new reference. */
json_t *merge_without_server_members(const json_t *object);

/* What STRATEGY_UPDATE and STRATEGY_PATCH keep of live although the manifest does not have it, as
 * an object that has only these members. Without finalizers, ownerReferences and nodePorts. A new
 * reference. */
json_t *merge_kept_part(const json_t *live, const json_t *manifest);
/* Sets the members of part in object, at any depth. */
void merge_overlay(json_t *object, const json_t *part);
/* Removes the members of part from object, and objects that became empty by that. */
void merge_subtract(json_t *object, const json_t *part);
/* Sets the nodePorts of a Service and the selector of a Job as they are in live. */
void merge_keep_of_kind(json_t *object, const json_t *live);

/* Sets the finalizers and ownerReferences of object, which has those of the manifest: those of live
 * stay, except those that entry says were ours and that the manifest does not have any more. entry
 * may be NULL. */
void merge_unite_lists(json_t *object, const json_t *live, const struct inventory_entry *entry);
/* Whether live has these finalizers and ownerReferences already. */
bool merge_has_lists(const json_t *live, const json_t *manifest,
                     const struct inventory_entry *entry);

/* Whether the entry says that desired (the manifest with its owner) was applied with this strategy
 * and live did not change since. */
bool merge_is_recorded(const json_t *live, const json_t *desired, enum update_strategy strategy,
                       const struct inventory_entry *entry);
