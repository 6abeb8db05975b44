/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/observe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/gc.h"
#include "deployer/controller/objects.h"
#include "deployer/item/provider.h"

const char *const OBJECT_LEFT_OUT[] = {"metadata.managedFields", NULL};
const char *const POD_LEFT_OUT[] = {"metadata.managedFields", "spec.containers",
                                    "spec.initContainers",    "spec.volumes",
                                    "spec.tolerations",       NULL};

/* ---- Items ---- */

static void set_known(struct controller *controller, struct record *record, bool is_known)
{
    if (record->is_known == is_known)
        return;
    record->is_known = is_known;
    index_count_known(controller->index, is_known ? 1 : -1);
}

void observe_item_gone(struct controller *controller, struct record *record)
{
    gc_note_gone(controller->gc, record->namespace_name, record->name);
    set_known(controller, record, false);
    if (!record->task && !record->pods) {
        index_remove(controller->index, record);
        return;
    }
    task_offer(controller, record, NULL);
    record->task->is_gone_sure = true;
}

static void item_seen(struct controller *controller, const json_t *object)
{
    cleanup_item struct item *item = NULL;
    struct record *record = NULL;
    struct error err = {0};
    uint64_t version = object_version(object);

    if (item_parse(object, &item, &err) < 0) {
        log_error("an event holds no item", log_text("error", err.text));
        return;
    }
    record = index_find(controller->index, item->namespace_name, item->name);
    if (!item_type_served(controller->config, item_effective_type(item))) {
        if (record && record->is_known)
            observe_item_gone(controller, record);
        return;
    }
    if (!record)
        record = index_add(controller->index, item->namespace_name, item->name);
    record->epoch = controller->item_epoch;
    /* An answer to a write of ours can overtake the watch. */
    if (record->is_known && strcmp(record->uid, item->uid ? item->uid : "") == 0 &&
        version < record->version)
        return;
    set_known(controller, record, true);
    record->version = version;
    /* A lock is its uid's. */
    if (record->task && strcmp(record->uid, item->uid ? item->uid : "") != 0)
        record->task->has_lock = false;
    (void)snprintf(record->uid, sizeof(record->uid), "%s", item->uid ? item->uid : "");
    task_offer(controller, record, steal(&item));
}

static void drop_unlisted_item(void *data, struct record *record)
{
    struct controller *controller = data;

    if (record->is_known && record->epoch != controller->item_epoch)
        observe_item_gone(controller, record);
}

/* A list of many items must not leave its peak behind. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

static void items_synced(struct controller *controller)
{
    index_each(controller->index, drop_unlisted_item, controller);
    if (!controller->is_items_synced)
        log_info("items listed", log_number("items", index_count(controller->index)));
    give_back_memory();
    controller->is_items_synced = true;
    controller_touch_all(controller);
}

/* Versions are given out anew: neither the largest nor an equal one says anything any more. */
static void forget_item_version(void *data, struct record *record)
{
    (void)data;
    record->version = 0;
    if (record->task)
        task_start_over(record->task);
}

void observe_item_event(void *data, enum kube_event event, const json_t *object,
                        const struct error *err)
{
    struct controller *controller = data;
    struct record *record = NULL;

    metrics_count_event(&controller->metrics, METRICS_ITEMS);
    switch (event) {
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        if (err)
            log_error("an item can't be read",
                      log_text("deployItem", doc_text_or(object, "metadata.name", "")),
                      log_text("namespace", doc_text_or(object, "metadata.namespace", "")),
                      log_text("error", err->text));
        item_seen(controller, object);
        break;
    case KUBE_EVENT_DELETED:
        record = index_find(controller->index, doc_text_or(object, "metadata.namespace", ""),
                            doc_text_or(object, "metadata.name", ""));
        if (record && record->is_known &&
            strcmp(record->uid, doc_text_or(object, "metadata.uid", "")) == 0)
            observe_item_gone(controller, record);
        break;
    case KUBE_EVENT_LISTING:
        controller->item_epoch++;
        break;
    case KUBE_EVENT_SYNCED:
        items_synced(controller);
        break;
    case KUBE_EVENT_BROKEN:
        log_info("watch on items broke", log_text("error", err->text));
        break;
    case KUBE_EVENT_REWOUND:
        log_error("the API server of the items was put back to an older state");
        controller->is_items_synced = false;
        index_each(controller->index, forget_item_version, controller);
        break;
    }
}

bool observe_item_is_known(void *data, const char *namespace_name, const char *name,
                           const char *resource_version)
{
    const struct controller *controller = data;
    const struct record *record = index_find(controller->index, namespace_name, name);
    uint64_t version = 0;

    return record && record->is_known && number_parse(resource_version, UINT64_MAX, &version) &&
           record->version == version;
}

