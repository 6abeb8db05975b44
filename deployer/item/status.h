/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a DeployItem, piece by piece, from pod JSON. Pure: documents and the time in,
 * documents out. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deployer/config/config.h"
#include "deployer/item/item.h"

/* ---- Errors: lastError, firstError, lastErrors ---- */

enum { STATUS_LAST_ERRORS_MAX = 5, STATUS_MESSAGE_MAX = 4096 };

struct status_error {
    const char *operation, *reason, *message;
    const char *codes[4]; /* NULL at the end */
};

/* Sets lastError by Go's merging rules: lastTransitionTime moves only if the operation changed,
 * lastUpdateTime if anything did; firstError is kept once set; lastErrors grows when the error is
 * new and keeps five. True if it is new, in more than the numbers of its message, which are
 * refreshed: only then an Event is due. The message is cut at STATUS_MESSAGE_MAX and is made valid
 * UTF-8. */
bool status_set_error(json_t *status, const struct status_error *error, int64_t now_unix_ms);
/* After a pass without an error: lastError goes, firstError and lastErrors stay for the job. */
void status_clear_error(json_t *status);
/* At a job's start: all three go. */
void status_reset_errors(json_t *status);
/* Whether codes force the phase Failed or DeleteFailed. */
bool status_is_unrecoverable(const json_t *error);

/* ---- Phases ---- */

bool status_is_final(const char *phase);
bool status_is_failed(const char *phase);
const char *status_failed_phase(bool is_deleting);

/* ---- The pod ---- */

enum pod_outcome {
    POD_WAITING,   /* not all started yet, nothing wrong */
    POD_RUNNING,   /* main runs or has ended, wait has not */
    POD_SUCCEEDED, /* main and wait exited with 0, whatever other containers do */
    POD_FAILED,    /* it ended, and not well */
    POD_STUCK,     /* something is wrong that may pass (image pull, unschedulable): wait until
                    * verdict.give_up_unix_ms, report the reason meanwhile */
    POD_HOPELESS,  /* something is wrong that waiting can't mend (invalid image name) */
};

struct pod_verdict {
    enum pod_outcome outcome;
    const char *operation; /* for lastError: RunInitContainer, RunMainContainer, RunWaitContainer,
                            * RunPod; NULL if nothing is wrong */
    char *container;       /* "init", "main", "wait", one that a webhook injected, or NULL: the pod
                            * as a whole */
    char *reason;          /* kubelet's or scheduler's word, never NULL if something is wrong */
    char *message;         /* for people: container, reason, exit code, signal, kubelet's message */
    bool has_exit_code;
    int64_t exit_code;
    bool is_timeout;            /* killed by activeDeadlineSeconds: ERR_TIMEOUT */
    bool is_main_failed;        /* main itself ran and failed: its log tail is worth having */
    bool is_injected;           /* an injected container failed: its words are none of ours */
    int64_t give_up_unix_ms;    /* POD_STUCK: -1 means only the item's own timeout ends it */
    int64_t look_again_unix_ms; /* deleted, and not ended yet: then it is lost; else -1 */
};

/* What the pod's status says. stuck_since_unix_ms: when the controller first saw POD_STUCK for
 * the same container (or the pod as a whole), or 0 (then now counts). */
void pod_judge(const json_t *pod, const struct deployer_config *config, int64_t now_unix_ms,
               int64_t stuck_since_unix_ms, struct pod_verdict *ret_verdict);
void pod_verdict_done(struct pod_verdict *verdict);
static inline void pod_verdict_donep(struct pod_verdict *verdict)
{
    pod_verdict_done(verdict);
}
#define cleanup_pod_verdict __attribute__((cleanup(pod_verdict_donep)))

/* The condition that says who is about to end the pod, or has: an eviction (drain), a taint, a
 * preemption, the collector of the pods of lost nodes. NULL: nobody. */
const json_t *pod_disruption(const json_t *pod);

/* "main", "init" or "wait": the one at work, the first of them in this order; else, of a pod, the
 * injected one that they wait for; NULL: none. Of a pod (borrowed from it), and of the
 * providerStatus that was made from it. */
const char *pod_running_container(const json_t *pod);
const char *status_running_container(const json_t *provider_status);

/* The message with the last lines of main's log (or NULL) below it, unless it ends with them, at
 * most STATUS_MESSAGE_MAX: of the log, the beginning goes first. Nothing known to be secret is in
 * either any more; what looks so is masked. Belongs to the caller. */
char *pod_verdict_message(const struct pod_verdict *verdict, const char *log_tail);

/* ---- providerStatus and conditions ---- */

/* New reference. pod may be NULL (nothing is known of it any more). last_successful_job may be
 * NULL. verdict and log_tail may be NULL; they fill the superset (podStatus.outcome, mainLogTail).
 */
json_t *status_provider(const json_t *pod, const char *operation, const char *last_successful_job,
                        const struct pod_verdict *verdict, const char *log_tail);

/* Merges InitContainer and WaitContainer into status.conditions by Go's rules. */
void status_set_conditions(json_t *status, const json_t *pod, int64_t now_unix_ms);
