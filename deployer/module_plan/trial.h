/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of one module would do in the cluster, found out by dry runs. Only reads; blocks.
 */
#pragma once

#include "deployer/lifecycle/manager.h"

struct trial {
    struct loop *loop;
    struct cluster *cluster;
    const char *namespace_name; /* of the control plane */
    /* The manager creates the namespace of modules first. */
    bool lacks_namespace;
};

/* The document of deployer/diff for one module, a new reference. manifest: its Manifest, as it is
 * or would be. objects: what is to be in the cluster; NULL: nothing, the module goes. */
int trial_run(const struct trial *trial, const json_t *manifest, const json_t *objects,
              json_t **ret_document, struct error *err) must_check;
