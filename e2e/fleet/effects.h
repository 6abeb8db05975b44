/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in a cluster after an object was written or removed: a CustomResourceDefinition is
 * established, a namespace ends, owned objects are collected, a workload becomes ready. All but the
 * first only if the cluster has controllers. */
#pragma once

#include "e2e/fleet/cluster.h"

/* To be called after store_put(). record is borrowed and may be replaced by the effects. */
void effects_written(struct cluster *cluster, const struct resource *resource,
                     const struct record *record);
/* To be called after store_remove(), with the removed version. */
void effects_removed(struct cluster *cluster, const struct resource *resource,
                     const struct record *record);

enum removal_policy { REMOVE_BACKGROUND, REMOVE_FOREGROUND, REMOVE_ORPHAN };

/* Deletes an object: removes it, or marks it if it has finalizers. False: it was marked before, or
 * does not exist. */
bool removal_start(struct cluster *cluster, const struct resource *resource,
                   const char *namespace_name, const char *name, enum removal_policy policy);
/* Removes an object that is marked, if nothing holds it any longer. */
bool removal_finish(struct cluster *cluster, const struct resource *resource,
                    const char *namespace_name, const char *name);

/* The same instead of storing object, the next version of it: a watch sees only that the previous
 * version is deleted. False: something holds the object. */
bool removal_replaces(struct cluster *cluster, const struct resource *resource,
                      const char *namespace_name, const char *name, const json_t *object);

/* namespaces.c. A namespace that is marked: removes its objects, and itself when it is empty. */
void namespace_progress(struct cluster *cluster, const char *name);
bool namespace_is_terminating(const struct cluster *cluster, const char *name);
/* definitions.c */
void definition_written(struct cluster *cluster, const struct record *record);
void definition_removed(struct cluster *cluster, const struct record *record);
/* Removes the objects of a definition that is marked, and the definition when none is left. */
void definition_progress(struct cluster *cluster, const char *name);
/* workloads.c */
void workload_written(struct cluster *cluster, const struct resource *resource,
                      const struct record *record);
