/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on the pod of an item: verify that it is gone, remove it. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/objects.h"

static const char *host_namespace(const struct task *task)
{
    return task->controller->config->namespace_name;
}

/* ---- The pod of a chain ---- */

struct pod_entry *pod_of_chain(const struct task *task)
{
    return record_find_pod(task->record, pod_task(task)->chain.pod_name);
}

void pod_chain_set(struct task *task, const struct pod_entry *entry)
{
    pod_task(task)->chain.pod_name = xstrdup(entry->name);
}

void pod_chain_forget(struct task *task)
{
    struct pod_entry *entry = pod_of_chain(task);

    if (entry)
        record_remove_pod(task->record, entry);
}

void pod_delete(struct task *task, const struct pod_entry *entry, int64_t grace_seconds,
                bool is_read, task_next_fn *next)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .name = entry->name,
                                   .uid = doc_text(entry->pod, "metadata.uid"),
                                   .grace_seconds = grace_seconds,
                                   .skipped_members = POD_SKIPPED_MEMBERS,
                                   .is_unread = !is_read};

    task_request(task, task->controller->host, &request, next);
}

/* ---- Verify ---- */

static void verify_next(struct task *task);

static void on_verified(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_NONE && !pod_is_of_other_deployer(task, object)) {
        pods_see(pod_engine(task), object);
        if (record_find_pod(task->record, doc_text_or(object, "metadata.name", ""))) {
            task_done(task);
            return;
        }
    }
    /* A pod of another deployer, or one that names no item, does not count. */
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot read the pod", err);
        return;
    }
    task->chain.step++;
    verify_next(task);
}

/* Reads the pod under our fixed name, and under the one that the Go deployer may have chosen. */
static void verify_next(struct task *task)
{
    const char *last = task->item->last_pod;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .skipped_members = POD_SKIPPED_MEMBERS};

    if (task->chain.step == 0) {
        request.name = pod_task(task)->names.pod;
    } else if (task->chain.step == 1 && last && *last &&
               strcmp(last, pod_task(task)->names.pod) != 0) {
        request.name = last;
    } else {
        pod_task(task)->is_absence_sure = true;
        task_done(task);
        return;
    }
    task_request(task, task->controller->host, &request, on_verified);
}

void pod_verify(struct task *task)
{
    task->chain.step = 0;
    verify_next(task);
}

/* ---- Remove ---- */

static void on_removed(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot remove the pod", err);
        return;
    }
    /* Without our finalizer the pod goes as soon as its kubelet releases it; a kept pod stays. */
    if (err->kind == ERROR_NONE && task->controller->config->is_pod_kept &&
        strcmp(doc_text_or(object, "kind", ""), "Pod") == 0 &&
        !doc_text(object, "metadata.deletionTimestamp"))
        pods_see(pod_engine(task), object);
    else
        pod_chain_forget(task);
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
                                   .skipped_members = POD_SKIPPED_MEMBERS,
                                   .is_unread = !task->controller->config->is_pod_kept};

    if (!object_has_finalizer(entry->pod, FINALIZER_POD)) {
        pod_chain_forget(task);
        task_done(task);
        return;
    }
    task_request(task, task->controller->host, &request, on_removed);
}

static void on_deleted(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_of_chain(task);

    (void)object;
    if (err->kind == ERROR_NOT_FOUND || !entry) {
        pod_chain_forget(task);
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot remove the pod", err);
        return;
    }
    drop_finalizer(task, entry);
}

static void remove_pod(struct task *task)
{
    struct pod_entry *entry = pod_of_chain(task);
    /* A kept pod is deleted when a new pod needs its name. */
    bool is_kept = pod_is_kept(task);

    if (!entry) {
        task_done(task);
        return;
    }
    if (is_kept || !pod_can_be_deleted(entry->pod))
        drop_finalizer(task, entry);
    else
        pod_delete(task, entry, pod_has_stopped(entry->pod) ? 0 : -1, false, on_deleted);
}

/* Our finalizer is removed last: until then the pod tells the next controller that there is
 * something to clean up. */
static void on_run_cleaned(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot remove the inputs of the run", err);
        return;
    }
    pod_task(task)->has_run_objects = false;
    if (pod_task(task)->chain.pod_name)
        remove_pod(task);
    else
        task_done(task);
}

static void clean_run(struct task *task)
{
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = host_namespace(task),
                                   .label_selector = pod_task(task)->names.run_selector,
                                   .is_unread = true};

    task_request(task, task->controller->host, &request, on_run_cleaned);
}

void pod_clean_run(struct task *task)
{
    clean_run(task);
}

void pod_discard(struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;
    struct pod_entry *entry = pod_of_task(task, &claim);

    if (!entry) {
        manifest_drop(task); /* a deletion without a pod */
        task_done(task);
        return;
    }
    pod_chain_set(task, entry);
    clean_run(task);
}
