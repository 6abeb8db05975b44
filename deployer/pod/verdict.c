/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/verdict.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/status.h"
#include "deployer/pod/exit.h"
#include "deployer/pod/mask.h"
#include "deployer/pod/pull_error.h"
#include "deployer/validation/text.h"

enum {
    KUBELET_MESSAGE_MAX = 2048,
    SAME_END_MAX = 256,
    /* Grace time after the registry has refused an image: a pull Secret or a tag may have been
     * created a moment too late. */
    REFUSED_GRACE_MS = 30 * 1000,
    /* How long a pod may be Terminating after its deletion time. */
    LOST_MARGIN_MS = 60 * 1000,
};

#define OPERATION_POD "RunPod"
#define INIT_STATUSES "initContainerStatuses"
#define STATUSES "containerStatuses"

struct container {
    const char *name, *operation, *list;
};

static const struct container containers[] = {
    /* In the order in which the Go deployer looks for image errors. */
    {CONTAINER_INIT, "RunInitContainer", INIT_STATUSES},
    {CONTAINER_WAIT, "RunWaitContainer", STATUSES},
    {CONTAINER_MAIN, "RunMainContainer", STATUSES},
};
enum { INIT, WAIT, MAIN };

static const json_t *container_status(const json_t *pod, const struct container *container)
{
    const json_t *list = doc_member(doc_member(pod, "status"), container->list);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *status = json_array_get(list, i);

        if (strcmp(doc_text_or(status, "name", ""), container->name) == 0)
            return status;
    }
    return NULL;
}

static const json_t *container_state(const json_t *pod, size_t which, const char *state)
{
    return doc_member(doc_member(container_status(pod, &containers[which]), "state"), state);
}

/* Whether a status is that of a container that an admission webhook injected, which *ret_container
 * then describes. */
static bool is_injected(const json_t *status, const char *list, struct container *ret_container)
{
    const char *name = doc_text_or(status, "name", "");

    for (size_t i = 0; i < array_length(containers); i++) {
        if (strcmp(containers[i].name, name) == 0)
            return false;
    }
    *ret_container = (struct container){.name = name, .operation = OPERATION_POD, .list = list};
    return true;
}

static bool has_main_started(const json_t *pod)
{
    return container_state(pod, MAIN, "running") || container_state(pod, MAIN, "terminated");
}

/* The end of a message of the kubelet, without trailing white space. Belongs to the caller. */
static char *bounded(const char *text)
{
    size_t size = strlen(text);
    size_t start = 0;

    while (size > 0 && strchr(" \t\r\n", text[size - 1]))
        size--;
    start = text_tail(text, size, KUBELET_MESSAGE_MAX);
    return xstrndup(text + start, size - start);
}

static void judge_pod(struct pod_verdict *verdict, enum pod_outcome outcome, const char *reason,
                      const char *message)
{
    cleanup_free char *text = bounded(message);

    verdict->outcome = outcome;
    verdict->operation = OPERATION_POD;
    verdict->reason = xstrdup(*reason ? reason : "PodFailed");
    verdict->message = xasprintf("pod: %s%s%s", verdict->reason, *text ? ": " : "", text);
}

static void judge_terminated(struct pod_verdict *verdict, const struct container *container,
                             const json_t *terminated)
{
    cleanup_free char *exit_text = exit_describe(terminated);
    cleanup_free char *text = bounded(doc_text_or(terminated, "message", ""));
    const char *reason = doc_text_or(terminated, "reason", "");

    verdict->outcome = POD_FAILED;
    verdict->operation = container->operation;
    verdict->container = xstrdup(container->name);
    verdict->reason = xstrdup(*reason ? reason : "Error");
    verdict->has_exit_code = true;
    verdict->exit_code = doc_integer_or(terminated, "exitCode", -1);
    verdict->is_main_failed = strcmp(container->name, CONTAINER_MAIN) == 0;
    verdict->is_injected = strcmp(container->operation, OPERATION_POD) == 0;
    verdict->message =
        xasprintf("container %s: %s, %s%s%s%s", container->name, verdict->reason, exit_text,
                  strcmp(reason, "OOMKilled") == 0 ? ", it used more memory than its limit" : "",
                  *text ? ": " : "", text);
}

static bool has_failed(const json_t *terminated)
{
    return terminated && doc_integer_or(terminated, "exitCode", -1) != 0;
}

/* Whether main and wait have succeeded, so that other containers do not matter. */
static bool is_work_done(const json_t *pod)
{
    const json_t *main_end = container_state(pod, MAIN, "terminated");
    const json_t *wait_end = container_state(pod, WAIT, "terminated");

    return main_end && wait_end && !has_failed(main_end) && !has_failed(wait_end);
}

