/* SPDX-License-Identifier: Apache-2.0 */
/* Watches on the objects of modules in a cluster: one for each kind that its modules use, for
 * objects with the label of managed objects. What they show goes to module_on_object() and
 * module_on_list(). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/inventory.h"
#include "common/apply/kinds.h"

struct kyma;

/* is_object_known: whether the object that the watch is for has been seen or applied. If not, the
 * watch needs a list. */
void kind_watch_start(struct kyma *kyma, const char *api_version, const char *kind,
                      const json_t *content, bool is_object_known);
/* Objects, an array, were applied; ref is one of them. Watches their kind from the moment at which
 * they were as they were answered. */
void kind_watch_applied(struct kyma *kyma, const struct object_ref *ref, const struct kind *kind,
                        const json_t *objects);
void kind_watch_stop_all(struct kyma *kyma);
bool kind_watch_is_listed(const struct kyma *kyma, const char *api_version, const char *kind);
