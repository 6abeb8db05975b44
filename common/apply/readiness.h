/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an object is ready, judged by its status. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum readiness_rules {
    /* The rules of the Go deployer: Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet and
     * ReplicationController have rules, all others are ready when they exist. Nothing fails early.
     * Unlike there, a StatefulSet with a partition or with OnDelete becomes ready after a change.
     */
    READINESS_DEFAULT,
    /* The rules of kstatus for every kind, rules for Flux kinds, and early failures. A Job is ready
     * when it has started, and a Pod that cannot be scheduled is waited for, because an autoscaler
     * may add a node. */
    READINESS_STRICT,
};

enum readiness {
    READINESS_READY,
    READINESS_WAITING,
    READINESS_FAILED, /* it cannot become ready without a change: only READINESS_STRICT */
};

struct readiness_verdict {
    enum readiness readiness;
    /* What is missing: "1 of 3 replicas available", "condition Ready is False (BuildFailed)". Has
     * numbers, types and reasons of conditions, but not their messages, which can contain anything.
     * Empty if the object is ready. */
    char reason[256];
};

/* The rules are found by the group and kind of the object, whatever its version. */
struct readiness_verdict readiness_judge(const json_t *object, enum readiness_rules rules);
