/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: is it there, end it, remove it. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/observe.h"

static const char *host_namespace(const struct task *task)
{
    return task->controller->config->namespace_name;
}

/* ---- Is it there? ---- */

static void verify_next(struct task *task);

static void on_verified(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_NONE && !task_is_theirs(task, object)) {
        observe_pod(task->controller, object);
        if (record_find_pod(task->record, doc_text_or(object, "metadata.name", ""))) {
            task_done(task);
            return;
        }
    }
    /* Another deployer's, or one that names no item, is not there for us. */
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_hold(task, "the pod can't be read", err);
        return;
    }
    task->step++;
    verify_next(task);
}

/* Under the fixed name, and under the one that the Go deployer may have given it. */
static void verify_next(struct task *task)
{
    const char *last = task->item->last_pod;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .left_out = POD_LEFT_OUT};

    if (task->step == 0) {
        request.name = task->names.pod;
    } else if (task->step == 1 && last && *last && strcmp(last, task->names.pod) != 0) {
        request.name = last;
    } else {
        task->is_pod_absence_sure = true;
        task_done(task);
        return;
    }
    task_request(task, task->controller->host, &request, on_verified);
}

void act_verify_pod(struct task *task)
{
    task->step = 0;
    verify_next(task);
}

/* ---- End it ---- */

/* The pod that a chain is about may have gone, or another have its name. */
static struct pod_entry *entry_at_hand(const struct task *task)
{
    return record_find_pod(task->record, task->pod_name);
}

static void remember_pod(struct task *task, const struct pod_entry *entry)
{
    task->pod_name = xstrdup(entry->name);
}

static void forget_pod(struct task *task)
{
    struct pod_entry *entry = entry_at_hand(task);

    if (entry)
        record_remove_pod(task->record, entry);
}

/* With its own time to end, unless nobody is left in it who needs that: its name is wanted for the
 * next run. is_told: the answer's pod is wanted, and worth reading. */
static void delete_pod(struct task *task, const struct pod_entry *entry, bool is_told,
                       task_next_fn *next)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .name = entry->name,
                                   .uid = doc_text(entry->pod, "metadata.uid"),
                                   .grace_seconds = pod_has_stopped(entry->pod) ? 0 : -1,
                                   .left_out = POD_LEFT_OUT,
                                   .is_unread = !is_told};

    task_request(task, task->controller->host, &request, next);
}

static void on_ended(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = entry_at_hand(task);

    if (err->kind == ERROR_NOT_FOUND) {
        forget_pod(task);
        task_done(task);
        return;
    }
    /* A conflict, too: another pod has the name by now, which the watch tells, or others wrote at
     * the same time, and it is still there. */
    if (err->kind != ERROR_NONE) {
        task_hold(task, "the pod can't be ended", err);
        return;
    }
    if (entry)
        entry->is_ended = true;
    if (strcmp(doc_text_or(object, "kind", ""), "Pod") == 0)
        observe_pod(task->controller, object);
    task_done(task);
}

/* Refused: then it goes, because it must not run on. */
static void on_stopped(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = entry_at_hand(task);

    if (err->kind == ERROR_NOT_FOUND || !entry) {
        forget_pod(task);
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        delete_pod(task, entry, true, on_ended);
        return;
    }
    entry->is_stopped = true;
    observe_pod(task->controller, object);
    task_done(task);
}

/* Ends the pod and leaves it: the kubelet gives it its grace time here, too. */
static void stop_pod(struct task *task, const struct pod_entry *entry)
{
    cleanup_json json_t *body =
        json_pack("{s:{s:s},s:{s:i}}", "metadata", "uid",
                  doc_text_or(entry->pod, "metadata.uid", ""), "spec", "activeDeadlineSeconds", 1);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .name = entry->name,
                                   .body = body,
                                   .left_out = POD_LEFT_OUT};

    task_request(task, task->controller->host, &request, on_stopped);
}

void act_end_pod(struct task *task)
{
    enum pod_claim claim = POD_ABSENT;
    struct pod_entry *entry = task_pod(task, &claim);

    if (!entry) {
        task_done(task);
        return;
    }
    log_info("pod ended", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("pod", entry->name));
    remember_pod(task, entry);
    /* Without a node there is no kubelet to end it, and no log to keep it for. */
    if (task_keeps_pods(task) && doc_text(entry->pod, "spec.nodeName"))
        stop_pod(task, entry);
    else
        delete_pod(task, entry, true, on_ended);
}

/* ---- Remove it ---- */

static void on_removed(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_hold(task, "the pod can't be removed", err);
        return;
    }
    /* Without a finalizer it goes as soon as its kubelet lets it; a kept one stays. */
    if (err->kind == ERROR_NONE && task->controller->config->is_pod_kept &&
        strcmp(doc_text_or(object, "kind", ""), "Pod") == 0 &&
        !doc_text(object, "metadata.deletionTimestamp"))
        observe_pod(task->controller, object);
    else
        forget_pod(task);
    task_done(task);
}

static void drop_finalizer(struct task *task, const struct pod_entry *entry)
{
    cleanup_json json_t *finalizers = object_other_finalizers(entry->pod, FINALIZER_POD);
    cleanup_json json_t *body =
        json_pack("{s:{s:s,s:O}}", "metadata", "uid", doc_text_or(entry->pod, "metadata.uid", ""),
                  "finalizers", finalizers);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .name = entry->name,
                                   .body = body,
                                   .left_out = POD_LEFT_OUT,
                                   .is_unread = !task->controller->config->is_pod_kept};

    if (!object_has_finalizer(entry->pod, FINALIZER_POD)) {
        forget_pod(task);
        task_done(task);
        return;
    }
    task_request(task, task->controller->host, &request, on_removed);
}

static void on_deleted(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = entry_at_hand(task);

    (void)object;
    if (err->kind == ERROR_NOT_FOUND || !entry) {
        forget_pod(task);
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_hold(task, "the pod can't be removed", err);
        return;
    }
    drop_finalizer(task, entry);
}

static void remove_pod(struct task *task)
{
    struct pod_entry *entry = entry_at_hand(task);
    /* A kept pod goes when its place is needed. */
    bool is_kept = task_keeps_pods(task);

    if (!entry) {
        task_done(task);
        return;
    }
    if (is_kept || doc_text(entry->pod, "metadata.deletionTimestamp"))
        drop_finalizer(task, entry);
    else
        delete_pod(task, entry, false, on_deleted);
}

/* The finalizer goes last: until then the pod says, to whoever comes after us, that there is
 * something to clean up. */
static void on_run_cleaned(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_hold(task, "the run's objects can't be removed", err);
        return;
    }
    task->has_run_objects = false;
    if (task->pod_name)
        remove_pod(task);
    else
        task_done(task);
}

static void clean_run(struct task *task)
{
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = host_namespace(task),
                                   .label_selector = task->names.run_selector,
                                   .is_unread = true};

    task_request(task, task->controller->host, &request, on_run_cleaned);
}

void act_clean_run(struct task *task)
{
    clean_run(task);
}

void act_discard_pod(struct task *task)
{
    enum pod_claim claim = POD_ABSENT;
    struct pod_entry *entry = task_pod(task, &claim);

    if (!entry) {
        task_done(task);
        return;
    }
    remember_pod(task, entry);
    clean_run(task);
}
