/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a run in a cluster would have read, and writes nothing there. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "deployer/item/bundle.h"

/* item: "NAMESPACE/NAME". Adds the DeployItem, its Target and Context with the Secrets and the
 * ConfigMap that they name; *ret_state is an array of the state Secrets on the host (the same
 * cluster). kubeconfig NULL: as kubectl looks. */
int cluster_read(const char *kubeconfig, const char *item, struct bundle *bundle,
                 json_t **ret_state, struct error *err) must_check;
