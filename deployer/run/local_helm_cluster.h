/* SPDX-License-Identifier: Apache-2.0 */
/* What a local run of a helm item asks its cluster. Blocks, with short timeouts. */
#pragma once

#include "common/apply/inventory.h"
#include "common/kube/config.h"
#include "deployer/helm/type_helm.h"
#include "deployer/objects/configuration.h"

/* Makes the arguments of helm, and for a release gives it the kubeconfig. */
int local_helm_ask(const struct kube_config *access, struct helm_situation *situation,
                   struct run_spec *run, struct error *err) must_check;
/* The workloads of the newest revision that is deployed, and the exports from its values (NULL: the
 * item has none), which belong to the caller. */
int local_helm_read_release(const struct kube_config *access, const struct helm_config *helm,
                            const struct manifest_config *config, struct inventory *ret_objects,
                            json_t **ret_exports, struct error *err) must_check;
