/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the statuses of Environments and DeployerRegistrations, and Events about changes. Statuses
 * are written with server-side apply, so that what the agent writes into the same status stays. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/data/uuid.h"
#include "common/kube/event.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/manager.h"

enum { WRITES_MAX = 2 }; /* under way; each needs up to 2 MB of memory */

#define EVENT_NAMESPACE "default" /* the API server requires it for objects without a namespace */

/* A write under way. */
struct status_write {
    struct manager *manager;
    struct status_write *next;
    struct kube_call *call;
    enum source source;
    char *key;
    json_t *events; /* to be sent when the status is written */
};

void report_touch(struct manager *manager, char kind, const char *name)
{
    cleanup_free char *key = xasprintf("%c/%s", kind, name);

    (void)json_object_set_new(manager->reports, key, json_true());
    if (!loop_timer_is_running(&manager->report_timer))
        loop_timer_start(&manager->report_timer, MANAGER_REPORT_MS);
}

/* ---- Events ---- */

static void on_event_sent(void *data, json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_CANCELLED)
        log_error("cannot write an Event", log_text("error", err->text));
}

static void send_event(struct manager *manager, const json_t *object, const json_t *event)
{
    char id[UUID_TEXT_SIZE] = {0};
    cleanup_json json_t *body = NULL;
    struct error err = {0};
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_EVENTS,
                                   .namespace_name = EVENT_NAMESPACE,
                                   .grace_seconds = -1,
                                   .is_unread = true,
                                   .may_send = manager_may_send,
                                   .may_send_data = manager,
                                   .on_done = on_event_sent};

    uuid_make(id);
    body = event_object(&(struct event){
        .api_version = LANDSCAPER_API_VERSION,
        .kind = doc_text_or(object, "kind", ""),
        .name = doc_text_or(object, "metadata.name", ""),
        .uid = doc_text_or(object, "metadata.uid", ""),
        .namespace_name = EVENT_NAMESPACE,
        .id = id,
        .type = doc_text_or(event, "type", ""),
        .reason = doc_text_or(event, "reason", ""),
        .message = doc_text_or(event, "message", ""),
        .component = REGISTRATIONS_FIELD_MANAGER,
        .now_unix_ms = clock_unix_ms(loop_clock(manager->loop)),
    });
    request.body = body;
    if (!body || kube_start(manager->kube, &request, NULL, &err) < 0)
        log_error("cannot write an Event", log_text("error", err.text));
    else
        manager->events++;
}

/* ---- writing ---- */

static void write_free(struct status_write *write)
{
    struct status_write **at = &write->manager->status_writes;

    while (*at != write)
        at = &(*at)->next;
    *at = write->next;
    kube_cancel(write->call);
    free(write->key);
    json_decref(write->events);
    free(write);
}

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct status_write *write = data;
    struct manager *manager = write->manager;

    write->call = NULL;
    if (err->kind == ERROR_NONE) {
        for (size_t i = 0; i < json_array_size(write->events); i++)
            send_event(manager, object, json_array_get(write->events, i));
        known_answer(manager, write->source, object);
    } else if (err->kind != ERROR_NOT_FOUND) {
        log_error("status not written, retrying", log_text("object", write->key),
                  log_text("error", err->text));
        report_touch(manager, write->key[0], write->key + 2);
    }
    write_free(write);
    manager_close(manager);
    /* Statuses that had to wait because of WRITES_MAX. */
    if (manager->is_report_waiting)
        loop_timer_start(&manager->report_timer, 0);
}

static size_t count_writes(const struct manager *manager)
{
    size_t count = 0;

    for (const struct status_write *write = manager->status_writes; write; write = write->next)
        count++;
    return count;
}

static bool is_under_way(const struct manager *manager, const char *key)
{
    for (const struct status_write *write = manager->status_writes; write; write = write->next) {
        if (strcmp(write->key, key) == 0)
            return true;
    }
    return false;
}

static json_t *status_of(struct manager *manager, const json_t *object, bool is_environment)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    char now[TIMESTAMP_MAX] = {0};
    struct environment_facts facts = {
        .environment = object,
        .results = manager->results,
        .problem = json_string_value(doc_member(manager->problems, name)),
        .namespace_name = manager->settings.namespace_name,
        .is_acceptance_manual = manager->settings.is_acceptance_manual,
    };

    timestamp_format(clock_unix_ms(loop_clock(manager->loop)), now);
    if (!is_environment)
        return registration_status(object, doc_member(manager->results, name), now);
    facts.heartbeat = heartbeat_judge(manager->beats, environment_lease(object),
                                      manager->sources[SOURCE_LEASES].broken_ms
                                          ? manager->sources[SOURCE_LEASES].broken_ms
                                          : loop_now_ms(manager->loop));
    return environment_status(&facts, now);
}

static void report(struct manager *manager, const char *key)
{
    bool is_environment = key[0] == 'e';
    enum source source = is_environment ? SOURCE_ENVIRONMENTS : SOURCE_REGISTRATIONS;
    const json_t *object = manager_find(manager, source, key + 2);
    cleanup_json json_t *status = NULL;
    cleanup_json json_t *body = NULL;
    struct status_write *write = NULL;
    struct error err = {0};
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = is_environment ? KUBE_ENVIRONMENTS
                                                              : KUBE_DEPLOYER_REGISTRATIONS,
                                   .name = key + 2,
                                   .subresource = "status",
                                   .field_manager = REGISTRATIONS_FIELD_MANAGER,
                                   .skipped_members = KNOWN_SKIPPED,
                                   .may_send = manager_may_send,
                                   .may_send_data = manager,
                                   .on_done = on_written};

    if (!object)
        return;
    if (is_under_way(manager, key)) {
        report_touch(manager, key[0], key + 2);
        return;
    }
    status = status_of(manager, object, is_environment);
    if (status_is_written(object, status))
        return;
    body = json_pack("{s:s,s:s,s:{s:s},s:O}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                     is_environment ? KIND_ENVIRONMENT : KIND_DEPLOYER_REGISTRATION, "metadata",
                     "name", key + 2, "status", status);
    write = xcalloc(1, sizeof(*write));
    write->manager = manager;
    write->source = source;
    write->key = xstrdup(key);
    write->events = status_events(object, status);
    write->next = manager->status_writes;
    manager->status_writes = write;
    request.body = body;
    request.data = write;
    if (kube_start(manager->kube, &request, &write->call, &err) < 0)
        write_free(write);
}

void report_all(void *data)
{
    struct manager *manager = data;
    cleanup_json json_t *keys = NULL;
    const char *key = NULL;
    json_t *value = NULL;

    if (!manager_may_write(manager)) {
        loop_timer_start(&manager->report_timer, MANAGER_LOOK_AGAIN_MS);
        return;
    }
    keys = manager->reports;
    manager->reports = json_object();
    manager->is_report_waiting = false;
    doc_foreach(keys, key, value)
    {
        if (count_writes(manager) >= WRITES_MAX) {
            (void)json_object_set_new(manager->reports, key, json_true());
            manager->is_report_waiting = true;
            continue;
        }
        report(manager, key);
        manager_close(manager);
    }
    log_debug("statuses compared");
}

void report_stop(struct manager *manager)
{
    while (manager->status_writes)
        write_free(manager->status_writes);
}
