/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/pod_watch.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/watch.h"

enum { POLL_FIRST_MS = 1000, POLL_MAX_MS = 5000, HTTP_FORBIDDEN = 403 };

struct pod_watch {
    struct kube *kube;
    struct pod_watch_options options;
    char *field_selector;
    char uid[64];     /* "": not known yet */
    bool is_own_seen; /* our own pod, by its uid */
    struct kube_watch *watch;
    struct kube_call *poll;
    struct loop_timer poll_timer;
    uint32_t poll_ms;
    bool is_over;           /* main's end was reported */
    bool is_trouble_logged; /* the current outage was logged */
};

static void stop_all(struct pod_watch *watch)
{
    kube_watch_stop(steal(&watch->watch));
    kube_cancel(steal(&watch->poll));
    loop_timer_stop(&watch->poll_timer);
}

static void notify(struct pod_watch *watch, const struct main_end *end,
                   const struct pod_facts *facts)
{
    if (watch->is_over)
        return;
    if (end->kind == MAIN_ENDED || end->kind == MAIN_LOST) {
        watch->is_over = true;
        stop_all(watch);
    }
    watch->options.on_seen(watch->options.data, end, facts);
}

static void notify_lost(struct pod_watch *watch)
{
    struct main_end end = {.kind = MAIN_LOST};
    struct pod_facts facts = {0};

    notify(watch, &end, &facts);
}

static void take_status(struct pod_watch *watch, const json_t *pod)
{
    struct main_end end = main_end_from_pod(pod, watch->uid);
    struct pod_facts facts = main_end_pod_facts(pod);

    if (watch->is_trouble_logged) {
        watch->is_trouble_logged = false;
        log_info("the API server is reachable again");
    }
    if (end.kind == MAIN_LOST) {
        /* Once our pod was seen this is a later pod of the same name. Before that it is an earlier
         * one from a stale cache of the API server. */
        if (watch->is_own_seen)
            notify_lost(watch);
        return;
    }
    if (!watch->is_own_seen)
        log_debug("the pod was seen", log_text("uid", facts.uid));
    watch->is_own_seen = true;
    if (!*watch->uid)
        memcpy(watch->uid, facts.uid, sizeof(watch->uid));
    notify(watch, &end, &facts);
}

static void log_trouble(struct pod_watch *watch, const struct error *err)
{
    /* Once per outage, which may last for hours. */
    if (!watch->is_trouble_logged)
        log_info("reading the pod's status failed, retrying", log_text("error", err->text));
    watch->is_trouble_logged = true;
}

static void on_poll_done(void *data, json_t *pod, const struct error *err)
{
    struct pod_watch *watch = data;

    watch->poll = NULL;
    if (pod) {
        take_status(watch, pod);
    } else if (err->kind == ERROR_NOT_FOUND) {
        notify_lost(watch);
    } else {
        log_trouble(watch, err);
    }
    if (watch->is_over)
        return;
    loop_timer_start(&watch->poll_timer, watch->poll_ms);
    watch->poll_ms = watch->poll_ms * 11 / 10;
    if (watch->poll_ms > POLL_MAX_MS)
        watch->poll_ms = POLL_MAX_MS;
}

static void poll_once(void *data)
{
    struct pod_watch *watch = data;
    struct error err = {0};
    struct kube_request request = {
        .verb = KUBE_GET,
        .resource = KUBE_PODS,
        .namespace_name = watch->options.pod_namespace,
        .name = watch->options.pod_name,
        .is_not_retried = true, /* the next poll is the retry */
        .grace_seconds = -1,
        .on_done = on_poll_done,
        .data = watch,
    };

    if (kube_start(watch->kube, &request, &watch->poll, &err) < 0)
        on_poll_done(watch, NULL, &err);
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct pod_watch *watch = data;

    switch (event) {
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        take_status(watch, object);
        break;
    case KUBE_EVENT_DELETED:
        /* The event carries the last status, which may have main's exit code. */
        take_status(watch, object);
        if (watch->is_own_seen)
            notify_lost(watch);
        break;
    case KUBE_EVENT_BROKEN:
        if (err->http_status == HTTP_FORBIDDEN) {
            log_info("watching the pod is forbidden, polling it instead",
                     log_text("error", err->text));
            kube_watch_stop(steal(&watch->watch));
            poll_once(watch);
        } else {
            log_trouble(watch, err);
        }
        break;
    case KUBE_EVENT_LISTING:
    case KUBE_EVENT_SYNCED:
    case KUBE_EVENT_REWOUND:
        break;
    }
}

int pod_watch_start(struct kube *kube, const struct pod_watch_options *options,
                    struct pod_watch **ret_watch, struct error *err)
{
    cleanup_pod_watch struct pod_watch *watch = xcalloc(1, sizeof(*watch));
    struct kube_watch_options watch_options = {
        .resource = KUBE_PODS,
        .namespace_name = options->pod_namespace,
        .is_watch_only = true, /* a list would need another permission in the Role */
        /* After an outage the controller waits for 10 s for the answer to its request to save. */
        .retry_max_ms = POLL_MAX_MS,
        .on_event = on_event,
        .data = watch,
    };

    watch->kube = kube;
    watch->options = *options;
    watch->poll_ms = POLL_FIRST_MS;
    watch->field_selector = xasprintf("metadata.name=%s", options->pod_name);
    watch_options.field_selector = watch->field_selector;
    if (options->pod_uid)
        (void)snprintf(watch->uid, sizeof(watch->uid), "%s", options->pod_uid);
    loop_timer_init(&watch->poll_timer, kube_loop(kube), poll_once, watch);
    if (kube_watch_start(kube, &watch_options, &watch->watch, err) < 0)
        return error_wrap(err, "watch pod \"%s\"", options->pod_name);
    *ret_watch = steal(&watch);
    return 0;
}

void pod_watch_free(struct pod_watch *watch)
{
    if (!watch)
        return;
    stop_all(watch);
    free(watch->field_selector);
    free(watch);
}
