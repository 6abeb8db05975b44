/* SPDX-License-Identifier: Apache-2.0 */
/* Events about Kymas and Manifests. Sent when a status was written; nothing waits for the answer.
 */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "common/kube/event.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state_event.h"

enum {
    /* One cluster whose state changes again and again. */
    KYMA_INTERVAL_MS = 5 * 60 * 1000,
    KYMA_BURST = 10,
    /* All clusters at once, such as a roll-out of a module that is wrong. */
    PROCESS_INTERVAL_MS = 100,
    PROCESS_BURST = 100,
};

static void on_sent(void *data, json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_CANCELLED)
        log_error("cannot write an Event", log_text("error", err->text));
}

/* What happened stays true when the cluster is handed to another replica. Not kyma_may_send():
 * nobody cancels the request when the cluster is forgotten. */
static bool may_send(const void *data)
{
    return lifecycle_may_write(data);
}

void lifecycle_send_event(struct kyma *kyma, const char *kind, const json_t *object,
                          const json_t *event)
{
    struct lifecycle *lifecycle = kyma->lifecycle;
    uint64_t now_ms = loop_now_ms(lifecycle->loop);
    char id[UUID_TEXT_SIZE] = {0};
    cleanup_json json_t *body = NULL;

    if (!event_is_allowed(&kyma->event_next_ms, now_ms, KYMA_INTERVAL_MS, KYMA_BURST) ||
        !event_is_allowed(&lifecycle->event_next_ms, now_ms, PROCESS_INTERVAL_MS, PROCESS_BURST)) {
        lifecycle->events_dropped++;
        return;
    }
    uuid_make(id);
    body = event_object(&(struct event){
        .api_version = KYMA_API_VERSION,
        .kind = kind,
        .name = doc_text_or(object, "metadata.name", ""),
        .uid = doc_text_or(object, "metadata.uid", ""),
        .about_namespace = lifecycle->options.namespace_name,
        .namespace_name = lifecycle->options.namespace_name,
        .id = id,
        .type = doc_text_or(event, "type", ""),
        .reason = doc_text_or(event, "reason", ""),
        .message = doc_text_or(event, "message", ""),
        .component = KYMA_FIELD_MANAGER,
        .now_unix_ms = clock_unix_ms(loop_clock(lifecycle->loop)),
    });
    lifecycle->events_sent++;
    (void)control_plane_write((struct sender){lifecycle, may_send, lifecycle}, KUBE_CREATE,
                              KUBE_EVENTS, NULL, NULL, body, NULL, on_sent, NULL);
}