static const json_t *failed_injected(const json_t *pod, const char *list,
                                     struct container *ret_container)
{
    const json_t *statuses = doc_member(doc_member(pod, "status"), list);

    /* Init containers run one after the other: the last one has failed, and native sidecars before
     * it were terminated because of that. */
    for (size_t i = json_array_size(statuses); i-- > 0;) {
        const json_t *status = json_array_get(statuses, i);
        const json_t *terminated = doc_get(status, "state.terminated");

        if (has_failed(terminated) && is_injected(status, list, ret_container))
            return terminated;
    }
    return NULL;
}

/* The state.terminated of the container that failed first. NULL if none has failed; *ret_container
 * is then unchanged. */
static const json_t *first_failed(const json_t *pod, struct container *ret_container)
{
    static const size_t order[] = {INIT, MAIN, WAIT}; /* wait fails because main failed */
    const json_t *injected = NULL;

    for (size_t i = 0; i < array_length(order); i++) {
        const json_t *terminated = container_state(pod, order[i], "terminated");

        if (has_failed(terminated)) {
            *ret_container = containers[order[i]];
            return terminated;
        }
    }
    /* Once main has started, the init containers have succeeded. */
    if (!has_main_started(pod))
        injected = failed_injected(pod, INIT_STATUSES, ret_container);
    return injected ? injected : failed_injected(pod, STATUSES, ret_container);
}

/* The pod as a whole was terminated; terminated is the state of the affected container, or NULL. */
static void judge_ended(struct pod_verdict *verdict, const char *reason, const char *message,
                        const struct container *container, const json_t *terminated)
{
    struct pod_verdict hit = {0};
    char *text = NULL;

    judge_pod(verdict, POD_FAILED, reason, message);
    if (!terminated)
        return;
    judge_terminated(&hit, container, terminated);
    text = xasprintf("%s; %s", verdict->message, hit.message);
    free(verdict->message);
    verdict->message = text;
    verdict->container = steal(&hit.container);
    verdict->has_exit_code = true;
    verdict->exit_code = hit.exit_code;
    verdict->is_main_failed = hit.is_main_failed;
    verdict->is_injected = hit.is_injected;
    pod_verdict_done(&hit);
}

const json_t *pod_disruption(const json_t *pod)
{
    const json_t *conditions = doc_get(pod, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "type", ""), "DisruptionTarget") == 0 &&
            strcmp(doc_text_or(condition, "status", ""), "True") == 0)
            return condition;
    }
    return NULL;
}

static bool is_before(const char *time, const char *other)
{
    struct error err = {0};
    int64_t time_unix_ms = 0, other_unix_ms = 0;

    return timestamp_parse(time, &time_unix_ms, &err) == 0 &&
           timestamp_parse(other, &other_unix_ms, &err) == 0 && time_unix_ms < other_unix_ms;
}

/* The first cause of a failure. */
static void judge_failed(const json_t *pod, struct pod_verdict *verdict)
{
    struct container container = containers[MAIN];
    const json_t *terminated = first_failed(pod, &container);
    const json_t *disrupted = pod_disruption(pod);
    const char *reason = doc_text_or(pod, "status.reason", "");
    const char *message = doc_text_or(pod, "status.message", "");

    if (*reason) {
        judge_ended(verdict, reason, message, &container, terminated);
        verdict->is_timeout = strcmp(reason, "DeadlineExceeded") == 0;
    } else if (disrupted && !is_before(doc_text_or(terminated, "finishedAt", ""),
                                       doc_text_or(disrupted, "lastTransitionTime", ""))) {
        judge_ended(verdict, doc_text_or(disrupted, "reason", "Evicted"),
                    doc_text_or(disrupted, "message", ""), &container, terminated);
    } else if (terminated) {
        judge_terminated(verdict, &container, terminated);
    } else {
        judge_pod(verdict, POD_FAILED, "PodFailed", message);
    }
}

/* Reasons of waiting containers that mean a problem. */
static const struct {
    const char *reason;
    bool is_hopeless;
} problems[] = {
    {"ErrImagePull", false},
    {"ImagePullBackOff", false},
    {"RegistryUnavailable", false},
    {"ImageInspectError", false},
    {"SignatureValidationFailed", true},
    {"ErrInvalidImageName", true},
    {"InvalidImageName", true},
    {"ErrImageNeverPull", true},
    {"CreateContainerConfigError", false},
    {"CreateContainerError", false},
    {"RunContainerError", false},
    {"PreCreateHookError", false},
    {"PreStartHookError", false},
    {"PostStartHookError", false},
    {"CrashLoopBackOff", false}, /* only native sidecars are restarted */
};

