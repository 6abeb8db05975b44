/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/gc.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/timestamp.h"
#include "common/kube/list.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/gc_judge.h"
#include "deployer/pod/gone.h"
#include "deployer/pod/objects.h"
#include "deployer/pod/owner.h"

enum {
    GC_WORK_MAX = 250, /* per pass; the next pass continues */
    GC_INPUT_AGE_MS = 5 * 60 * 1000,
    GC_RETRY_MS = 60 * 1000,
    GC_FIRST_MS = 500
};

enum gc_kind { GC_ITEM, GC_SECRET, GC_POD };

/* An item or object to be checked; they are processed one after the other. */
struct gc_work {
    struct gc_work *next;
    enum gc_kind kind;
    char *namespace_name, *name; /* of the item */
    char *object, *uid;          /* GC_SECRET, GC_POD */
    bool is_shared;              /* GC_ITEM: another deployer has an item of the same name */
    size_t step;
};

struct gc {
    struct pod_engine *engine;
    struct controller *controller;
    struct loop_timer timer;
    bool is_running, is_postponed, is_cut; /* cut: GC_WORK_MAX was reached */
    size_t listed;                         /* number of kinds that are listed */
    struct kube_list *list;
    struct kube_call *call;
    void (*next)(struct gc *gc, json_t *object, const struct error *err);
    struct gc_work *work;
    struct gone_list gone;
    struct gone_list kept; /* checked and kept since the last complete pass */
    size_t gone_before;    /* gone.count at the start of the pass */
    size_t work_count, removed;
};

static const struct kube_resource *const kinds[] = {
    &KUBE_SECRETS, &KUBE_CONFIG_MAPS, &KUBE_ROLE_BINDINGS, &KUBE_ROLES, &KUBE_SERVICE_ACCOUNTS};

static void next_step(struct gc *gc);

/* ---- Work ---- */

static void work_free(struct gc_work *work)
{
    free(work->namespace_name);
    free(work->name);
    free(work->object);
    free(work->uid);
    free(work);
}

static void add_work(struct gc *gc, enum gc_kind kind, const char *namespace_name, const char *name,
                     const char *object, const char *uid)
{
    struct gc_work *work = NULL;

    if (kind == GC_ITEM && gone_has(&gc->kept, namespace_name, name))
        return;
    /* One check per item is enough for all its objects. */
    for (work = gc->work; work && kind == GC_ITEM; work = work->next) {
        if (work->kind == kind && strcmp(work->name, name) == 0 &&
            strcmp(work->namespace_name, namespace_name) == 0)
            return;
    }
    if (gc->work_count >= GC_WORK_MAX) {
        gc->is_cut = true;
        return;
    }
    work = xcalloc(1, sizeof(*work));
    work->kind = kind;
    work->namespace_name = xstrdup(namespace_name);
    work->name = xstrdup(name);
    work->object = xstrdup_or_null(object);
    work->uid = xstrdup_or_null(uid);
    work->next = gc->work;
    gc->work = work;
    gc->work_count++;
}

static void drop_work(struct gc *gc)
{
    struct gc_work *work = gc->work;

    gc->work = work->next;
    gc->work_count--;
    work_free(work);
}

/* ---- Deleted items ---- */

void gc_note_gone(struct gc *gc, const char *namespace_name, const char *name)
{
    /* With an identity the labels of an object identify its deployer. */
    if (!*gc->controller->config->identity)
        gone_add(&gc->gone, namespace_name, name);
}

/* Whether an object of an unknown item is ours to check. */
static bool is_ours(const struct gc *gc, const json_t *object, const char *namespace_name,
                    const char *name)
{
    return gc_is_ours(gc->controller->config, &gc->gone, object, namespace_name, name);
}

/* ---- The end of a pass ---- */

