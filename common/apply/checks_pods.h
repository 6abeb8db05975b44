/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: why a workload failed. Its own status has only a word such as
 * ProgressDeadlineExceeded; the cause is in the states of its pods, which are read once, after the
 * failure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/cluster.h"

enum { CHECK_PODS_MS = 5 * 1000 }; /* how long to wait for them at most */

/* To be initialised with {0}. */
struct check_pods {
    struct follow *follow; /* NULL: nothing is being read */
    char *namespace_name, *selector;
    /* "pod p: container c: ImagePullBackOff": the newest pod with a problem; NULL: none was found
     */
    char *reason;
    char *created; /* when that pod was */
    void (*on_done)(void *data);
    void *data;
};

/* Reads the pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet or Job. Does nothing for other
 * objects and for NULL, and if the pods are not selected by labels alone. on_done is called when
 * all pods were read, or cannot be; never from inside. cluster is borrowed until
 * check_pods_done(). */
void check_pods_start(struct check_pods *pods, struct cluster *cluster, const json_t *workload,
                      void (*on_done)(void *data), void *data);
bool check_pods_is_reading(const struct check_pods *pods);
void check_pods_done(struct check_pods *pods);
