/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: which objects a deletion group removes, and what is written to them before.
 * Pure. */
#pragma once

#include "common/apply/removal.h"

enum { REMOVAL_NO_GROUP = SIZE_MAX };

/* Whether the group is evaluated with a list of the cluster instead of the recorded objects. */
bool removal_group_is_listed(const struct removal_group *group);
/* The index of the first group that takes a recorded object, or REMOVAL_NO_GROUP. */
size_t removal_group_of(const struct removal_group *groups, size_t count,
                        const struct object_ref *ref);
/* Refuses a listed group that selects more than its author can have meant: see removal_start(). */
int removal_group_check(const struct removal_group *group, bool has_cluster, struct error *err)
    must_check;
/* Whether an object of a list belongs to the group. The server has evaluated selectors already, but
 * a server that ignores one must not lead to the loss of other objects. */
bool removal_group_selects(const struct removal_group *group,
                           const struct removal_resource *resource, const json_t *object);
/* The label selector of a listed group; NULL: none. Belongs to the caller. */
char *removal_group_selector(const struct removal_group *group);

/* live with the annotations and the patch that the entry has for it; equal to live if there is
 * nothing to write. A new reference. */
json_t *removal_prepare(const struct inventory_entry *entry, const json_t *live);
/* "a, b": the finalizers of an object, bounded. NULL: it has none. Belongs to the caller. */
char *removal_finalizers(const json_t *object);
