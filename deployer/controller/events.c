/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/events.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/data/uuid.h"

enum { EVENT_MESSAGE_MAX = 1024 };

json_t *events_object(const struct task *task, const char *reason, const char *message)
{
    const struct record *record = task->record;
    char now[TIMESTAMP_MAX] = {0}, id[UUID_TEXT_SIZE] = {0};
    /* Names end in something unique, and must stay legal for an item of 253 characters. */
    int length = 200;
    cleanup_free char *name = NULL;
    size_t size = strlen(message);

    timestamp_format(controller_now_unix_ms(task->controller), now);
    uuid_make(id);
    name = xasprintf("%.*s.%s", length, record->name, id);
    /* The API server refuses longer messages; never cut inside a character. */
    if (size > EVENT_MESSAGE_MAX) {
        size = EVENT_MESSAGE_MAX;
        while (size > 0 && ((unsigned char)message[size] & 0xc0) == 0x80)
            size--;
    }
    return json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:s%,s:{s:s},s:s,s:s,"
                     "s:i}",
                     "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
                     record->namespace_name, "involvedObject", "apiVersion", LANDSCAPER_API_VERSION,
                     "kind", KIND_DEPLOY_ITEM, "name", record->name, "namespace",
                     record->namespace_name, "uid", record->uid, "type", "Warning", "reason",
                     *reason ? reason : "Failed", "message", message, size, "source", "component",
                     DEPLOYER_NAME, "firstTimestamp", now, "lastTimestamp", now, "count", 1);
}

static void on_told(void *data, json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    if (err->kind != ERROR_NONE)
        log_error("an event can't be written", log_text("error", err->text));
}

static void tell(struct task *task, const char *reason, const char *message)
{
    cleanup_json json_t *event = NULL;
    struct kube_call *call = NULL;
    struct error err = {0};
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_EVENTS,
                                   .namespace_name = task->record->namespace_name,
                                   .grace_seconds = -1,
                                   .is_unread = true,
                                   .on_done = on_told};

    if (!controller_may_write(task->controller))
        return;
    event = events_object(task, reason, message);
    request.body = event;
    if (kube_start(task->controller->landscaper, &request, &call, &err) < 0)
        log_error("an event can't be written", log_text("error", err.text));
}

void events_tell_error(struct task *task)
{
    const json_t *last = task->item ? doc_member(task->item->status, "lastError") : NULL;

    if (last)
        tell(task, doc_text_or(last, "reason", ""), doc_text_or(last, "message", ""));
}

void events_tell_continuous(struct task *task)
{
    const struct item *item = task->item;
    const json_t *continuous = doc_member(item->config, "continuousReconcile");

    if (item->generation == item->observed_generation || !json_object_size(continuous))
        return;
    tell(task, "ContinuousReconcileIgnored",
         "continuousReconcile is set, but no Landscaper acts on it: the item runs when Landscaper "
         "or test-reconcile triggers it");
}
