/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the ServiceAccount of this pod the owner of its Leases, so that Kubernetes deletes them
 * together with the account. Nothing else could: when a release is uninstalled, its roles are gone
 * before its pods stop. The tokens of the holder and of all other candidates become invalid with
 * the account, so nobody takes a Lease whose holder still works. Private to common/kube. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"

/* An entry of metadata.ownerReferences for Leases in this namespace. Belongs to the caller. NULL if
 * they have no owner: the client does not use the token of a pod, or the account is in another
 * namespace, where the garbage collector would not find it and delete the Lease. */
json_t *lease_owner_new(const struct kube *kube, const char *namespace_name);
/* Adds the owner (NULL: none) to those that the Lease has. */
void lease_owner_add(json_t *lease, json_t *owner);
