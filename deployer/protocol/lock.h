/* SPDX-License-Identifier: Apache-2.0 */
/* The lock between replicas, some of which may be Go deployers: a SyncObject for each item. Used if
 * hpa.maxReplicas allows more than one replica, or if leader election is not permitted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum lock_verdict {
    LOCK_CREATE,    /* there is none */
    LOCK_OURS,      /* held by a pod of our name: also by us before a restart */
    LOCK_TAKE,      /* not held */
    LOCK_ASK_POD,   /* held by a pod that may be gone */
    LOCK_OF_NO_POD, /* held by a process that is not a pod: its end can't be detected */
};

/* sync_object NULL: there is none. own is MY_POD_NAME. Pure. */
enum lock_verdict lock_judge(const json_t *sync_object, const char *own);

/* The SyncObject of an item, new or as a change of an old one. prefix: engine_class.lock_prefix.
 * New reference. */
json_t *lock_object(const json_t *old, const char *namespace_name, const char *item_name,
                    const char *item_uid, const char *prefix, const char *holder,
                    int64_t now_unix_ms);