static void finish(struct gc *gc, const struct error *err)
{
    bool has_error = err && err->kind != ERROR_NONE;
    /* Stop when the list of kept items is full: a new pass would check the same ones again. */
    bool goes_on = gc->is_cut && !has_error && gc->kept.count < GONE_MAX;
    bool is_whole = !gc->is_postponed && !has_error;

    while (gc->work)
        drop_work(gc);
    /* Items that were deleted during the pass may need another one. */
    if (is_whole && !gc->is_cut && gc->gone.count == gc->gone_before)
        gone_clear(&gc->gone);
    gc->is_running = false;
    gc->controller->metrics.collected += gc->removed;
    if (has_error)
        log_error("garbage collection failed", log_text("error", err->text));
    else if (gc->removed)
        log_info("garbage collected", log_number("objects", gc->removed));
    gc->is_cut = false;
    if (goes_on) {
        loop_timer_start(&gc->timer, GC_FIRST_MS);
        return;
    }
    gone_clear(&gc->kept);
    loop_timer_start(&gc->timer,
                     is_whole ? (uint64_t)gc->controller->config->collection_ms : GC_RETRY_MS);
    gc->is_postponed = false;
}

/* ---- Requests ---- */

static void on_answer(void *data, json_t *object, const struct error *err)
{
    struct gc *gc = data;

    gc->call = NULL;
    gc->next(gc, object, err);
}

static void request(struct gc *gc, struct kube *kube, struct kube_request *wanted,
                    void (*next)(struct gc *gc, json_t *object, const struct error *err))
{
    struct error err = {0};

    if (!controller_may_write(gc->controller)) {
        (void)error_set(&err, ERROR_CANCELLED, "no longer the leader");
        finish(gc, &err);
        return;
    }
    wanted->grace_seconds = -1;
    wanted->may_send = controller_may_send;
    wanted->may_send_data = gc->controller;
    wanted->on_done = on_answer;
    wanted->data = gc;
    gc->next = next;
    if (kube_start(kube, wanted, &gc->call, &err) < 0)
        finish(gc, &err);
}

static bool has_failed(const struct error *err)
{
    return err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_CONFLICT;
}

/* ---- An item that may be gone ---- */

static void clean_next(struct gc *gc);

static void on_cleaned(struct gc *gc, json_t *object, const struct error *err)
{
    if (has_failed(err)) {
        finish(gc, err);
        return;
    }
    gc->removed += json_array_size(doc_member(object, "items"));
    gc->work->step++;
    clean_next(gc);
}

static void clean_next(struct gc *gc)
{
    const struct gc_work *work = gc->work;
    const struct deployer_config *config = gc->controller->config;
    const struct owner_item item = {
        .namespace_name = work->namespace_name, .name = work->name, .is_shared = work->is_shared};
    cleanup_owner_collection struct owner_collection collection = {0};
    struct kube_request wanted = {.verb = KUBE_DELETE_COLLECTION,
                                  .namespace_name = config->namespace_name};

    if (!owner_collection_init(&collection, config, &item, work->step)) {
        drop_work(gc);
        next_step(gc);
        return;
    }
    wanted.resource = collection.resource;
    wanted.label_selector = collection.label_selector;
    wanted.field_selector = collection.field_selector;
    request(gc, gc->controller->host, &wanted, on_cleaned);
}

static void on_accounts(struct gc *gc, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE) {
        finish(gc, err);
        return;
    }
    gc->work->is_shared = owner_is_list_shared(gc->controller->config, object, NULL);
    gc->work->step = 0;
    clean_next(gc);
}

static void clean_item(struct gc *gc)
{
    cleanup_free char *selector = owner_item_selector(gc->work->namespace_name, gc->work->name);
    struct kube_request wanted = {.verb = KUBE_LIST,
                                  .resource = KUBE_SERVICE_ACCOUNTS,
                                  .namespace_name = gc->controller->config->namespace_name,
                                  .label_selector = selector};

    request(gc, gc->controller->host, &wanted, on_accounts);
}

