/* SPDX-License-Identifier: Apache-2.0 */
/* What the control plane and a cluster say about one Kyma. Only reads; blocks. */
#pragma once

#include "deployer/lifecycle/manager.h"

struct observation {
    json_t *kyma, *remote;   /* in the control plane, in the cluster; remote may be NULL */
    json_t *manifests;       /* of this Kyma, by name */
    bool is_own_cluster;     /* the control plane itself: there is no copy of the Kyma */
    bool lacks_namespace;    /* the cluster does not have that of modules yet */
    struct cluster *cluster; /* of the pool of the lifecycle */
};

/* Fills in the catalog of lifecycle, too. */
int observe(struct lifecycle *lifecycle, const char *name, struct observation *ret_observation,
            struct error *err) must_check;
void observation_done(struct observation *observation);
