/* SPDX-License-Identifier: Apache-2.0 */
/* What is read at the end of a run, and before its problems are reported: the export, main's log,
 * and the values to redact in it. */
#include <errno.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/export.h"
#include "deployer/pod/helm.h"
#include "deployer/protocol/act.h"
#include "deployer/validation/text.h"

/* The log is requested by lines, however long they are: with limitBytes an API server returns the
 * first bytes, not the last. LOG_KEPT_BYTES of the end are kept for redaction, LOG_BYTES_MAX of
 * those are shown. */
enum { LOG_KEPT_BYTES = 16 * 1024, LOG_BYTES_MAX = 2048 };

/* A working kubelet answers within a fraction of this. The kubelet of a lost node must not keep the
 * job from ending, nor occupy a place among the running tasks. */
enum { LOG_TIMEOUT_MS = 5000 };

/* ---- Progress ---- */

static void redact_and_report(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (entry) {
        json_decref(entry->redacted);
        entry->redacted = redaction_apply_to_pod(entry->pod, &pod_task(task)->chain.redaction);
    }
    act_report_prepared(task);
}

void pod_prepare_report(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    /* The kubelet's message about a container that cannot be created quotes its command. The output
     * of main is shown at the end only: wait may still save values that have to be redacted. */
    if (!entry && manifest_current_run(task))
        act_report_prepared(task);
    else if (!entry)
        task_done(task);
    else if (!entry->redacted && redaction_is_needed(entry->pod))
        pod_read_redaction(task, entry, false, redact_and_report);
    else
        act_report_prepared(task);
}

/* ---- Success ---- */

static void on_export(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_of_job(task);

    if (!act_is_removed(err)) {
        struct error cause = *err;

        cause.kind = ERROR_TEMPORARY;
        task_set_fault(task, "Complete", "SyncExport", &cause, NULL);
        return;
    }
    if (!entry) {
        task_done(task);
        return;
    }
    if (err->kind == ERROR_NOT_FOUND ||
        !export_is_of(object, entry->pod, task->item->job, task->record->name)) {
        act_complete_with(task, NULL);
        return;
    }
    /* Main may have printed what it exports. */
    redaction_add_secret(&pod_task(task)->chain.redaction, object);
    act_complete_with(task, json_object_get(object, "data"));
}

static void read_export(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);
    const char *name = entry ? object_annotation(entry->pod, ANNOTATION_EXPORT_NAME) : NULL;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = name ? name : pod_task(task)->names.host_export};

    task_request(task, task->controller->host, &request, on_export);
}

/* Only helm items need steps, after their pods. */
void pod_step(struct task *task)
{
    helm_step(task);
}

void pod_complete(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (manifest_current_run(task))
        helm_complete(task);
    else if (!entry)
        task_done(task);
    else if (redaction_is_needed(entry->pod))
        pod_read_redaction(task, entry, true, read_export);
    else
        read_export(task);
}

/* ---- Failure ---- */

/* The end of the log, from the beginning of a line if there is one. Belongs to the caller. */
static char *last_lines(const char *text)
{
    size_t size = strlen(text);
    size_t start = text_tail(text, size, LOG_BYTES_MAX);
    const char *line = start ? strchr(text + start - 1, '\n') : NULL;

    return xstrdup(line && line[1] ? line + 1 : text + start);
}

static void set_log_tail(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;
    const char *text = json_string_value(chain->log);
    cleanup_free char *masked = text ? redaction_apply(&chain->redaction, text) : NULL;

    /* Without the inputs it is unknown what in the log is secret, so it is not shown. */
    if (!redaction_is_complete(&chain->redaction))
        chain->log_tail = redaction_apply(&chain->redaction, "");
    else if (pod_task(task)->is_log_late)
        chain->log_tail = xstrdup("(the log of main did not arrive in time)");
    else if (masked)
        chain->log_tail = last_lines(masked);
}

static void on_redaction(struct task *task)
{
    if (pod_of_job(task) && task->controller->config->log_tail_lines > 0)
        set_log_tail(task);
    act_failure_prepared(task);
}

/* After the log, so that a chain that waits for the log does not hold all these values. */
static void read_redaction(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (entry)
        pod_read_redaction(task, entry, true, on_redaction);
    else
        act_failure_prepared(task);
}

static void on_log(struct task *task, json_t *object, const struct error *err)
{
    /* A log that cannot be read must not keep the job from ending. */
    pod_task(task)->chain.log = json_incref(object);
    pod_task(task)->is_log_late = err->os == ETIMEDOUT;
    read_redaction(task);
}

static void read_log(struct task *task, const struct pod_entry *entry)
{
    cleanup_free char *query = xasprintf("container=" CONTAINER_MAIN "&tailLines=%lld",
                                         (long long)task->controller->config->log_tail_lines);
    struct kube_request request = {.verb = KUBE_GET,
                                   .lane = KUBE_LANE_SLOW,
                                   .resource = KUBE_PODS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = entry->name,
                                   .subresource = "log",
                                   .query = query,
                                   .is_raw = true,
                                   .is_tail = true,
                                   .body_max = LOG_KEPT_BYTES,
                                   .timeout_ms = LOG_TIMEOUT_MS,
                                   .is_not_retried = true};

    task_request(task, task->controller->host, &request, on_log);
}

/* Texts of the pod or lines of the log will be part of the status. */
static bool is_text_shown(const struct task *task, struct pod_entry *entry)
{
    const char *running = pod_running_container(entry->pod);
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    pod_entry_judge(entry, task, &verdict);
    return verdict.is_main_failed || verdict.is_injected || redaction_is_needed(entry->pod) ||
           (task->chain.cause == CAUSE_TIMEOUT && running && strcmp(running, CONTAINER_MAIN) == 0);
}

void pod_prepare_failure(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (!entry || !is_text_shown(task, entry))
        act_failure_prepared(task);
    /* A log that did not arrive in time is not waited for again when the chain is restarted. */
    else if (task->controller->config->log_tail_lines <= 0 || pod_task(task)->is_log_late ||
             !redaction_has_main_started(entry->pod))
        read_redaction(task);
    else
        read_log(task, entry);
}
