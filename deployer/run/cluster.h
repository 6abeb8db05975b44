/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the documents of an item from a cluster (--from-cluster). Writes nothing there. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "deployer/item/bundle.h"

/* item: "NAMESPACE/NAME". Adds the DeployItem, its Target and Context, and the Secrets and
 * ConfigMap that these name, to bundle; of a manifest item also the Targets that its configuration
 * names. *ret_state is a new reference to an array of the item's state Secrets, which are expected
 * in the same cluster; it stays NULL for a manifest item, which has none. kubeconfig NULL: found
 * like kubectl's. Blocks. */
int cluster_read(const char *kubeconfig, const char *item, struct bundle *bundle,
                 json_t **ret_state, struct error *err) must_check;
