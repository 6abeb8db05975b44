/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job: what it made is brought home, why it failed is told, and phase and
 * jobIDFinished are one write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/status.h"
#include "deployer/controller/act.h"
#include "deployer/controller/events.h"
#include "deployer/controller/export.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/report.h"
#include "deployer/item/text.h"

/* Of the log some lines are asked for, whatever their length: with limitBytes an API server gives
 * the first of these bytes, not the last. So much of their end is kept to mask secrets in, so much
 * of that is told. */
enum { LOG_KEPT_BYTES = 16 * 1024, LOG_BYTES_MAX = 2048 };

/* A kubelet that lives answers within a fraction of this. One that does not, on a node that is
 * lost, must not keep the job from ending, nor its turn from others. */
enum { LOG_PATIENCE_MS = 5000 };

static void on_finished(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    if (task->is_event_due)
        events_tell_error(task);
    act_note_end(task, task->item->status, task->operation);
    task_done(task);
}

static struct pod_entry *pod_of_job(const struct task *task)
{
    enum pod_claim claim = POD_ABSENT;
    struct pod_entry *entry = task_pod(task, &claim);

    return claim == POD_OF_JOB ? entry : NULL;
}

/* A pod of the Go deployer is the job's only until that is finished. */
static void write_end(struct task *task, json_t *status, const char *phase)
{
    task->operation = task_operation(task);
    report_finish(task, status, phase);
    report_write(task, status, on_finished);
}

/* ---- Success ---- */

static void finish_well(struct task *task, bool has_export)
{
    struct pod_entry *entry = pod_of_job(task);
    cleanup_json json_t *pod = NULL;
    json_t *status = report_base(task);
    json_t *provider = NULL;

    if (!entry) {
        json_decref(status);
        task_done(task);
        return;
    }
    pod = hidden_from_pod(entry->pod, &task->hidden);
    provider = status_provider(pod, task_operation(task), task->item->job, NULL, NULL);
    if (task->access_mark)
        doc_set_text(provider, "access", task->access_mark);
    doc_set_new(status, "providerStatus", provider);
    status_set_conditions(status, pod, controller_now_unix_ms(task->controller));
    status_clear_error(status);
    if (has_export) {
        doc_set_text(status, "exportRef.name", task->names.item_export);
        doc_set_text(status, "exportRef.namespace", task->record->namespace_name);
    } else {
        (void)json_object_del(status, "exportRef");
    }
    write_end(task, status, PHASE_SUCCEEDED);
}

/* Told to the user, and tried again until the job's time is over. */
static void export_failed(struct task *task, const struct error *err)
{
    struct error cause = *err;

    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, "Complete", "SyncExport", &cause, NULL);
}

static void on_export_removed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND)
        export_failed(task, err);
    else
        finish_well(task, false);
}

/* This run exported nothing: what an earlier one did must not pass for its result. */
static void finish_without_export(struct task *task)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->names.item_export,
                                   .grace_seconds = -1,
                                   .is_unread = true};

    if (task->item->has_export)
        task_request(task, task->controller->landscaper, &request, on_export_removed);
    else
        finish_well(task, false);
}

static void on_export_written(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    /* Nobody can read an export in a namespace that goes, with its item: the run ends without. */
    if (task->item->is_deleting && kube_is_namespace_going(err))
        finish_well(task, false);
    else if (err->kind != ERROR_NONE)
        export_failed(task, err);
    else
        finish_well(task, true);
}

static json_t *home_secret(const struct task *task, const json_t *export)
{
    return json_pack("{s:s,s:s,s:{s:s,s:s,s:[{s:s,s:s,s:s,s:s,s:b,s:b}]},s:s,s:O}", "apiVersion",
                     "v1", "kind", "Secret", "metadata", "name", task->names.item_export,
                     "namespace", task->record->namespace_name, "ownerReferences", "apiVersion",
                     LANDSCAPER_API_VERSION, "kind", KIND_DEPLOY_ITEM, "name", task->record->name,
                     "uid", task->record->uid, "controller", 1, "blockOwnerDeletion", 1, "type",
                     SECRET_TYPE_OPAQUE, "data", json_object_get(export, "data"));
}

