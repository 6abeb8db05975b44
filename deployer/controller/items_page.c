/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/items_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/controller/items_timeline.h"
#include "deployer/item/item.h"
#include "deployer/item/status.h"
#include "deployer/page/page.h"
#include "deployer/status/view.h"

enum { RECENT_MS = HISTORY_MINUTES * 60 * 1000 };

enum state {
    STATE_PENDING,
    STATE_PROGRESSING,
    STATE_SUCCEEDED,
    STATE_FAILED,
    STATE_DELETING,
    STATE_DELETE_FAILED,
    STATE_IDLE,
};

static const struct page_kind kinds[] = {
    {.name = "items",
     .title = "Items",
     .type_title = "Type",
     .namespace_title = "Namespace",
     .states = {[STATE_PENDING] = {"Pending", "idle"},
                [STATE_PROGRESSING] = {"Progressing", "busy"},
                [STATE_SUCCEEDED] = {"Succeeded", "good"},
                [STATE_FAILED] = {"Failed", "bad"},
                [STATE_DELETING] = {"Deleting", "busy"},
                [STATE_DELETE_FAILED] = {"DeleteFailed", "bad"},
                [STATE_IDLE] = {"Idle", "idle"}}},
};

struct items_page {
    struct controller *controller;
    struct page *page;
    struct item_listener listener;
};

/* ---- Rows ---- */

static enum state state_of(const struct item *item)
{
    bool is_open = strcmp(item->job, item->job_finished) != 0;

    if (item->is_deleting)
        return status_is_failed(item->phase) && !is_open ? STATE_DELETE_FAILED : STATE_DELETING;
    if (is_open)
        return !*item->phase || status_is_final(item->phase) ? STATE_PENDING : STATE_PROGRESSING;
    if (!*item->job)
        return STATE_IDLE;
    return status_is_failed(item->phase) ? STATE_FAILED : STATE_SUCCEEDED;
}

static int64_t time_of(const json_t *doc, const char *path)
{
    const char *text = doc_text(doc, path);
    struct error err = {0};
    int64_t unix_ms = 0;

    return text && timestamp_parse(text, &unix_ms, &err) == 0 && unix_ms > 0 ? unix_ms : 0;
}

static const char *last_part(const char *type)
{
    const char *slash = strrchr(type, '/');

    return slash ? slash + 1 : type;
}

static void set_times(struct row *row, const struct item *item)
{
    bool is_open = strcmp(item->job, item->job_finished) != 0;

    row->changed_unix_ms = item->job_generated_unix_ms;
    if (row->state != STATE_PENDING)
        row->started_unix_ms = item->init_unix_ms;
    if (!is_open)
        row->finished_unix_ms = time_of(item->status, "transitionTimes.finishedTime");
    if (row->started_unix_ms > row->changed_unix_ms)
        row->changed_unix_ms = row->started_unix_ms;
    if (row->finished_unix_ms > row->changed_unix_ms)
        row->changed_unix_ms = row->finished_unix_ms;
}

/* The end of a job that was seen, or was not long ago when the controller started. */
static void add_run(struct items_page *page, const struct row *row, const struct row *old,
                    const struct item *item)
{
    int64_t now_unix_ms = controller_now_unix_ms(page->controller);
    const struct history_run run = {.namespace_name = row->namespace_name,
                                    .name = row->name,
                                    .job = item->job,
                                    .reason = row->reason,
                                    .is_failed = status_is_failed(item->phase),
                                    .started_unix_ms = row->started_unix_ms,
                                    .finished_unix_ms = row->finished_unix_ms};

    if (!row->finished_unix_ms || (old && old->finished_unix_ms == row->finished_unix_ms) ||
        (!old && row->finished_unix_ms < now_unix_ms - RECENT_MS))
        return;
    page_add_run(page->page, &run);
}

static void on_seen(void *data, const struct item *item)
{
    struct items_page *page = data;
    struct row row = {.namespace_name = item->namespace_name,
                      .name = item->name,
                      .type = last_part(item_effective_type(item)),
                      .reason = doc_text_or(item->status, "lastError.reason", ""),
                      .state = (uint8_t)state_of(item)};

    if (row.state == STATE_SUCCEEDED || row.state == STATE_PENDING)
        row.reason = "";
    set_times(&row, item);
    add_run(page, &row, page_find_row(page->page, 0, row.namespace_name, row.name), item);
    page_set_row(page->page, 0, &row);
}

static void on_gone(void *data, const char *namespace_name, const char *name)
{
    struct items_page *page = data;

    page_remove_row(page->page, 0, namespace_name, name);
}

/* ---- Detail ---- */

