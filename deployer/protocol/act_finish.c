/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job: the exports are stored, or the cause of a failure is written; phase and
 * jobIDFinished are one write. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/status.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/report.h"

static void on_finished(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    if (task->chain.is_event_due)
        events_send_error(task);
    act_note_end(task, task->item->status, task_operation(task));
    task_done(task);
}

static void write_end(struct task *task, json_t *status, const char *phase)
{
    report_finish(task, status, phase);
    report_write(task, status, on_finished);
}

/* ---- Success ---- */

static void write_success(struct task *task, bool has_exports)
{
    cleanup_free char *name = act_export_name(task);
    json_t *status = report_base(task);

    task->engine->class->report(task, REPORT_SUCCESS, status);
    status_clear_error(status);
    if (has_exports) {
        doc_set_text(status, "exportRef.name", name);
        doc_set_text(status, "exportRef.namespace", task->record->namespace_name);
    } else {
        (void)json_object_del(status, "exportRef");
    }
    write_end(task, status, PHASE_SUCCEEDED);
}

/* Written to the status, and retried until the job's time is over. */
static void export_failed(struct task *task, const struct error *err)
{
    struct error cause = *err;

    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, "Complete", "SyncExport", &cause, NULL);
}

static void on_export_removed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (!act_is_removed(err)) {
        export_failed(task, err);
        return;
    }
    task->record->is_export_possible = false;
    write_success(task, false);
}

static void on_export_written(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    /* In a namespace that is being deleted nothing can be created, and the exports are not needed:
     * the job ends without them. */
    if (task->item->is_deleting && kube_is_namespace_terminating(err))
        write_success(task, false);
    else if (err->kind != ERROR_NONE)
        export_failed(task, err);
    else
        write_success(task, true);
}

static json_t *export_secret(const struct task *task, const char *name, json_t *exports)
{
    json_t *owner =
        json_pack("{s:s,s:s,s:s,s:s}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                  KIND_DEPLOY_ITEM, "name", task->record->name, "uid", task->record->uid);

    if (!task_traits(task)->is_export_plain) {
        (void)json_object_set_new(owner, "controller", json_true());
        (void)json_object_set_new(owner, "blockOwnerDeletion", json_true());
    }
    return json_pack("{s:s,s:s,s:{s:s,s:s,s:[o]},s:s,s:O}", "apiVersion", "v1", "kind", "Secret",
                     "metadata", "name", name, "namespace", task->record->namespace_name,
                     "ownerReferences", owner, "type", SECRET_TYPE_OPAQUE, "data", exports);
}

void act_complete_with(struct task *task, json_t *exports)
{
    cleanup_free char *name = act_export_name(task);
    cleanup_json json_t *secret = exports ? export_secret(task, name, exports) : NULL;
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = name,
                                   .body = secret,
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    if (exports) {
        task->record->is_export_possible = true;
        task_request(task, task->controller->landscaper, &request, on_export_written);
    } else if (act_has_exports(task)) { /* of an earlier job: not a result of this one */
        act_remove_exports(task, on_export_removed);
    } else {
        write_success(task, false);
    }
}

void act_complete(struct task *task)
{
    task->engine->class->complete(task);
}

/* ---- Failure ---- */

static void set_cause(struct task *task, json_t *status, const char *operation, const char *reason,
                      const char *message, const char *code)
{
    struct status_error error = {
        .operation = operation, .reason = reason, .message = message, .codes = {code}};

    task->chain.is_event_due =
        status_set_error(status, &error, controller_now_unix_ms(task->controller));
}

static void set_timeout(struct task *task, json_t *status, const char *detail)
{
    cleanup_free char *message = xasprintf(
        "timeout at: \"%s: start %s\"%s%s", task_traits(task)->timeout_subject,
        task_is_delete(task) ? "delete" : "reconcile", detail ? "; " : "", detail ? detail : "");

    set_cause(task, status, "StandardTimeoutChecker.TimeoutExceeded", "ProgressingTimeout", message,
              CODE_TIMEOUT);
}

static void set_no_target(struct task *task, json_t *status)
{
    cleanup_free char *message = xasprintf(
        "setting deploy item to failed due to missing target: there is no Target \"%s\" in "
        "namespace \"%s\"%s",
        item_effective_target(task->item), task->record->namespace_name,
        task->item->is_deleting ? "; " ADVICE_SKIP_UNINSTALL : "");

    set_cause(task, status, "reconcilePrivate", "NoTargetFound", message, NULL);
}

static void set_explained(struct task *task, json_t *status, enum explanation_kind kind)
{
    const struct task_fault *fault = &task->known.fault;
    struct explanation explained = {0};

    if (kind == EXPLAIN_TIMEOUT && fault->state != FAULT_NONE)
        explained.message = xstrdup(fault->message);
    else
        task->engine->class->explain(task, kind, &explained);
    if (kind == EXPLAIN_TIMEOUT || explained.is_timeout)
        set_timeout(task, status, explained.message);
    else
        set_cause(task, status, explained.operation ? explained.operation : "RunPod",
                  explained.reason ? explained.reason : "PodFailed", explained.message, NULL);
    free(explained.operation);
    free(explained.reason);
    free(explained.message);
}

static void set_failure(struct task *task, json_t *status)
{
    const struct task_fault *fault = &task->known.fault;

    switch (task->chain.cause) {
    case CAUSE_FAULT:
        set_cause(task, status, fault->operation, fault->reason, fault->message, fault->code);
        break;
    case CAUSE_NO_TARGET:
        set_no_target(task, status);
        break;
    case CAUSE_NO_CONFIG:
        set_cause(task, status, "reconcile", "ProviderConfigurationMissing",
                  "provider configuration missing", CODE_CONFIGURATION_PROBLEM);
        break;
    case CAUSE_TIMEOUT:
        set_explained(task, status, EXPLAIN_TIMEOUT);
        break;
    case CAUSE_EXECUTION:
        set_explained(task, status, EXPLAIN_FAILED);
        break;
    case CAUSE_LOST:
    case CAUSE_NONE:
        set_explained(task, status, EXPLAIN_LOST);
        break;
    }
}

void act_failure_prepared(struct task *task)
{
    json_t *status = report_base(task);

    task->engine->class->report(task, REPORT_FAILURE, status);
    set_failure(task, status);
    write_end(task, status, status_failed_phase(task->item->is_deleting));
}

void act_fail(struct task *task)
{
    if (task->engine->class->prepare_failure)
        task->engine->class->prepare_failure(task);
    else
        act_failure_prepared(task);
}