/* ---- Pods ---- */

/* Nothing is decided on the spec but whether a node has it. */
static json_t *reduce_pod(const json_t *pod)
{
    json_t *metadata = (json_t *)(uintptr_t)doc_member(pod, "metadata");
    json_t *status = (json_t *)(uintptr_t)doc_member(pod, "status");
    json_t *reduced = json_object();

    (void)json_object_set(reduced, "metadata", metadata);
    if (status)
        (void)json_object_set(reduced, "status", status);
    if (doc_text(pod, "spec.nodeName"))
        doc_set_text(reduced, "spec.nodeName", doc_text(pod, "spec.nodeName"));
    return reduced;
}

static struct record *record_of_pod(struct controller *controller, const json_t *pod, bool is_made)
{
    const char *namespace_name = NULL, *name = NULL;

    if (!object_item(pod, &namespace_name, &name))
        return NULL;
    return is_made ? index_add(controller->index, namespace_name, name)
                   : index_find(controller->index, namespace_name, name);
}

static void wake_record(struct controller *controller, struct record *record)
{
    if (record->task) {
        task_wake(record->task);
        return;
    }
    /* An open item without a job is another deployer's, and before the items are listed nobody can
     * tell an orphan. */
    if (record->is_known && record->is_finished)
        task_offer(controller, record, NULL);
}

void observe_pod(struct controller *controller, const json_t *pod)
{
    struct record *record = record_of_pod(controller, pod, true);
    const char *name = doc_text(pod, "metadata.name");
    uint64_t version = object_version(pod);
    struct pod_entry *entry = NULL;

    if (!record || !name)
        return;
    entry = record_add_pod(record, name);
    entry->epoch = controller->pod_epoch;
    if (entry->pod && version < entry->version)
        return;
    if (entry->pod && strcmp(doc_text_or(entry->pod, "metadata.uid", ""),
                             doc_text_or(pod, "metadata.uid", "")) != 0) {
        entry->is_ended = entry->is_stopped = false;
        entry->stuck_since_unix_ms = 0;
    }
    json_decref(entry->pod);
    json_decref(entry->told);
    entry->told = NULL;
    entry->pod = reduce_pod(pod);
    entry->version = version;
    wake_record(controller, record);
}

static void pod_gone(struct controller *controller, const json_t *pod)
{
    struct record *record = record_of_pod(controller, pod, false);
    struct pod_entry *entry =
        record ? record_find_pod(record, doc_text_or(pod, "metadata.name", "")) : NULL;

    /* The name may be that of a newer pod already. */
    if (!entry || strcmp(doc_text_or(entry->pod, "metadata.uid", ""),
                         doc_text_or(pod, "metadata.uid", "")) != 0)
        return;
    record_remove_pod(record, entry);
    if (!record->is_known && !record->pods && !record->task)
        index_remove(controller->index, record);
    else
        wake_record(controller, record);
}

static void drop_unlisted_pods(void *data, struct record *record)
{
    struct controller *controller = data;
    struct pod_entry *entry = record->pods;
    bool is_dropped = false;

    while (entry) {
        struct pod_entry *next = entry->next;

        if (entry->epoch != controller->pod_epoch) {
            record_remove_pod(record, entry);
            is_dropped = true;
        }
        entry = next;
    }
    if (is_dropped && record->task)
        task_wake(record->task);
    else if (!record->is_known && !record->pods && !record->task)
        index_remove(controller->index, record);
}

/* Nor is it said that what we asked for was done: that may be undone. */
static void forget_pod_versions(void *data, struct record *record)
{
    (void)data;
    for (struct pod_entry *entry = record->pods; entry; entry = entry->next) {
        entry->version = 0;
        entry->is_ended = entry->is_stopped = false;
    }
    if (record->task)
        task_start_over(record->task);
}

void observe_pod_event(void *data, enum kube_event event, const json_t *object,
                       const struct error *err)
{
    struct controller *controller = data;

    metrics_count_event(&controller->metrics, METRICS_PODS);
    switch (event) {
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        if (!err)
            observe_pod(controller, object);
        break;
    case KUBE_EVENT_DELETED:
        pod_gone(controller, object);
        break;
    case KUBE_EVENT_LISTING:
        controller->pod_epoch++;
        break;
    case KUBE_EVENT_SYNCED:
        index_each(controller->index, drop_unlisted_pods, controller);
        controller->is_pods_synced = true;
        controller_touch_all(controller);
        break;
    case KUBE_EVENT_BROKEN:
        log_info("watch on pods broke", log_text("error", err->text));
        break;
    case KUBE_EVENT_REWOUND:
        log_error("the API server of the pods was put back to an older state");
        controller->is_pods_synced = false;
        index_each(controller->index, forget_pod_versions, controller);
        break;
    }
}
