/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/observe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/protocol/task.h"

const char *const OBJECT_SKIPPED_MEMBERS[] = {"metadata.managedFields", NULL};

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
    struct engine *engine = controller->engines[record->engine];

    if (engine->class->item_gone)
        engine->class->item_gone(engine, record->namespace_name, record->name);
    if (controller->listener)
        controller->listener->gone(controller->listener->data, record->namespace_name,
                                   record->name);
    set_known(controller, record, false);
    if (index_drop_unused(controller->index, record))
        return;
    task_offer(controller, record, NULL);
    record->task->known.is_gone_sure = true;
}

static void item_seen(const struct item_source *source, const json_t *object)
{
    struct controller *controller = source->controller;
    cleanup_item struct item *item = NULL;
    struct record *record = NULL;
    struct engine *engine = NULL;
    struct error err = {0};
    uint64_t version = object_version(object);

    if (item_parse(object, &item, &err) < 0) {
        log_error("watch event is not a DeployItem", log_text("error", err.text));
        return;
    }
    record = index_find(controller->index, item->namespace_name, item->name);
    engine = controller_engine_for(controller, item_effective_type(item));
    /* An item whose type has become another engine's is gone for the one that tracks executions of
     * it. */
    if (!engine || (record && record->tracked && record->engine != engine->number)) {
        if (record && record->is_known)
            observe_item_gone(controller, record);
        return;
    }
    if (!record)
        record = index_add(controller->index, item->namespace_name, item->name);
    record->engine = engine->number;
    record->epoch = source->epoch;
    /* The answer to a write of ours can arrive before the watch event. */
    if (record->is_known && strcmp(record->uid, item->uid ? item->uid : "") == 0 &&
        version < record->version)
        return;
    set_known(controller, record, true);
    record->version = version;
    /* A lock belongs to a uid, not to a name. */
    if (record->task && strcmp(record->uid, item->uid ? item->uid : "") != 0)
        record->task->known.has_lock = false;
    (void)snprintf(record->uid, sizeof(record->uid), "%s", item->uid ? item->uid : "");
    task_offer(controller, record, steal(&item));
}

static void drop_unlisted_item(void *data, struct record *record)
{
    const struct item_source *source = data;

    if (source->namespace_name && strcmp(source->namespace_name, record->namespace_name) != 0)
        return;
    if (record->is_known && record->epoch != source->epoch)
        observe_item_gone(source->controller, record);
}

/* The memory that a long list took is returned to the system. */
static void trim_memory(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

static void items_synced(struct item_source *source)
{
    struct controller *controller = source->controller;
    bool are_all_synced = true;

    index_each(controller->index, drop_unlisted_item, source);
    source->is_synced = true;
    for (size_t i = 0; i < controller->source_count; i++)
        are_all_synced &= controller->sources[i].is_synced;
    if (!controller->is_items_synced && are_all_synced)
        log_info("items listed", log_number("items", index_count(controller->index)));
    trim_memory();
    controller->is_items_synced = are_all_synced;
    controller_touch_all(controller);
}

/* The API server counts its versions anew: neither a larger nor an equal one means anything now. */
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
    struct item_source *source = data;
    struct controller *controller = source->controller;
    struct record *record = NULL;

    metrics_count_event(&controller->metrics, METRICS_ITEMS);
    switch (event) {
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        if (err)
            log_error("DeployItem cannot be parsed",
                      log_text("deployItem", doc_text_or(object, "metadata.name", "")),
                      log_text("namespace", doc_text_or(object, "metadata.namespace", "")),
                      log_text("error", err->text));
        item_seen(source, object);
        break;
    case KUBE_EVENT_DELETED:
        record = index_find(controller->index, doc_text_or(object, "metadata.namespace", ""),
                            doc_text_or(object, "metadata.name", ""));
        if (record && record->is_known &&
            strcmp(record->uid, doc_text_or(object, "metadata.uid", "")) == 0)
            observe_item_gone(controller, record);
        break;
    case KUBE_EVENT_LISTING:
        source->epoch++;
        break;
    case KUBE_EVENT_SYNCED:
        items_synced(source);
        break;
    case KUBE_EVENT_BROKEN:
        log_info("watch on items broke", log_text("error", err->text));
        break;
    case KUBE_EVENT_REWOUND:
        log_error("the API server of the items was restored to an older state");
        source->is_synced = controller->is_items_synced = false;
        index_each(controller->index, forget_item_version, controller);
        break;
    }
}

bool observe_item_is_known(void *data, const char *namespace_name, const char *name,
                           const char *resource_version)
{
    const struct item_source *source = data;
    const struct record *record = index_find(source->controller->index, namespace_name, name);
    uint64_t version = 0;

    return record && record->is_known && number_parse(resource_version, UINT64_MAX, &version) &&
           record->version == version;
}
