/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on the pod of an item: verify that it is gone, end it, remove it. */
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

/* ---- End ---- */

/* The pod of the chain under way; NULL: it is gone. */
static struct pod_entry *present_pod(const struct task *task)
{
    return record_find_pod(task->record, pod_task(task)->chain.pod_name);
}

static void remember_pod(struct task *task, const struct pod_entry *entry)
{
    pod_task(task)->chain.pod_name = xstrdup(entry->name);
}

static void forget_pod(struct task *task)
{
    struct pod_entry *entry = present_pod(task);

    if (entry)
        record_remove_pod(task->record, entry);
}

/* is_read: the pod in the answer is wanted. */
static void delete_pod(struct task *task, const struct pod_entry *entry, int64_t grace_seconds,
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

static void on_ended(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = present_pod(task);

    if (err->kind == ERROR_NOT_FOUND) {
        forget_pod(task);
        task_done(task);
        return;
    }
    /* Also for a conflict: another pod has the name now, which the watch will deliver, or somebody
     * else wrote at the same time. */
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot end the pod", err);
        return;
    }
    if (entry)
        entry->is_ended = true;
    if (strcmp(doc_text_or(object, "kind", ""), "Pod") == 0)
        pods_see(pod_engine(task), object);
    task_done(task);
}

/* If the patch is rejected, the pod is deleted, because it must not run on. */
static void on_stopped(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = present_pod(task);

    if (err->kind == ERROR_NOT_FOUND || !entry) {
        forget_pod(task);
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        delete_pod(task, entry, -1, true, on_ended);
        return;
    }
    entry->is_stopped = true;
    pods_see(pod_engine(task), object);
    task_done(task);
}

/* Makes the kubelet end the pod, with its grace period, and keeps the pod. */
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
                                   .skipped_members = POD_SKIPPED_MEMBERS};

    task_request(task, task->controller->host, &request, on_stopped);
}

static void on_state_secret(void *data, const json_t *object, const struct error *err)
{
    struct task *task = data;

    (void)err;
    pod_add_state(task, &pod_task(task)->chain.inputs.state, object);
}

static size_t last_chunk_count(const struct state_set *set)
{
    return set->generation_count > 0 ? set->generations[0].chunk_count : 0;
}

static void on_state(void *data, const char *resource_version, const struct error *err)
{
    struct task *task = data;
    struct state_set *set = &pod_task(task)->chain.inputs.state;
    const struct pod_entry *entry = present_pod(task);
    size_t chunks = SIZE_MAX;

    (void)resource_version;
    task->chain.list = NULL;
    if (task->chain.is_changed || !entry) {
        task_done(task);
        return;
    }
    state_set_arrange(set);
    if (err->kind == ERROR_NONE)
        chunks = last_chunk_count(set);
    delete_pod(task, entry, pod_end_seconds(entry->pod, chunks), true, on_ended);
}

static void end_pod(struct task *task, const struct pod_entry *entry)
{
    struct error err = {0};

    /* If nothing runs yet, or nothing will be saved, the size of the state does not matter. */
    if (!doc_text(entry->pod, "spec.nodeName") || pod_wait_has_ended(entry->pod) ||
        pod_list_state(task, on_state_secret, on_state, &err) < 0)
        delete_pod(task, entry, pod_end_seconds(entry->pod, SIZE_MAX), true, on_ended);
}

void pod_end(struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;
    struct pod_entry *entry = pod_of_task(task, &claim);

    if (!entry) {
        task_done(task);
        return;
    }
    log_info("ending pod", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("pod", entry->name));
    remember_pod(task, entry);
    /* Without a node there is no kubelet to end it, and no log worth keeping. */
    if (pod_is_kept(task) && doc_text(entry->pod, "spec.nodeName"))
        stop_pod(task, entry);
    else
        end_pod(task, entry);
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
                                   .skipped_members = POD_SKIPPED_MEMBERS,
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
    struct pod_entry *entry = present_pod(task);

    (void)object;
    if (err->kind == ERROR_NOT_FOUND || !entry) {
        forget_pod(task);
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
    struct pod_entry *entry = present_pod(task);
    /* A kept pod is deleted when a new pod needs its name. */
    bool is_kept = pod_is_kept(task);

    if (!entry) {
        task_done(task);
        return;
    }
    if (is_kept || doc_text(entry->pod, "metadata.deletionTimestamp"))
        drop_finalizer(task, entry);
    else
        delete_pod(task, entry, pod_has_stopped(entry->pod) ? 0 : -1, false, on_deleted);
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
        task_done(task);
        return;
    }
    remember_pod(task, entry);
    clean_run(task);
}
