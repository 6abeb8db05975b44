/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the documents of the clusters that are looked at now parsed. A list of a cluster has many
 * objects of few modules, and the next list follows soon: parsing the Manifests for each object
 * would be most of the work of a cold start. */
#pragma once

#include <stddef.h>

/* They take up to 200 KB each, for some seconds. With as many as are connected at a time the memory
 * would be twice as much, and hardly any CPU time would be saved. */
enum { DOCUMENTS_CLUSTERS_MAX = 32 };

struct kyma;

/* Zeroed: empty. */
struct documents {
    struct kyma *clusters[DOCUMENTS_CLUSTERS_MAX];
    size_t next; /* place that is used next: the oldest */
};

/* The documents of the cluster are parsed at most once until those of as many others have been
 * held, or all are released. */
void documents_hold(struct documents *documents, struct kyma *kyma);
void documents_release(struct documents *documents, struct kyma *kyma); /* also if not held */
void documents_release_all(struct documents *documents);
