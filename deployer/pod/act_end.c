/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the pod of an item: asks wait for a snapshot of the state, waits for it as long as there is
 * progress, and deletes the pod. ending.h explains why. A controller that is started in between
 * finds the request in the pod's annotation and goes on from there. */
#include <string.h>

#include "common/base/log.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/objects.h"

/* ---- Delete ---- */

static void on_ended(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_of_chain(task);

    if (err->kind == ERROR_NOT_FOUND) {
        pod_chain_forget(task);
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

/* The pod that a patch was sent for; NULL if it is gone, and then the chain is over. */
static struct pod_entry *pod_after_patch(struct task *task, const struct error *err)
{
    struct pod_entry *entry = pod_of_chain(task);

    if (err->kind != ERROR_NOT_FOUND && entry)
        return entry;
    pod_chain_forget(task);
    task_done(task);
    return NULL;
}

/* If the patch is rejected, the pod is deleted, because it must not run on. */
static void on_stopped(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_after_patch(task, err);

    if (!entry)
        return;
    if (err->kind != ERROR_NONE) {
        pod_delete(task, entry, -1, true, on_ended);
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
                                   .namespace_name = task->controller->config->namespace_name,
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
    const struct pod_entry *entry = pod_of_chain(task);
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
    pod_delete(task, entry, pod_end_seconds(entry->pod, chunks), true, on_ended);
}

/* report: says how large the state is; NULL: unknown. */
static void end_pod(struct task *task, const struct pod_entry *entry,
                    const struct save_report *report)
{
    struct error err = {0};

    log_info("ending pod", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("pod", entry->name));
    if (report && report->is_done) {
        pod_delete(task, entry, pod_end_seconds_after(entry->pod, report), true, on_ended);
        return;
    }
    /* If nothing runs yet, or nothing will be saved, the size of the state does not matter. */
    if (!doc_text(entry->pod, "spec.nodeName") || pod_wait_has_ended(entry->pod) ||
        pod_list_state(task, on_state_secret, on_state, &err) < 0)
        pod_delete(task, entry, pod_end_seconds(entry->pod, SIZE_MAX), true, on_ended);
}

/* ---- Request a snapshot and wait for it ---- */

/* If the patch is rejected, the pod is deleted, because it must not run on. */
static void on_requested(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_after_patch(task, err);

    if (!entry)
        return;
    if (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID) {
        end_pod(task, entry, NULL);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot request a snapshot of the state", err);
        return;
    }
    pods_see(pod_engine(task), object);
    pod_ending_start(task_now_unix_ms(task), &entry->ending);
    task_done(task);
}

static void request_snapshot(struct task *task, const struct pod_entry *entry)
{
    cleanup_json json_t *body = json_pack("{s:{s:s,s:{s:s}}}", "metadata", "uid",
                                          doc_text_or(entry->pod, "metadata.uid", ""),
                                          "annotations", ANNOTATION_END, END_REQUESTED);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = entry->name,
                                   .body = body,
                                   .skipped_members = POD_SKIPPED_MEMBERS};

    log_info("saving the state before the pod is ended", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("pod", entry->name));
    task_request(task, task->controller->host, &request, on_requested);
}

static void on_report(struct task *task, json_t *object, const struct error *err)
{
    struct pod_entry *entry = pod_of_chain(task);
    struct save_report report = {0};

    if (!entry) {
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        entry->ending = (struct pod_ending){0};
        task_back_off(task, "cannot read how far the snapshot of the state is", err);
        return;
    }
    if (err->kind == ERROR_NONE)
        report = save_report_read(object, doc_text(entry->pod, "metadata.uid"));
    if (pod_ending_next(entry->pod, &report, task_now_unix_ms(task), &entry->ending) ==
        POD_ENDING_WAIT)
        task_done(task);
    else
        end_pod(task, entry, &report);
}

static void look_for_report(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = pod_task(task)->names.report};

    task_request(task, task->controller->host, &request, on_report);
}

void pod_end(struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;
    struct pod_entry *entry = pod_of_task(task, &claim);

    if (!entry) {
        manifest_drop(task); /* a deletion without a pod */
        task_done(task);
        return;
    }
    pod_chain_set(task, entry);
    /* Without a node there is no kubelet to end it, and no log worth keeping. */
    if (pod_is_kept(task) && doc_text(entry->pod, "spec.nodeName"))
        stop_pod(task, entry);
    else if (!task->record->is_known || !pod_ending_is_useful(entry->pod))
        /* The item is gone, and with it the state; or there is nothing to save. */
        end_pod(task, entry, NULL);
    else if (!pod_ending_is_requested(entry->pod))
        request_snapshot(task, entry);
    else
        look_for_report(task);
}
