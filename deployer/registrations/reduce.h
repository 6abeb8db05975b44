/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an object that is kept in memory. A thousand environments with five deployers each are
 * twenty thousand objects, so large members are replaced by their hashes. Pure. */
#pragma once

#include <jansson.h>

/* All return new references. */

/* Of the spec only the release name and a hash for each member that a pair sets. */
json_t *reduce_installation(const json_t *installation);
/* The spec of a host Target, which is owned by its Environment. Of other Targets a hash of the
 * cluster in the kubeconfig, and whether it has a token; never the token itself. */
json_t *reduce_target(const json_t *target);
json_t *reduce_account(const json_t *account);
json_t *reduce_binding(const json_t *binding);
json_t *reduce_item(const json_t *item);
json_t *reduce_lease(const json_t *lease);

/* Hash of a member of an Installation's spec: "" if it is absent. spec: whole or reduced. Members
 * that mean the same have the same hash. Belongs to the caller. */
char *reduce_member_hash(const json_t *spec, const char *member);
/* Hash of the "cluster" of a kubeconfig. Belongs to the caller. */
char *reduce_cluster_hash(const json_t *cluster);
/* The same for the text of a kubeconfig; NULL: it has no cluster, or neither a token nor a file with
 * one. Belongs to the caller. */
char *reduce_kubeconfig_hash(const char *kubeconfig);
/* The hash for a Target, whole or reduced; NULL: no kubeconfig with a cluster and a token. Belongs
 * to the caller. */
char *reduce_target_hash(const json_t *target);

/* Members of an Installation's spec that a pair sets, NULL at the end. */
extern const char *const REDUCE_MEMBERS[];