static void on_export(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_of_job(task);
    cleanup_json json_t *secret = NULL;
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->names.item_export,
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        export_failed(task, err);
        return;
    }
    if (!entry) {
        task_done(task);
        return;
    }
    if (err->kind == ERROR_NOT_FOUND ||
        !export_is_of(object, entry->pod, task->item->job, task->record->name)) {
        finish_without_export(task);
        return;
    }
    /* Main may have said what it exports. */
    hidden_add_secret(&task->hidden, object);
    secret = home_secret(task, object);
    request.body = secret;
    task_request(task, task->controller->landscaper, &request, on_export_written);
}

static void read_export(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);
    const char *name = entry ? object_annotation(entry->pod, ANNOTATION_EXPORT_NAME) : NULL;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = name ? name : task->names.host_export};

    task_request(task, task->controller->host, &request, on_export);
}

void act_complete(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (!entry)
        task_done(task);
    else if (hidden_has_words(entry->pod))
        act_read_hidden(task, entry, true, read_export);
    else
        read_export(task);
}

/* ---- Failure ---- */

static void set_cause(struct task *task, json_t *status, const char *operation, const char *reason,
                      const char *message, const char *code)
{
    struct status_error error = {
        .operation = operation, .reason = reason, .message = message, .codes = {code}};

    task->is_event_due = status_set_error(status, &error, controller_now_unix_ms(task->controller));
}

/* What the job's time went by with. Belongs to the caller; NULL: nobody knows. */
static char *timeout_detail(const struct task *task, const struct pod_verdict *verdict)
{
    const struct pod_entry *entry = pod_of_job(task);
    const char *container = entry ? pod_running_container(entry->pod) : NULL;
    cleanup_pod_verdict struct pod_verdict running = {0};

    if (task->fault.state != FAULT_NONE)
        return xstrdup(task->fault.message);
    if (!container)
        return verdict ? pod_verdict_message(verdict, task->log_tail) : report_hindrance(task);
    running.message = xasprintf("%s%scontainer %s was running", verdict ? verdict->message : "",
                                verdict ? "; " : "", container);
    return pod_verdict_message(&running, task->log_tail);
}

static void set_timeout(struct task *task, json_t *status, const struct pod_verdict *verdict)
{
    const char *pass = task_is_delete(task) ? "delete" : "reconcile";
    cleanup_free char *detail = timeout_detail(task, verdict);
    cleanup_free char *message = xasprintf("timeout at: \"container deployer: start %s\"%s%s", pass,
                                           detail ? "; " : "", detail ? detail : "");

    set_cause(task, status, "StandardTimeoutChecker.TimeoutExceeded", "ProgressingTimeout", message,
              CODE_TIMEOUT);
}

static void set_pod_cause(struct task *task, json_t *status, const struct pod_verdict *verdict)
{
    /* Nothing of it is secret any more, and our own words are none of the inputs. */
    cleanup_free char *message = pod_verdict_message(verdict, task->log_tail);

    if (verdict->is_timeout)
        set_timeout(task, status, verdict);
    else
        set_cause(task, status, verdict->operation ? verdict->operation : "RunPod",
                  verdict->reason ? verdict->reason : "PodFailed", message, NULL);
}

static void set_lost(struct task *task, json_t *status, const struct pod_entry *entry)
{
    const json_t *disrupted = entry ? pod_disruption(entry->pod) : NULL;
    /* A pod that is gone altogether is known from the last report. */
    const char *container =
        entry ? pod_running_container(entry->pod)
              : status_running_container(doc_member(task->item->status, "providerStatus"));
    cleanup_free char *message = xasprintf(
        "pod '%s' is gone without a result: %s%s%s%s", entry ? entry->name : task->names.pod,
        doc_text_or(disrupted, "message", "it was deleted, or its node was lost"),
        container ? "; container " : "", container ? container : "",
        container ? " was running when it was last seen" : "");

    set_cause(task, status, "RunPod", doc_text_or(disrupted, "reason", "PodLost"), message, NULL);
}

static void set_no_target(struct task *task, json_t *status)
{
    cleanup_free char *message =
        xasprintf("setting deploy item to failed due to missing target: there is no Target '%s' in "
                  "namespace '%s'",
                  item_effective_target(task->item), task->record->namespace_name);

    set_cause(task, status, "reconcilePrivate", "NoTargetFound", message, NULL);
}