static json_t *facts_of(const json_t *item, const struct view *view)
{
    json_t *facts = json_array();

    page_add_fact(facts, "Waiting for", view->waiting_for);
    page_add_fact(facts, "Type", doc_text(item, "spec.type"));
    page_add_fact(facts, "Target", doc_text(item, "spec.target.name"));
    page_add_fact(facts, "Context", doc_text(item, "spec.context"));
    page_add_fact(facts, "Job", view->job);
    page_add_fact(facts, "Operation", doc_text(item, "status.providerStatus.lastOperation"));
    page_add_fact(facts, "Pod", doc_text(item, "status.providerStatus.podStatus.podName"));
    page_add_fact(facts, "Image",
                  doc_text(item, "status.providerStatus.podStatus.containerStatus.image"));
    page_add_fact(facts, "Deployer", doc_text(item, "status.deployer.identity"));
    page_add_fact(facts, "Timeout", doc_text(item, "spec.timeout"));
    page_add_fact(facts, "Created", doc_text(item, "metadata.creationTimestamp"));
    return facts;
}

static json_t *error_of(const struct view *view)
{
    json_t *error = NULL;

    if (!*view->reason && !*view->operation && !*view->message)
        return NULL;
    error = json_object();
    page_set_text(error, "operation", view->operation);
    page_set_text(error, "reason", view->reason);
    if (*view->message)
        (void)json_object_set_new(error, "message", page_first_line(view->message));
    if (view->hint) {
        page_set_text(error, "cause", view->hint->cause);
        page_set_text(error, "solution", view->hint->solution);
    }
    return error;
}

/* Only what is named here leaves the process: neither imports nor exports nor logs. */
static json_t *describe_item(const json_t *item, int64_t now_unix_ms)
{
    cleanup_view struct view view = {0};
    json_t *doc = json_object(), *error = NULL;

    view_init(&view, item, NULL, now_unix_ms);
    error = error_of(&view);
    (void)json_object_set_new(doc, "facts", facts_of(item, &view));
    (void)json_object_set_new(doc, "timeline", items_timeline(item, &view));
    if (error)
        (void)json_object_set_new(doc, "error", error);
    (void)json_object_set_new(doc, "conditions",
                              page_conditions(doc_get(item, "status.conditions")));
    return doc;
}

static void on_item(void *data, json_t *object, const struct error *err)
{
    struct page_detail *detail = data;
    int64_t now_unix_ms = clock_unix_ms(clock_system());

    page_detail_set_call(detail, NULL);
    if (err->kind != ERROR_NONE)
        page_detail_answer(detail, NULL, err);
    else
        page_detail_answer(detail, describe_item(object, now_unix_ms), NULL);
}

/* The controller does not keep items whose job is finished. */
static void show_detail(void *data, size_t kind, const char *namespace_name, const char *name,
                        struct page_detail *detail)
{
    static const char *const skipped[] = {"metadata.managedFields", "spec.config", NULL};
    struct items_page *page = data;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = KUBE_DEPLOY_ITEMS,
                                         .namespace_name = namespace_name,
                                         .name = name,
                                         .skipped_members = skipped,
                                         .timeout_ms = PAGE_REQUEST_TIMEOUT_MS,
                                         .on_done = on_item,
                                         .data = detail};
    struct kube_call *call = NULL;
    struct error err = {0};

    (void)kind;
    if (kube_start(page->controller->landscaper, &request, &call, &err) < 0)
        page_detail_answer(detail, NULL, &err);
    else
        page_detail_set_call(detail, call);
}

/* ---- The process ---- */

static void describe(void *data, json_t *facts)
{
    const struct items_page *page = data;
    const struct controller *controller = page->controller;
    cleanup_free char *queued = xasprintf("%zu", controller->queue.length);
    cleanup_free char *open = xasprintf("%zu", controller->task_count);

    page_add_fact(facts, "Identity", controller->identity);
    page_add_fact(facts, "Role",
                  !controller->is_electing           ? "sole replica"
                  : controller_may_write(controller) ? "leader"
                                                     : "standby");
    page_add_fact(facts, "Open items", open);
    page_add_fact(facts, "In the queue", queued);
}

static bool is_synced(void *data)
{
    const struct items_page *page = data;

    return page->controller->is_items_synced;
}

static const struct page_source SOURCE = {
    .program = "controller",
    .kinds = kinds,
    .kind_count = array_length(kinds),
    .has_runs = true,
    .resource = {LANDSCAPER_GROUP, LANDSCAPER_VERSION, RESOURCE_DEPLOY_ITEMS},
    .describe = describe,
    .is_synced = is_synced,
    .detail = show_detail};

struct items_page *items_page_new(struct controller *controller, struct server *server)
{
    struct items_page *page = xcalloc(1, sizeof(*page));
    const struct page_options options = {.loop = controller->loop,
                                         .kube = controller->landscaper,
                                         .is_authenticated =
                                             controller->config->is_page_authenticated,
                                         .source = &SOURCE,
                                         .data = page};

    page->controller = controller;
    page->page = page_new(&options);
    page->listener = (struct item_listener){.seen = on_seen, .gone = on_gone, .data = page};
    controller->listener = &page->listener;
    page_attach(page->page, server);
    return page;
}

void items_page_free(struct items_page *page)
{
    if (!page)
        return;
    page->controller->listener = NULL;
    page_free(page->page);
    free(page);
}
