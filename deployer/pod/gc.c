/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/gc.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/timestamp.h"
#include "common/kube/list.h"
#include "deployer/controller/gc_judge.h"
#include "deployer/controller/gone.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/owner.h"
#include "deployer/controller/task.h"

enum {
    GC_WORK_MAX = 250, /* of a pass; the next one goes on with the rest */
    GC_INPUT_AGE_MS = 5 * 60 * 1000,
    GC_RETRY_MS = 60 * 1000,
    GC_FIRST_MS = 500
};

enum gc_kind { GC_ITEM, GC_SECRET, GC_POD };

/* Something to look at closer, one after the other. */
struct gc_work {
    struct gc_work *next;
    enum gc_kind kind;
    char *namespace_name, *name; /* of the item */
    char *object, *uid;          /* GC_SECRET, GC_POD */
    bool is_shared;              /* GC_ITEM: another deployer has an item of that name */
    size_t step;
};

struct gc {
    struct controller *controller;
    struct loop_timer timer;
    bool is_running, is_postponed, is_cut; /* cut: there is more than one pass can look at */
    size_t listed;                         /* kinds */
    struct kube_list *list;
    struct kube_call *call;
    void (*next)(struct gc *gc, json_t *object, const struct error *err);
    struct gc_work *work;
    struct gone_list gone;
    struct gone_list kept; /* since the last pass that was not cut: not asked for again */
    size_t gone_before;    /* the pass */
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
    /* Items have several objects, and one look suffices. */
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

/* ---- Items seen going ---- */

void gc_note_gone(struct gc *gc, const char *namespace_name, const char *name)
{
    /* With an identity every object says whose it is. */
    if (!*gc->controller->config->identity)
        gone_add(&gc->gone, namespace_name, name);
}

/* Whether an object of an item that we don't know may be looked at. */
static bool is_ours(const struct gc *gc, const json_t *object, const char *namespace_name,
                    const char *name)
{
    switch (owner_of(gc->controller->config, object)) {
    case OWNER_OURS:
        return true;
    case OWNER_UNSAID:
        return gone_has(&gc->gone, namespace_name, name);
    case OWNER_THEIRS:
        break;
    }
    return false;
}

/* ---- The end of a pass ---- */

static void finish(struct gc *gc, const struct error *err)
{
    bool has_error = err && err->kind != ERROR_NONE;
    /* What is kept must not be all that is ever looked at. */
    bool goes_on = gc->is_cut && !has_error && gc->kept.count < GONE_MAX;
    bool is_whole = !gc->is_postponed && !has_error;

    while (gc->work)
        drop_work(gc);
    /* What went meanwhile may have been listed too early. */
    if (is_whole && !gc->is_cut && gc->gone.count == gc->gone_before)
        gone_clear(&gc->gone);
    gc->is_running = false;
    gc->controller->metrics.collected += gc->removed;
    if (has_error)
        log_error("garbage collection broke off", log_text("error", err->text));
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
        (void)error_set(&err, ERROR_CANCELLED, "another process leads now");
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
    for (const struct pod_entry *entry = record ? record->pods : NULL; entry; entry = entry->next) {
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
    /* Any doubt keeps. */
    if (err->kind != ERROR_NOT_FOUND || (record && record->is_known)) {
        keep_item(gc);
        return;
    }
    if (has_pods(gc, record)) {
        /* The pod first: it may still be running. The rest goes with the next pass, soon. */
        gc->is_postponed = true;
        task_offer(gc->controller, record, NULL);
        record->task->is_gone_sure = true;
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

/* ---- Finding it ---- */

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

    if (record->task)
        return;
    for (const struct pod_entry *entry = record->pods; entry; entry = entry->next) {
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
        !controller->is_pods_synced || !controller_may_write(controller))
        return;
    loop_timer_stop(&gc->timer);
    gc->is_running = true;
    gc->removed = 0;
    gc->gone_before = gc->gone.count;
    /* Orphaned pods hold a run's inputs and are looked after even if collecting is off. */
    gc->listed = controller->config->is_collecting ? 0 : array_length(kinds);
    index_each(controller->index, find_pods, gc);
    next_step(gc);
}

void gc_prompt(struct gc *gc)
{
    /* What was just listed is looked after by its own tasks first. A pass that found that we did
     * not lead set no time for the next one. */
    if (!gc->is_running && !loop_timer_is_running(&gc->timer))
        loop_timer_start(&gc->timer, GC_FIRST_MS);
}

struct gc *gc_new(struct controller *controller)
{
    struct gc *gc = xcalloc(1, sizeof(*gc));

    gc->controller = controller;
    loop_timer_init(&gc->timer, controller->loop, start_pass, gc);
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
