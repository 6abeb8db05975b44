/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an object is ready, judged by its status. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum readiness_rules {
    /* Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet and ReplicationController have rules, all
     * others are ready when they exist. Nothing fails early. */
    READINESS_DEFAULT,
    /* The rules of kstatus for every kind, rules for Flux kinds, and early failures. */
    READINESS_STRICT,
};

enum readiness {
    READINESS_READY,
    READINESS_WAITING,
    READINESS_FAILED, /* it cannot become ready without a change: only READINESS_STRICT */
};

struct readiness_verdict {
    enum readiness readiness;
    char reason[256]; /* what is missing, without values of Secrets: "1 of 3 replicas available" */
};

struct readiness_verdict readiness_judge(const json_t *object, enum readiness_rules rules);
