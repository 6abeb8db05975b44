/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the status that describes the pod of a job. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/objects.h"
#include "deployer/pod/provider_status.h"

/* ---- Progress ---- */

/* lastError has no field for the container, only its message names it. All injected containers have
 * the same operation. */
static bool is_about(const json_t *last, const char *container)
{
    cleanup_free char *begin = container ? xasprintf("container %s:", container) : NULL;

    return !begin || strncmp(doc_text_or(last, "message", ""), begin, strlen(begin)) == 0;
}

/* While a kubelet retries a pull it alternates between ErrImagePull and ImagePullBackOff: one
 * problem, one Event. */
static bool is_same_problem(const json_t *last, const struct pod_verdict *verdict)
{
    static const char *const pulls[] = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"};
    const char *reason = doc_text_or(last, "reason", "");
    bool is_last_pull = false, is_pull = false;

    if (strcmp(doc_text_or(last, "operation", ""), verdict->operation) != 0 ||
        !is_about(last, verdict->container))
        return false;
    for (size_t i = 0; i < array_length(pulls); i++) {
        is_last_pull = is_last_pull || strcmp(reason, pulls[i]) == 0;
        is_pull = is_pull || strcmp(verdict->reason, pulls[i]) == 0;
    }
    return (is_last_pull && is_pull) || strcmp(reason, verdict->reason) == 0;
}

static void set_problem(const struct task *task, json_t *status, const struct pod_verdict *verdict)
{
    struct status_error error = {
        .operation = verdict->operation, .reason = verdict->reason, .message = verdict->message};

    if (verdict->outcome != POD_STUCK || !verdict->operation || !verdict->reason)
        status_clear_error(status);
    else if (!is_same_problem(doc_member(status, "lastError"), verdict))
        (void)status_set_error(status, &error, controller_now_unix_ms(task->controller));
}

/* The pod as it may be shown: its texts may quote the inputs of the run. New reference. */
static json_t *shown_pod(const struct task *task, const struct pod_entry *entry,
                         enum report_kind kind)
{
    if (kind != REPORT_PROGRESS)
        return redaction_apply_to_pod(entry->pod, &pod_task(task)->chain.redaction);
    return entry->redacted ? json_incref(entry->redacted)
                           : redaction_apply_to_pod(entry->pod, NULL);
}

void pod_report(struct task *task, enum report_kind kind, json_t *status)
{
    const struct pod_task *known = pod_task(task);
    const struct pod_entry *entry = pod_of_job(task);
    const char *operation = task_operation(task);
    cleanup_json json_t *pod = entry ? shown_pod(task, entry, kind) : NULL;
    cleanup_pod_verdict struct pod_verdict verdict = {0};
    json_t *provider = NULL;

    if (!entry) {
        if (objects_task(task)->run)
            helm_report(task, kind, status, NULL);
        return;
    }
    pod_judge(pod, task->controller->config, task_now_unix_ms(task), entry->stuck_since_unix_ms,
              &verdict);
    if (kind == REPORT_SUCCESS) {
        provider = status_provider(pod, operation, task->item->job, NULL, NULL);
        if (known->access_mark)
            doc_set_text(provider, "access", known->access_mark);
    } else {
        provider = status_provider(pod, operation, NULL, &verdict,
                                   kind == REPORT_FAILURE ? known->chain.log_tail : NULL);
    }
    if (helm_is_item(task))
        helm_report(task, kind, status, provider);
    else
        doc_set_new(status, "providerStatus", provider);
    status_set_conditions(status, pod, controller_now_unix_ms(task->controller));
    if (kind == REPORT_PROGRESS && !manifest_current_run(task))
        set_problem(task, status, &verdict);
}

char *pod_blocker(const struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;
    const struct pod_entry *entry = pod_of_task(task, &claim);
    const char *job = entry ? object_annotation(entry->pod, ANNOTATION_JOB) : NULL;

    /* A pod that is over is gone in a moment. */
    if (!entry || claim != EXECUTION_OF_OTHER_JOB || task->execution.is_over)
        return NULL;
    if (!job)
        return xasprintf("pod \"%s\" of an earlier run has not ended", entry->name);
    return xasprintf("pod \"%s\" of job \"%s\" has not ended", entry->name, job);
}

/* ---- Failures ---- */

/* What the job's time was spent on. Belongs to the caller; NULL: unknown. */
static char *timeout_detail(const struct task *task, const struct pod_entry *entry,
                            const struct pod_verdict *verdict)
{
    const char *log_tail = pod_task(task)->chain.log_tail;
    const char *container = entry ? pod_running_container(entry->pod) : NULL;
    cleanup_pod_verdict struct pod_verdict running = {0};

    if (!container)
        return verdict->operation ? pod_verdict_message(verdict, log_tail) : pod_blocker(task);
    running.message =
        xasprintf("%s%scontainer %s was running", verdict->operation ? verdict->message : "",
                  verdict->operation ? "; " : "", container);
    return pod_verdict_message(&running, log_tail);
}

static void explain_lost(const struct task *task, const struct pod_entry *entry,
                         struct explanation *explanation)
{
    const json_t *disrupted = entry ? pod_disruption(entry->pod) : NULL;
    /* If the pod is gone, the last report names the container. */
    const char *container =
        entry ? pod_running_container(entry->pod)
              : status_running_container(doc_member(task->item->status, "providerStatus"));

    explanation->message =
        xasprintf("pod \"%s\" is gone without a result: %s%s%s%s",
                  entry ? entry->name : pod_task(task)->names.pod,
                  doc_text_or(disrupted, "message", "it was deleted, or its node was lost"),
                  container ? "; container " : "", container ? container : "",
                  container ? " was running when it was last seen" : "");
    explanation->operation = xstrdup("RunPod");
    explanation->reason = xstrdup(doc_text_or(disrupted, "reason", "PodLost"));
}

void pod_explain(struct task *task, enum explanation_kind kind, struct explanation *explanation)
{
    const struct pod_entry *entry = pod_of_job(task);
    cleanup_json json_t *pod = entry ? shown_pod(task, entry, REPORT_FAILURE) : NULL;
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    if (kind != EXPLAIN_LOST && manifest_current_run(task)) {
        manifest_explain(task, kind, explanation);
        return;
    }
    if (kind == EXPLAIN_LOST) {
        explain_lost(task, entry, explanation);
        return;
    }
    if (pod)
        pod_judge(pod, task->controller->config, task_now_unix_ms(task), entry->stuck_since_unix_ms,
                  &verdict);
    explanation->is_timeout = kind == EXPLAIN_TIMEOUT || verdict.is_timeout;
    if (explanation->is_timeout) {
        explanation->message = timeout_detail(task, entry, &verdict);
        return;
    }
    explanation->operation = xstrdup_or_null(verdict.operation);
    explanation->reason = xstrdup_or_null(verdict.reason);
    explanation->message = pod_verdict_message(&verdict, pod_task(task)->chain.log_tail);
}
