/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a cluster what a lifecycle manager has installed in another one. The name of a cluster is
 * in most of the objects, so copies differ from their originals. */
#pragma once

#include "e2e/fleet/cluster.h"

struct replica {
    const struct cluster *from;
    struct cluster *to, *control_plane; /* three different clusters */
    const char *prefix;                 /* a cluster is named prefix + its number */
    const char *namespace_name;         /* of the objects in the control plane */
    const char *resources;              /* "plural.group,..." */
};

/* Replaces the objects of a cluster by those of another one, and copies those objects of the
 * control plane that have the name of that cluster, or begin with it and "-", up to 64 of each
 * resource. In all copies the
 * name of the cluster is replaced. Objects of clusters keep their uids; those of the control plane
 * get new ones. A resource that the control plane does not serve is ERROR_INVALID. */
int replicate(const struct replica *replica, struct error *err) must_check;
