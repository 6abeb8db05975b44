/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/lock.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/kube/status.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/observe.h"

/* ---- Pure ---- */

enum lock_verdict lock_judge(const json_t *sync_object, const char *own)
{
    const char *holder = doc_text_or(sync_object, "spec.podName", "");

    if (!sync_object)
        return LOCK_CREATE;
    if (!*holder)
        return LOCK_TAKE;
    if (strcmp(holder, own) == 0)
        return LOCK_OURS;
    /* A process outside of a cluster: the Go deployer treats it as a pod that exists. */
    if (strcmp(holder, MY_POD_NAME_DEFAULT) == 0)
        return LOCK_OF_NO_POD;
    return LOCK_ASK_POD;
}

json_t *lock_object(const json_t *old, const char *namespace_name, const char *item_name,
                    const char *item_uid, const char *prefix, const char *holder,
                    int64_t now_unix_ms)
{
    json_t *object = old ? json_deep_copy(old) : json_object();
    cleanup_free char *name = xasprintf("%s-%s", prefix, item_uid);
    char now[TIMESTAMP_MAX] = {0};

    timestamp_format(now_unix_ms, now);
    doc_set_text(object, "apiVersion", LANDSCAPER_API_VERSION);
    doc_set_text(object, "kind", KIND_SYNC_OBJECT);
    doc_set_text(object, "metadata.name", name);
    doc_set_text(object, "metadata.namespace", namespace_name);
    doc_set_text(object, "spec.podName", holder);
    doc_set_text(object, "spec.kind", KIND_DEPLOY_ITEM);
    doc_set_text(object, "spec.name", item_name);
    doc_set_text(object, "spec.prefix", prefix);
    doc_set_text(object, "spec.lastUpdateTime", now);
    return object;
}

/* ---- Requests ---- */

/* The last holder may have written to the item since the last watch event. */
static void on_item(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot read the item", err);
        return;
    }
    task->known.has_lock = true;
    if (err->kind == ERROR_NONE)
        task_take_item(task, object);
    task_done(task);
}

static void locked(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name};

    task_request(task, task->controller->landscaper, &request, on_item);
}

static void read_lock(struct task *task, task_next_fn *next)
{
    cleanup_free char *name =
        xasprintf("%s-%s", task->engine->class->lock_prefix, task->record->uid);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SYNC_OBJECTS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = name};

    task_request(task, task->controller->landscaper, &request, next);
}

static void write_lock(struct task *task, const json_t *old, const char *holder, task_next_fn *next)
{
    cleanup_json json_t *object = lock_object(old, task->record->namespace_name, task->record->name,
                                              task->record->uid, task->engine->class->lock_prefix,
                                              holder, controller_now_unix_ms(task->controller));
    struct kube_request request = {.verb = old ? KUBE_UPDATE : KUBE_CREATE,
                                   .resource = KUBE_SYNC_OBJECTS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = old ? doc_text(object, "metadata.name") : NULL,
                                   .body = object};

    task_request(task, task->controller->landscaper, &request, next);
}

static void not_locked(struct task *task)
{
    task->known.lock_retry_unix_ms = task_now_unix_ms(task) + CONTROLLER_LOCK_RETRY_MS;
    task_done(task);
}

/* In a namespace that is being deleted no SyncObject can be created, by any deployer: the deletion
 * of an item goes on without one. */
static bool is_lock_unneeded(const struct task *task, const struct error *err)
{
    return task->item && task->item->is_deleting && kube_is_namespace_terminating(err);
}

static void on_taken(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind == ERROR_EXISTS || err->kind == ERROR_CONFLICT) {
        not_locked(task);
        return;
    }
    if (is_lock_unneeded(task, err)) {
        log_info("deleting the item without a lock, because its namespace is being deleted",
                 log_text("deployItem", task->record->name),
                 log_text("namespace", task->record->namespace_name));
        locked(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_back_off(task, "cannot lock the item", err);
        return;
    }
    locked(task);
}

static void on_holder(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind == ERROR_NONE) {
        not_locked(task);
        return;
    }
    if (err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot read the pod that holds the lock", err);
        return;
    }
    write_lock(task, task->chain.lock, task->controller->pod_name, on_taken);
}

static void ask_holder(struct task *task, json_t *object)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_PODS,
                                   .namespace_name = task->controller->pod_namespace,
                                   .name = doc_text(object, "spec.podName")};

    json_decref(task->chain.lock);
    task->chain.lock = json_incref(object);
    task_request(task, task->controller->host, &request, on_holder);
}

static void on_read(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        task_back_off(task, "cannot read the lock", err);
        return;
    }
    switch (lock_judge(err->kind == ERROR_NOT_FOUND ? NULL : object, task->controller->pod_name)) {
    case LOCK_CREATE:
        write_lock(task, NULL, task->controller->pod_name, on_taken);
        break;
    case LOCK_OURS:
        locked(task);
        break;
    case LOCK_TAKE:
        write_lock(task, object, task->controller->pod_name, on_taken);
        break;
    case LOCK_ASK_POD:
        ask_holder(task, object);
        break;
    case LOCK_OF_NO_POD:
        not_locked(task);
        break;
    }
}

void act_lock(struct task *task)
{
    read_lock(task, on_read);
}

static void on_released(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_CONFLICT) {
        task_back_off(task, "cannot release the lock", err);
        return;
    }
    task->known.has_lock = false;
    task_done(task);
}

static void on_read_to_release(struct task *task, json_t *object, const struct error *err)
{
    bool is_ours =
        err->kind == ERROR_NONE && lock_judge(object, task->controller->pod_name) == LOCK_OURS;

    if (err->kind != ERROR_NONE || !is_ours)
        on_released(task, object, err);
    else
        write_lock(task, object, "", on_released);
}

void act_unlock(struct task *task)
{
    read_lock(task, on_read_to_release);
}
