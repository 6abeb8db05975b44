/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/events.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "common/kube/event.h"

static json_t *event_of(const struct task *task, const char *id, const char *reason,
                        const char *message)
{
    const struct record *record = task->record;

    return event_object(&(struct event){
        .api_version = LANDSCAPER_API_VERSION,
        .kind = KIND_DEPLOY_ITEM,
        .name = record->name,
        .uid = record->uid,
        .about_namespace = record->namespace_name,
        .namespace_name = record->namespace_name,
        .id = id,
        .type = "Warning",
        .reason = *reason ? reason : "Failed",
        .message = message,
        .component = task_traits(task)->deployer_name,
        .now_unix_ms = controller_now_unix_ms(task->controller),
    });
}

static void on_sent(void *data, json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    /* An Event of the same name was sent before. */
    if (err->kind != ERROR_NONE && err->kind != ERROR_EXISTS)
        log_error("cannot write an Event", log_text("error", err->text));
}

static void send_event(struct task *task, const char *id, const char *reason, const char *message)
{
    cleanup_json json_t *event = NULL;
    struct kube_call *call = NULL;
    struct error err = {0};
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_EVENTS,
                                   .namespace_name = task->record->namespace_name,
                                   .grace_seconds = -1,
                                   .is_unread = true,
                                   .may_send = controller_may_send,
                                   .may_send_data = task->controller,
                                   .on_done = on_sent};

    if (!controller_may_write(task->controller))
        return;
    event = event_of(task, id, reason, message);
    request.body = event;
    if (kube_start(task->controller->landscaper, &request, &call, &err) < 0)
        log_error("cannot write an Event", log_text("error", err.text));
}

void events_send_error(struct task *task)
{
    const json_t *last = task->item ? doc_member(task->item->status, "lastError") : NULL;
    char id[UUID_TEXT_SIZE] = {0};

    if (!last)
        return;
    uuid_make(id);
    send_event(task, id, doc_text_or(last, "reason", ""), doc_text_or(last, "message", ""));
}

/* A fixed name for each item: when it is sent again, after a crash, a conflict or with a new
 * generation, the API server rejects it because it exists. */
void events_send_once(struct task *task, const char *id, const char *reason, const char *message)
{
    cleanup_free char *name = xasprintf("%s.%s", id, task->record->uid);

    send_event(task, name, reason, message);
}

void events_send_continuous(struct task *task)
{
    const struct item *item = task->item;
    const json_t *continuous = doc_member(item->config, "continuousReconcile");

    const struct engine *engine = task->engine;

    if (item->is_deleting || !json_object_size(continuous) ||
        (engine->class->is_continuous && engine->class->is_continuous(engine, item)))
        return;
    events_send_once(
        task, "continuous", "ContinuousReconcileIgnored",
        "continuousReconcile is set, but no Landscaper acts on it: the item runs when Landscaper "
        "or test-reconcile triggers it");
}

void events_send_too_large(struct task *task)
{
    events_send_once(
        task, "too-large", "ItemTooLarge",
        "the item is so large that the API server accepts no status for it: the job cannot end "
        "until the item is smaller");
}