static bool has_pods(const struct gc *gc, const struct record *record)
{
    const struct pod_entry *entry = record ? record_pods(record) : NULL;

    for (; entry; entry = entry->next) {
        if (owner_of(gc->controller->config, entry->pod) != OWNER_THEIRS)
            return true;
    }
    return false;
}

static void keep_item(struct gc *gc)
{
    gone_add(&gc->kept, gc->work->namespace_name, gc->work->name);
    drop_work(gc);
    next_step(gc);
}

static void on_item(struct gc *gc, json_t *object, const struct error *err)
{
    const struct gc_work *work = gc->work;
    struct record *record = index_find(gc->controller->index, work->namespace_name, work->name);

    (void)object;
    /* Objects are kept on any doubt: state that is deleted is lost. */
    if (!gc_is_item_gone(work->name, err) || (record && record->is_known)) {
        keep_item(gc);
        return;
    }
    if (has_pods(gc, record)) {
        /* Remove the pod first, since it may still be running. The next pass removes the rest. */
        gc->is_postponed = true;
        task_offer(gc->controller, record, NULL);
        record->task->known.is_gone_sure = true;
        keep_item(gc);
        return;
    }
    clean_item(gc);
}

static void check_item(struct gc *gc)
{
    struct kube_request wanted = {.verb = KUBE_GET,
                                  .resource = KUBE_DEPLOY_ITEMS,
                                  .namespace_name = gc->work->namespace_name,
                                  .name = gc->work->name};

    request(gc, gc->controller->landscaper, &wanted, on_item);
}

/* ---- Single objects ---- */

static void on_object_removed(struct gc *gc, json_t *object, const struct error *err)
{
    (void)object;
    if (has_failed(err)) {
        finish(gc, err);
        return;
    }
    gc->removed++;
    drop_work(gc);
    next_step(gc);
}

static void drop_pod_finalizer(struct gc *gc, const json_t *pod)
{
    cleanup_json json_t *body =
        json_pack("{s:{s:s,s:o}}", "metadata", "uid", gc->work->uid, "finalizers",
                  object_other_finalizers(pod, FINALIZER_POD));
    struct kube_request wanted = {.verb = KUBE_PATCH_MERGE,
                                  .resource = KUBE_PODS,
                                  .namespace_name = gc->controller->config->namespace_name,
                                  .name = gc->work->object,
                                  .body = body};

    request(gc, gc->controller->host, &wanted, on_object_removed);
}

static void on_pod_deleted(struct gc *gc, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_NONE && object_has_finalizer(object, FINALIZER_POD))
        drop_pod_finalizer(gc, object);
    else
        on_object_removed(gc, object, err);
}

static void remove_object(struct gc *gc)
{
    bool is_pod = gc->work->kind == GC_POD;
    struct kube_request wanted = {.verb = KUBE_DELETE,
                                  .resource = is_pod ? KUBE_PODS : KUBE_SECRETS,
                                  .namespace_name = gc->controller->config->namespace_name,
                                  .name = gc->work->object,
                                  .uid = gc->work->uid};

    request(gc, gc->controller->host, &wanted, is_pod ? on_pod_deleted : on_object_removed);
}

/* ---- Search ---- */

static void on_listed_object(void *data, const json_t *object, const struct error *err)
{
    struct gc *gc = data;
    struct controller *controller = gc->controller;
    const char *namespace_name = NULL, *name = NULL;
    const struct record *record = NULL;

    (void)err;
    if (!object_item(object, &namespace_name, &name))
        return;
    record = index_find(controller->index, namespace_name, name);
    if (!record || !record->is_known) {
        if (!is_ours(gc, object, namespace_name, name))
            return;
        add_work(gc, GC_ITEM, namespace_name, name, NULL, NULL);
        return;
    }
    if (owner_of(controller->config, object) == OWNER_THEIRS)
        return;
    if (gc_is_old_input(object, record, controller_now_unix_ms(controller) - GC_INPUT_AGE_MS))
        add_work(gc, GC_SECRET, namespace_name, name, doc_text(object, "metadata.name"),
                 doc_text(object, "metadata.uid"));
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct gc *gc = data;

    (void)resource_version;
    gc->list = NULL;
    if (err->kind != ERROR_NONE) {
        finish(gc, err);
        return;
    }
    gc->listed++;
    next_step(gc);
}

