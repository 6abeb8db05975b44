/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a pod's status for its run. No I/O; the time is a parameter. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/config/config.h"

enum pod_outcome {
    POD_WAITING,   /* not all containers have started, nothing is wrong */
    POD_RUNNING,   /* main is running or has ended, wait has not ended */
    POD_SUCCEEDED, /* main and wait exited with 0, whatever other containers do */
    POD_FAILED,    /* it ended without success */
    POD_STUCK,     /* a problem that may resolve itself (image pull, unschedulable): report it, and
                    * give up at verdict.give_up_unix_ms */
    POD_HOPELESS,  /* a problem that does not resolve itself (invalid image name) */
};

struct pod_verdict {
    enum pod_outcome outcome;
    const char *operation; /* for lastError: RunInitContainer, RunMainContainer, RunWaitContainer,
                            * RunPod; NULL if nothing is wrong */
    char *container;       /* "init", "main", "wait" or an injected one; NULL: the pod as a whole */
    char *reason;          /* of the kubelet or scheduler; not NULL if something is wrong */
    char *message;         /* container, reason, exit code, signal, message of the kubelet */
    bool has_exit_code;
    int64_t exit_code;
    bool is_timeout;            /* killed by activeDeadlineSeconds: ERR_TIMEOUT */
    bool is_main_failed;        /* main ran and failed, so its log is of interest */
    bool is_injected;           /* an injected container failed */
    int64_t give_up_unix_ms;    /* POD_STUCK; -1: only the timeout of the item ends it */
    int64_t look_again_unix_ms; /* when a deleted pod counts as lost; -1: it is not deleted */
};

/* Judges the status of a pod. stuck_since_unix_ms is the time when the controller first saw
 * POD_STUCK for the same container (or the pod as a whole), or 0, which means now. */
void pod_judge(const json_t *pod, const struct deployer_config *config, int64_t now_unix_ms,
               int64_t stuck_since_unix_ms, struct pod_verdict *ret_verdict);
void pod_verdict_done(struct pod_verdict *verdict);
static inline void pod_verdict_donep(struct pod_verdict *verdict)
{
    pod_verdict_done(verdict);
}
#define cleanup_pod_verdict __attribute__((cleanup(pod_verdict_donep)))

/* The condition that names who terminates the pod: an eviction (drain), a taint, a preemption, the
 * garbage collector for pods of lost nodes. NULL if there is none. Borrowed. */
const json_t *pod_disruption(const json_t *pod);

/* The running container: "main", "init" or "wait", the first of them in this order, else the
 * injected init container that they wait for. NULL if there is none. Borrowed. */
const char *pod_running_container(const json_t *pod);

/* The message followed by the last lines of main's log (or NULL), unless it ends with them already,
 * at most STATUS_MESSAGE_MAX bytes: the beginning of the log is dropped first. Known secrets must
 * have been redacted in both; what looks like a credential is masked. Belongs to the caller. */
char *pod_verdict_message(const struct pod_verdict *verdict, const char *log_tail);