static void set_failure(struct task *task, json_t *status, const struct pod_entry *entry,
                        const struct pod_verdict *verdict)
{
    switch (task->cause) {
    case CAUSE_FAULT:
        set_cause(task, status, task->fault.operation, task->fault.reason, task->fault.message,
                  task->fault.code);
        break;
    case CAUSE_NO_TARGET:
        set_no_target(task, status);
        break;
    case CAUSE_NO_CONFIG:
        set_cause(task, status, "reconcile", "ProviderConfigurationMissing",
                  "provider configuration missing", CODE_CONFIGURATION_PROBLEM);
        break;
    case CAUSE_TIMEOUT:
        set_timeout(task, status, verdict->operation ? verdict : NULL);
        break;
    case CAUSE_POD:
        set_pod_cause(task, status, verdict);
        break;
    case CAUSE_POD_LOST:
    case CAUSE_NONE:
        set_lost(task, status, entry);
        break;
    }
}

static void finish_badly(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);
    cleanup_json json_t *pod = entry ? hidden_from_pod(entry->pod, &task->hidden) : NULL;
    cleanup_pod_verdict struct pod_verdict verdict = {0};
    int64_t now = controller_now_unix_ms(task->controller);
    json_t *status = report_base(task);

    if (pod) {
        pod_judge(pod, task->controller->config, task_now_unix_ms(task), entry->stuck_since_unix_ms,
                  &verdict);
        doc_set_new(status, "providerStatus",
                    status_provider(pod, task_operation(task), NULL, &verdict, task->log_tail));
        status_set_conditions(status, pod, now);
    }
    set_failure(task, status, entry, &verdict);
    write_end(task, status, status_failed_phase(task->item->is_deleting));
}

/* The end of the log, from the beginning of a line if there is one. */
static char *last_lines(const char *text)
{
    size_t size = strlen(text);
    size_t start = text_tail(text, size, LOG_BYTES_MAX);
    const char *line = start ? strchr(text + start - 1, '\n') : NULL;

    return xstrdup(line && line[1] ? line + 1 : text + start);
}

static void set_log_tail(struct task *task)
{
    const char *text = json_string_value(task->log);
    cleanup_free char *masked = text ? hidden_mask(&task->hidden, text) : NULL;

    /* Without the inputs nobody can tell what is secret in the log, so it is not shown. */
    if (!hidden_is_all_known(&task->hidden))
        task->log_tail = hidden_mask(&task->hidden, "");
    else if (task->is_log_late)
        task->log_tail = xstrdup("(the log of main did not come in time)");
    else if (masked)
        task->log_tail = last_lines(masked);
}

static void on_hidden(struct task *task)
{
    if (pod_of_job(task) && task->controller->config->log_tail_lines > 0)
        set_log_tail(task);
    finish_badly(task);
}

/* The log first: a chain that waits for it then holds none of what there is to hide. */
static void read_hidden(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);

    if (entry)
        act_read_hidden(task, entry, true, on_hidden);
    else
        finish_badly(task);
}

static void on_log(struct task *task, json_t *object, const struct error *err)
{
    /* A log that can't be read (the node is gone) must not keep the job from ending. */
    task->log = json_incref(object);
    task->is_log_late = err->os == ETIMEDOUT;
    read_hidden(task);
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
                                   .timeout_ms = LOG_PATIENCE_MS,
                                   .is_not_retried = true};

    task_request(task, task->controller->host, &request, on_log);
}

/* Once it did not come in time, a chain that begins again does not wait for it a second time. */
static void tell_words(struct task *task, const struct pod_entry *entry)
{
    if (task->controller->config->log_tail_lines <= 0 || task->is_log_late ||
        !hidden_may_have_spoken(entry->pod))
        read_hidden(task);
    else
        read_log(task, entry);
}

void act_fail(struct task *task)
{
    struct pod_entry *entry = pod_of_job(task);
    const char *running = entry ? pod_running_container(entry->pod) : NULL;
    bool is_main_late =
        task->cause == CAUSE_TIMEOUT && running && strcmp(running, CONTAINER_MAIN) == 0;
    cleanup_pod_verdict struct pod_verdict verdict = {0};

    if (entry)
        pod_entry_judge(entry, task, &verdict);
    if (entry && (verdict.is_main_failed || verdict.is_injected || is_main_late ||
                  hidden_has_words(entry->pod)))
        tell_words(task, entry);
    else
        finish_badly(task);
}