static void list_kind(struct gc *gc)
{
    const struct controller *controller = gc->controller;
    cleanup_free char *identity = name_label_value(controller->config->identity);
    cleanup_free char *selector =
        xasprintf(LABEL_ITEM_NAME "," LABEL_ITEM_NAMESPACE "," LABEL_DEPLOYER_ID "=%s", identity);
    struct kube_list_options options = {.resource = *kinds[gc->listed],
                                        .namespace_name = controller->config->namespace_name,
                                        .label_selector = selector,
                                        .is_metadata_only = true,
                                        .on_item = on_listed_object,
                                        .on_done = on_listed,
                                        .data = gc};
    struct error err = {0};

    if (kube_list_start(controller->host, &options, &gc->list, &err) < 0)
        finish(gc, &err);
}

static void find_pods(void *data, struct record *record)
{
    struct gc *gc = data;

    if (record->task || record->engine != gc->engine->base.number)
        return;
    for (const struct pod_entry *entry = record_pods(record); entry; entry = entry->next) {
        bool is_sure = is_ours(gc, entry->pod, record->namespace_name, record->name);

        if (owner_of(gc->controller->config, entry->pod) == OWNER_THEIRS)
            continue;
        switch (gc_judge_pod(record, entry, is_sure, gc->controller->config->is_pod_kept)) {
        case GC_POD_KEEP:
            break;
        case GC_POD_ASK:
            add_work(gc, GC_ITEM, record->namespace_name, record->name, NULL, NULL);
            break;
        case GC_POD_REMOVE:
            add_work(gc, GC_POD, record->namespace_name, record->name, entry->name,
                     doc_text(entry->pod, "metadata.uid"));
            break;
        }
    }
}

/* ---- The pass ---- */

static void next_step(struct gc *gc)
{
    if (gc->listed < array_length(kinds)) {
        list_kind(gc);
        return;
    }
    if (!gc->work) {
        finish(gc, NULL);
        return;
    }
    if (gc->work->kind == GC_ITEM)
        check_item(gc);
    else
        remove_object(gc);
}

static void start_pass(void *data)
{
    struct gc *gc = data;
    struct controller *controller = gc->controller;

    if (gc->is_running || controller->is_draining || !controller->is_items_synced ||
        !gc->engine->is_synced || !controller_may_write(controller))
        return;
    loop_timer_stop(&gc->timer);
    gc->is_running = true;
    gc->removed = 0;
    gc->gone_before = gc->gone.count;
    /* Orphaned pods use inputs of a run and are removed even if collection is disabled. */
    gc->listed = controller->config->is_collecting ? 0 : array_length(kinds);
    index_each(controller->index, find_pods, gc);
    next_step(gc);
}

void gc_prompt(struct gc *gc)
{
    /* A delay, so that tasks for the listed items start first. A pass that ended because we did not
     * lead has not scheduled the next one. */
    if (!gc->is_running && !loop_timer_is_running(&gc->timer))
        loop_timer_start(&gc->timer, GC_FIRST_MS);
}

struct gc *gc_new(struct pod_engine *engine)
{
    struct gc *gc = xcalloc(1, sizeof(*gc));

    gc->engine = engine;
    gc->controller = engine->base.controller;
    loop_timer_init(&gc->timer, gc->controller->loop, start_pass, gc);
    return gc;
}

void gc_free(struct gc *gc)
{
    if (!gc)
        return;
    kube_list_cancel(gc->list);
    kube_cancel(gc->call);
    loop_timer_stop(&gc->timer);
    while (gc->work)
        drop_work(gc);
    gone_clear(&gc->gone);
    gone_clear(&gc->kept);
    free(gc);
}