/* Returns false if the container has no problem. */
static bool judge_problem(struct pod_verdict *verdict, const struct container *container,
                          const json_t *waiting, int64_t grace_ms, int64_t since_unix_ms)
{
    const char *reason = doc_text_or(waiting, "reason", "");
    const char *message = doc_text_or(waiting, "message", "");
    cleanup_free char *text = NULL;
    size_t i = 0;

    while (i < array_length(problems) && strcmp(problems[i].reason, reason) != 0)
        i++;
    if (i == array_length(problems))
        return false;
    text = bounded(message);
    if (pull_is_refused(message) && grace_ms > REFUSED_GRACE_MS)
        grace_ms = REFUSED_GRACE_MS;
    verdict->outcome = problems[i].is_hopeless ? POD_HOPELESS : POD_STUCK;
    verdict->operation = container->operation;
    verdict->container = xstrdup(container->name);
    verdict->reason = xstrdup(reason);
    verdict->message =
        xasprintf("container %s: %s%s%s", container->name, reason, *text ? ": " : "", text);
    verdict->give_up_unix_ms = since_unix_ms + grace_ms;
    return true;
}

/* Injected init containers keep main from starting. Problems of the other injected containers are
 * only reported. */
static bool judge_injected(const json_t *pod, const char *list, int64_t grace_ms,
                           int64_t since_unix_ms, struct pod_verdict *verdict)
{
    const json_t *statuses = doc_member(doc_member(pod, "status"), list);
    bool is_in_the_way = strcmp(list, INIT_STATUSES) == 0 && !has_main_started(pod);

    for (size_t i = 0; i < json_array_size(statuses); i++) {
        const json_t *status = json_array_get(statuses, i);
        struct container container = {0};

        if (!is_injected(status, list, &container) ||
            !judge_problem(verdict, &container, doc_get(status, "state.waiting"), grace_ms,
                           since_unix_ms))
            continue;
        if (!is_in_the_way) {
            verdict->outcome = POD_STUCK;
            verdict->give_up_unix_ms = -1;
        }
        return true;
    }
    return false;
}

static bool judge_waiting(const json_t *pod, const struct deployer_config *config,
                          int64_t since_unix_ms, struct pod_verdict *verdict)
{
    int64_t grace_ms = config->image_grace_ms;

    for (size_t which = 0; which < array_length(containers); which++) {
        if (judge_problem(verdict, &containers[which], container_state(pod, which, "waiting"),
                          grace_ms, since_unix_ms))
            return true;
    }
    if (container_state(pod, MAIN, "terminated"))
        return false;
    return judge_injected(pod, INIT_STATUSES, grace_ms, since_unix_ms, verdict) ||
           judge_injected(pod, STATUSES, grace_ms, since_unix_ms, verdict);
}

/* A pod may become schedulable when nodes are added, so only the timeout of the item ends the wait.
 */
static bool judge_scheduling(const json_t *pod, struct pod_verdict *verdict)
{
    const json_t *conditions = doc_get(pod, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "type", ""), "PodScheduled") != 0 ||
            strcmp(doc_text_or(condition, "status", ""), "False") != 0)
            continue;
        judge_pod(verdict, POD_STUCK, doc_text_or(condition, "reason", "Unschedulable"),
                  doc_text_or(condition, "message", ""));
        verdict->give_up_unix_ms = -1;
        return true;
    }
    return false;
}

/* The time after which a deleted pod that its kubelet has not terminated counts as lost, because
 * its node is gone. -1 if the pod is not deleted. */
static int64_t lost_unix_ms(const json_t *pod)
{
    const char *text = doc_text(pod, "metadata.deletionTimestamp");
    struct error err = {0};
    int64_t deleted_unix_ms = 0;

    if (!text || timestamp_parse(text, &deleted_unix_ms, &err) < 0)
        return -1;
    return deleted_unix_ms + LOST_MARGIN_MS;
}

/* The injected init container that our containers wait for: the last one that is running, since
 * native sidecars before it keep running. */
static const char *running_injected(const json_t *pod)
{
    const json_t *statuses = doc_member(doc_member(pod, "status"), INIT_STATUSES);

    for (size_t i = json_array_size(statuses); i-- > 0;) {
        const json_t *status = json_array_get(statuses, i);

        if (doc_get(status, "state.running"))
            return doc_text(status, "name");
    }
    return NULL;
}

