/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/objects.h"
#include "deployer/protocol/task.h"

const char *const POD_SKIPPED_MEMBERS[] = {"metadata.managedFields", "spec.containers",
                                           "spec.initContainers",    "spec.volumes",
                                           "spec.tolerations",       NULL};

/* ---- Entries ---- */

struct pod_entry *record_find_pod(const struct record *record, const char *name)
{
    for (struct pod_entry *entry = record_pods(record); entry; entry = entry->next) {
        if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

struct pod_entry *record_add_pod(struct record *record, const char *name)
{
    struct pod_entry *entry = record_find_pod(record, name);

    if (entry)
        return entry;
    entry = xcalloc(1, sizeof(*entry));
    entry->name = xstrdup(name);
    entry->next = record->tracked;
    record->tracked = entry;
    return entry;
}

static void entry_free(struct pod_entry *entry)
{
    json_decref(entry->pod);
    json_decref(entry->redacted);
    free(entry->stuck_container);
    free(entry->name);
    free(entry);
}

void record_remove_pod(struct record *record, struct pod_entry *entry)
{
    struct pod_entry *first = record_pods(record);

    for (struct pod_entry **place = &first; *place; place = &(*place)->next) {
        if (*place != entry)
            continue;
        *place = entry->next;
        entry_free(entry);
        break;
    }
    record->tracked = first;
}

void record_remove_pods(struct record *record)
{
    while (record->tracked)
        record_remove_pod(record, record->tracked);
}

/* ---- Events ---- */

/* Of the spec, only the node and the grace period are needed. */
static json_t *reduce_pod(const json_t *pod)
{
    json_t *metadata = (json_t *)(uintptr_t)doc_member(pod, "metadata");
    json_t *status = (json_t *)(uintptr_t)doc_member(pod, "status");
    json_t *grace = (json_t *)(uintptr_t)doc_get(pod, "spec.terminationGracePeriodSeconds");
    json_t *reduced = json_object();

    (void)json_object_set(reduced, "metadata", metadata);
    if (status)
        (void)json_object_set(reduced, "status", status);
    if (doc_text(pod, "spec.nodeName"))
        doc_set_text(reduced, "spec.nodeName", doc_text(pod, "spec.nodeName"));
    if (grace)
        doc_set_new(reduced, "spec.terminationGracePeriodSeconds", json_incref(grace));
    return reduced;
}

/* NULL: the pod names no item, or an item that is another engine's. */
static struct record *record_of_pod(const struct pod_engine *engine, const json_t *pod,
                                    bool is_made)
{
    struct index *index = engine->base.controller->index;
    const char *namespace_name = NULL, *name = NULL;
    struct record *record = NULL;

    if (!object_item(pod, &namespace_name, &name))
        return NULL;
    record =
        is_made ? index_add(index, namespace_name, name) : index_find(index, namespace_name, name);
    if (record && !record->is_known && !record->tracked)
        record->engine = engine->base.number;
    return record && record->engine == engine->base.number ? record : NULL;
}

void pods_see(struct pod_engine *engine, const json_t *pod)
{
    struct record *record = record_of_pod(engine, pod, true);
    const char *name = doc_text(pod, "metadata.name");
    uint64_t version = object_version(pod);
    struct pod_entry *entry = NULL;

    if (!record || !name)
        return;
    entry = record_add_pod(record, name);
    entry->epoch = engine->epoch;
    if (entry->pod && version < entry->version)
        return;
    if (entry->pod && strcmp(doc_text_or(entry->pod, "metadata.uid", ""),
                             doc_text_or(pod, "metadata.uid", "")) != 0) {
        entry->is_ended = entry->is_stopped = false;
        entry->ending = (struct pod_ending){0};
        entry->stuck_since_unix_ms = 0;
    }
    json_decref(entry->pod);
    json_decref(entry->redacted);
    entry->redacted = NULL;
    entry->pod = reduce_pod(pod);
    entry->version = version;
    task_wake_record(engine->base.controller, record);
}

static void pod_gone(struct pod_engine *engine, const json_t *pod)
{
    struct record *record = record_of_pod(engine, pod, false);
    struct pod_entry *entry =
        record ? record_find_pod(record, doc_text_or(pod, "metadata.name", "")) : NULL;

    /* A newer pod may have the name already. */
    if (!entry || strcmp(doc_text_or(entry->pod, "metadata.uid", ""),
                         doc_text_or(pod, "metadata.uid", "")) != 0)
        return;
    record_remove_pod(record, entry);
    if (!index_drop_unused(engine->base.controller->index, record))
        task_wake_record(engine->base.controller, record);
}

static void drop_unlisted_pods(void *data, struct record *record)
{
    struct pod_engine *engine = data;
    struct pod_entry *entry = NULL;
    bool is_dropped = false;

    if (record->engine != engine->base.number)
        return;
    entry = record_pods(record);
    while (entry) {
        struct pod_entry *next = entry->next;

        if (entry->epoch != engine->epoch) {
            record_remove_pod(record, entry);
            is_dropped = true;
        }
        entry = next;
    }
    if (is_dropped && record->task)
        task_wake(record->task);
    else
        (void)index_drop_unused(engine->base.controller->index, record);
}

/* What we requested may have been undone by the restore as well. */
static void forget_versions(void *data, struct record *record)
{
    const struct pod_engine *engine = data;

    if (record->engine != engine->base.number)
        return;
    for (struct pod_entry *entry = record_pods(record); entry; entry = entry->next) {
        entry->version = 0;
        entry->is_ended = entry->is_stopped = false;
        entry->ending = (struct pod_ending){0};
    }
    if (record->task)
        task_start_over(record->task);
}

void pods_on_event(void *data, enum kube_event event, const json_t *object, const struct error *err)
{
    struct pod_engine *engine = data;
    struct controller *controller = engine->base.controller;

    metrics_count_event(&controller->metrics, METRICS_PODS);
    switch (event) {
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        if (!err)
            pods_see(engine, object);
        break;
    case KUBE_EVENT_DELETED:
        pod_gone(engine, object);
        break;
    case KUBE_EVENT_LISTING:
        engine->epoch++;
        break;
    case KUBE_EVENT_SYNCED:
        index_each(controller->index, drop_unlisted_pods, engine);
        engine->is_synced = true;
        controller_touch_all(controller);
        break;
    case KUBE_EVENT_BROKEN:
        log_info("watch on pods broke", log_text("error", err->text));
        break;
    case KUBE_EVENT_REWOUND:
        log_error("the API server of the pods was restored to an older state");
        engine->is_synced = false;
        index_each(controller->index, forget_versions, engine);
        break;
    }
}