const char *pod_running_container(const json_t *pod)
{
    static const size_t order[] = {MAIN, INIT, WAIT};

    for (size_t i = 0; i < array_length(order); i++) {
        if (container_state(pod, order[i], "running"))
            return containers[order[i]].name;
    }
    return has_main_started(pod) ? NULL : running_injected(pod);
}

static void judge_lost(const json_t *pod, struct pod_verdict *verdict)
{
    static const char unconfirmed[] = "the pod was deleted, but its node has not confirmed its end";
    const json_t *disrupted = pod_disruption(pod);
    const char *cause = doc_text_or(disrupted, "message", "");
    const char *running = pod_running_container(pod);
    cleanup_free char *message = xasprintf("%s%s%s%s%s%s", cause, *cause ? ": " : "", unconfirmed,
                                           running ? "; container " : "", running ? running : "",
                                           running ? " was running" : "");

    judge_pod(verdict, POD_FAILED, disrupted ? doc_text_or(disrupted, "reason", "") : "PodLost",
              message);
    verdict->container = running ? xstrdup(running) : NULL;
}

static void judge_active(const json_t *pod, const struct deployer_config *config,
                         int64_t now_unix_ms, int64_t since_unix_ms, struct pod_verdict *verdict)
{
    const json_t *init_end = container_state(pod, INIT, "terminated");
    const json_t *main_end = container_state(pod, MAIN, "terminated");
    const json_t *wait_end = container_state(pod, WAIT, "terminated");

    verdict->look_again_unix_ms = lost_unix_ms(pod);
    if (has_failed(init_end) || (main_end && wait_end)) {
        if (!has_failed(init_end) && is_work_done(pod))
            verdict->outcome = POD_SUCCEEDED; /* an injected sidecar may still be running */
        else
            judge_failed(pod, verdict);
    } else if (verdict->look_again_unix_ms >= 0 && now_unix_ms >= verdict->look_again_unix_ms) {
        judge_lost(pod, verdict);
    } else if (judge_waiting(pod, config, since_unix_ms, verdict) ||
               judge_scheduling(pod, verdict)) {
        return;
    } else if (main_end || container_state(pod, MAIN, "running")) {
        verdict->outcome = POD_RUNNING;
    }
}

void pod_judge(const json_t *pod, const struct deployer_config *config, int64_t now_unix_ms,
               int64_t stuck_since_unix_ms, struct pod_verdict *ret_verdict)
{
    const char *phase = doc_text_or(pod, "status.phase", "");

    *ret_verdict = (struct pod_verdict){
        .outcome = POD_WAITING, .give_up_unix_ms = -1, .look_again_unix_ms = -1};
    bool is_failed = strcmp(phase, "Failed") == 0;

    /* With a reason the pod as a whole was terminated, maybe before main was finished. Without one
     * the phase only summarizes the containers, sidecars included. */
    if (strcmp(phase, "Succeeded") == 0 ||
        (is_failed && !*doc_text_or(pod, "status.reason", "") && is_work_done(pod)))
        ret_verdict->outcome = POD_SUCCEEDED;
    else if (is_failed)
        judge_failed(pod, ret_verdict);
    else
        judge_active(pod, config, now_unix_ms,
                     stuck_since_unix_ms > 0 ? stuck_since_unix_ms : now_unix_ms, ret_verdict);
}

void pod_verdict_done(struct pod_verdict *verdict)
{
    free(verdict->container);
    free(verdict->reason);
    free(verdict->message);
    *verdict = (struct pod_verdict){0};
}

/* Whether both texts have the same end: terminationMessagePolicy FallbackToLogsOnError makes the
 * kubelet put the end of the log into the message, in a different length. */
static bool has_same_end(const char *message, const char *tail)
{
    size_t compared = strlen(tail) < SAME_END_MAX ? strlen(tail) : SAME_END_MAX;

    return strlen(message) >= compared &&
           strcmp(message + strlen(message) - compared, tail + strlen(tail) - compared) == 0;
}

char *pod_verdict_message(const struct pod_verdict *verdict, const char *log_tail)
{
    cleanup_free char *message = mask_text(verdict->message ? verdict->message : "", NULL);
    cleanup_free char *masked = mask_text(log_tail ? log_tail : "", NULL);
    cleanup_free char *tail = bounded(masked);
    size_t size = text_cut(message, strlen(message), STATUS_MESSAGE_MAX);
    size_t start = 0;

    if (!*tail || size + 1 >= STATUS_MESSAGE_MAX || has_same_end(message, tail))
        return xstrndup(message, size);
    start = text_tail(tail, strlen(tail), STATUS_MESSAGE_MAX - size - 1);
    return xasprintf("%s\n%s", message, tail + start);
}
