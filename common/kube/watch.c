/* SPDX-License-Identifier: Apache-2.0 */
/* A watch is in one of four states: listing, streaming, checking the server's revision, or waiting
 * for its timer. Whatever ends one of the first three schedules the next step. on_event may stop
 * the watch, so every callback runs between enter() and leave(), and the last leave() frees. */
#include "common/kube/watch.h"

#include <errno.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/client_internal.h"
#include "common/kube/list.h"
#include "common/kube/object.h"
#include "common/kube/split.h"
#include "common/kube/status.h"
#include "common/kube/watch_position.h"
#include "common/kube/watch_target.h"
#include "common/net/retry.h"

enum {
    RETRY_FIRST_MS = 200,
    RETRY_MAX_MS = 30000,
    STREAM_S = 300,
    /* Bookmarks come about once a minute. Without them the connection may be dead; resuming from
     * the last resourceVersion is cheap. */
    STREAM_STALL_MS = 150000,
    /* A stream without bookmarks may be silent until its end, which may come a little late. */
    STREAM_END_GRACE_MS = 60000,
    /* A stream that ends sooner than this without an event counts as a failure. */
    STREAM_SHORT_MS = 1000,
    TOO_LARGE_TRIES = 4,
};

/* There may be a hundred thousand of them: what is rarely needed is allocated when it is. */
struct kube_watch {
    struct kube *kube;
    struct watch_target *target;
    void *data;

    struct kube_list *list;
    struct http_call *http;
    struct line_split *split; /* the beginning of a line was received; or NULL */
    struct loop_timer timer;
    struct retry retry;
    struct watch_position position;
    uint64_t stream_start_ms, received_ms;
    /* Errors are large and rare, so a watch has no room for them. */
    struct error *stream_err; /* from an ERROR event, or NULL */
    struct error *list_fault; /* an object of the list was skipped; or NULL */
    int depth;
    bool is_without_bookmarks;
    bool has_event;     /* the stream has delivered an event or bookmark */
    bool has_bookmarks; /* the stream was started with bookmarks */
    bool has_new_token;
    bool is_stopped;
};

static void destroy(struct kube_watch *watch)
{
    kube_list_cancel(watch->list);
    http_cancel(watch->http);
    loop_timer_stop(&watch->timer);
    line_split_free(watch->split);
    watch_position_done(&watch->position);
    free(watch->stream_err);
    free(watch->list_fault);
    watch_target_put(watch->target);
    free(watch);
}

static void enter(struct kube_watch *watch)
{
    watch->depth++;
}

static void leave(struct kube_watch *watch)
{
    if (--watch->depth == 0 && watch->is_stopped)
        destroy(watch);
}

static void emit(struct kube_watch *watch, enum kube_event event, const json_t *object,
                 const struct error *err)
{
    if (!watch->is_stopped)
        watch->target->options.on_event(watch->data, event, object, err);
}

static void note_received(struct kube_watch *watch)
{
    watch->received_ms = loop_now_ms(kube_loop(watch->kube));
}

static void schedule(struct kube_watch *watch, uint64_t delay_ms)
{
    if (!watch->is_stopped)
        loop_timer_start(&watch->timer, delay_ms);
}

/* Retries at once if the token may just have expired, else reports the error and backs off. */
static void retry_after_error(struct kube_watch *watch, const struct error *err)
{
    if (err->http_status == 401 && kube_has_token_file(watch->kube) && !watch->has_new_token) {
        watch->has_new_token = true;
        schedule(watch, 0);
        return;
    }
    emit(watch, KUBE_EVENT_BROKEN, NULL, err);
    schedule(watch, retry_next_ms(&watch->retry, err));
}

static void restart_after_rewind(struct kube_watch *watch)
{
    watch_position_reset(&watch->position);
    emit(watch, KUBE_EVENT_REWOUND, NULL, NULL);
    schedule(watch, 0);
}

static void on_listed_item(void *data, const json_t *object, const struct error *err)
{
    struct kube_watch *watch = data;

    note_received(watch);
    if (!object) {
        error_keep(&watch->list_fault,
                   err); /* reported after SYNCED: BROKEN here would mean a new list */
        return;
    }
    enter(watch);
    emit(watch, KUBE_EVENT_LISTED, object, err);
    leave(watch);
}

/* False if the list failed, or if etcd was restored and the list must be repeated; the next step
 * has been scheduled then. */
static bool check_list_result(struct kube_watch *watch, const char *resource_version,
                              const struct error *err)
{
    watch->list = NULL;
    if (err->kind != ERROR_NONE) {
        retry_after_error(watch, err);
        return false;
    }
    if (watch_position_is_rewound(&watch->position, resource_version)) {
        restart_after_rewind(watch);
        return false;
    }
    watch->position.is_unverified = false;
    return true;
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct kube_watch *watch = data;

    enter(watch);
    if (check_list_result(watch, resource_version, err)) {
        note_received(watch);
        watch->has_new_token = false;
        watch_position_remember(&watch->position, resource_version);
        emit(watch, KUBE_EVENT_SYNCED, NULL, NULL);
        if (watch->list_fault)
            emit(watch, KUBE_EVENT_BROKEN, NULL, watch->list_fault);
        schedule(watch, 0);
    }
    leave(watch);
}

static void start_list(struct kube_watch *watch)
{
    const struct kube_watch_options *watched = &watch->target->options;
    struct error err = {0};
    const struct kube_list_options options = {
        .resource = watched->resource,
        .namespace_name = watched->namespace_name,
        .label_selector = watched->label_selector,
        .field_selector = watched->field_selector,
        .is_metadata_only = watched->is_metadata_only,
        .skipped_members = watched->skipped_members,
        .page_size = watched->page_size,
        .on_item = on_listed_item,
        .on_done = on_listed,
        .data = watch,
    };

    emit(watch, KUBE_EVENT_LISTING, NULL, NULL);
    if (watch->is_stopped)
        return;
    error_keep(&watch->list_fault, NULL);
    if (kube_list_start(watch->kube, &options, &watch->list, &err) < 0)
        retry_after_error(watch, &err);
}

static void on_checked(void *data, const char *resource_version, const struct error *err)
{
    struct kube_watch *watch = data;

    enter(watch);
    if (check_list_result(watch, resource_version, err))
        schedule(watch, 0);
    leave(watch);
}

/* After an etcd restore the resourceVersion of the watch may lie in the future. The server accepts
 * it and sends nothing until etcd reaches it. So ask for the current one: a list of one object,
 * without selectors, for which the server would have to search. */
static void start_check(struct kube_watch *watch)
{
    struct error err = {0};
    const struct kube_list_options options = {
        .resource = watch->target->options.resource,
        .namespace_name = watch->target->options.namespace_name,
        .is_metadata_only = true,
        .page_size = 1,
        .is_first_page_only = true,
        .is_not_retried = true,
        .on_done = on_checked,
        .data = watch,
    };

    if (kube_list_start(watch->kube, &options, &watch->list, &err) < 0)
        retry_after_error(watch, &err);
}

static void note_event(struct kube_watch *watch, const char *resource_version)
{
    watch->has_event = true;
    watch->has_new_token = false;
    retry_reset(&watch->retry);
    watch_position_remember(&watch->position, resource_version);
}

static void take_error(struct kube_watch *watch, const json_t *status)
{
    cleanup_free char *what = xasprintf("watch %s", watch->target->options.resource.plural);
    struct error err = {0};

    (void)kube_status_error_object(status, what, &err);
    error_keep(&watch->stream_err, &err);
}

static void take_event(struct kube_watch *watch, enum kube_line_type type, const json_t *object,
                       const struct error *fault)
{
    static const enum kube_event events[] = {
        [KUBE_LINE_ADDED] = KUBE_EVENT_ADDED,
        [KUBE_LINE_MODIFIED] = KUBE_EVENT_MODIFIED,
        [KUBE_LINE_DELETED] = KUBE_EVENT_DELETED,
    };

    if (type == KUBE_LINE_ERROR) {
        take_error(watch, object);
        return;
    }
    note_event(watch, doc_text(object, "metadata.resourceVersion"));
    if (type == KUBE_LINE_ADDED || type == KUBE_LINE_MODIFIED || type == KUBE_LINE_DELETED)
        emit(watch, events[type], object, fault);
}

/* Whether the owner knows this version of the object already. A deletion is always new. */
static bool is_known_line(struct kube_watch *watch, const char *text, size_t size)
{
    static const char deleted[] = "{\"type\":\"DELETED\"";
    kube_known_fn *is_known = watch->target->options.is_known;
    struct kube_head head = {0};

    if (!is_known || (size >= sizeof(deleted) && memcmp(text, deleted, sizeof(deleted) - 1) == 0) ||
        !kube_line_head(text, size, &head) ||
        !is_known(watch->data, head.namespace_name, head.name, head.resource_version))
        return false;
    note_event(watch, head.resource_version);
    return true;
}

static int on_line(void *data, const char *text, size_t size)
{
    struct kube_watch *watch = data;
    cleanup_json json_t *object = NULL;
    enum kube_line_type type = KUBE_LINE_UNKNOWN;
    struct error fault = {0};
    struct error err = {0};

    if (!text)
        (void)error_set(&err, ERROR_TOO_LARGE, "event larger than %d bytes skipped",
                        KUBE_OBJECT_MAX);
    else if (is_known_line(watch, text, size))
        return 0;
    else if (kube_line_parse(text, size, watch->target->options.skipped_members, &type, &object,
                             &fault, &err) == 0)
        take_event(watch, type, object, fault.kind == ERROR_NONE ? NULL : &fault);
    if (err.kind != ERROR_NONE) {
        (void)error_wrap(&err, "watch %s", watch->target->options.resource.plural);
        emit(watch, KUBE_EVENT_BROKEN, NULL, &err);
    }
    return watch->is_stopped ? -1 : 0;
}

static int on_stream_data(void *data, const struct http_response *response, const char *bytes,
                          size_t size, struct error *err)
{
    struct kube_watch *watch = data;
    int result = 0;

    (void)response;
    note_received(watch);
    enter(watch);
    result = line_split_pass(&watch->split, KUBE_OBJECT_MAX, bytes, size, on_line, watch);
    if (result == 0 && watch->stream_err) {
        *err = *watch->stream_err; /* no event follows an ERROR */
        result = -1;
    }
    leave(watch);
    return result;
}

/* Some servers report a resourceVersion in the future. One that has just started may only lag
 * behind, so this is believed after a few attempts. */
static bool is_version_too_large(const struct kube_watch *watch, const struct error *err)
{
    return err->http_status == 504 && strstr(err->text, "Too large resource version") &&
           watch->retry.attempts >= TOO_LARGE_TRIES;
}

/* Whether the API server may have been away, and etcd restored in the meantime. Not if a stream
 * ended normally, as happens every few minutes. */
static bool is_outage(const struct kube_watch *watch, const struct error *err, bool is_short)
{
    if (err->kind == ERROR_NONE)
        return is_short && !watch->has_event;
    /* Without bookmarks a stream may well be idle until it times out. */
    if (err->os == ETIMEDOUT && watch->has_event && !watch->has_bookmarks)
        return false;
    return err->http_status == 0 || err->http_status >= 500;
}

static void resume_after_stream(struct kube_watch *watch, const struct error *err)
{
    bool is_short = loop_now_ms(kube_loop(watch->kube)) - watch->stream_start_ms < STREAM_SHORT_MS;

    if (!is_short && err->http_status == 0)
        retry_reset(&watch->retry);
    if (is_outage(watch, err, is_short))
        watch->position.is_unverified = true;
    if (err->kind == ERROR_NONE) {
        watch->has_new_token = false;
        schedule(watch, watch->has_event || !is_short ? 0 : retry_next_ms(&watch->retry, err));
    } else if (err->kind == ERROR_GONE || is_version_too_large(watch, err)) {
        watch_position_forget(&watch->position);
        schedule(watch, retry_next_ms(&watch->retry, err));
    } else if (err->os == ETIMEDOUT && !is_short) {
        schedule(watch, 0); /* http.c uses a new connection */
        if (watch->has_bookmarks && watch->target->options.on_stalled && !watch->is_stopped)
            watch->target->options.on_stalled(watch->data);
    } else {
        retry_after_error(watch, err);
    }
}

static void on_stream_done(void *data, const struct http_response *response,
                           const struct error *transport)
{
    struct kube_watch *watch = data;
    cleanup_free char *what = xasprintf("watch %s", watch->target->options.resource.plural);
    struct error err = {0};

    enter(watch);
    watch->http = NULL;
    (void)!kube_http_result(watch->kube, response, transport, what, &err);
    if (watch->stream_err)
        err = *watch->stream_err;
    resume_after_stream(watch, &err);
    leave(watch);
}

static void start_stream(struct kube_watch *watch)
{
    const struct kube_watch_options *options = &watch->target->options;
    uint32_t stream_s = options->stream_s ? options->stream_s : STREAM_S;
    uint32_t seconds = stream_s + (uint32_t)(watch->retry.seed % stream_s);
    char text[WATCH_POSITION_TEXT_SIZE];
    const char *version = watch_position_get(&watch->position, text);
    bool has_bookmarks = version && !watch->is_without_bookmarks;
    cleanup_free char *url =
        watch_target_url(watch->target, kube_server(watch->kube), version, has_bookmarks, seconds);
    struct error err = {0};
    const struct http_header accept = {
        "Accept",
        options->is_metadata_only ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
                                  : "application/json",
    };
    struct http_request request = {
        .method = "GET",
        .url = url,
        .headers = &accept,
        .header_count = 1,
        .stall_timeout_ms = watch->is_without_bookmarks
                                ? (uint64_t)seconds * 1000 + STREAM_END_GRACE_MS
                                : STREAM_STALL_MS,
        .is_headless = true,
        .on_data = on_stream_data,
        .on_done = on_stream_done,
        .data = watch,
    };

    line_split_free(steal(&watch->split));
    error_keep(&watch->stream_err, NULL);
    watch->has_event = false;
    watch->has_bookmarks = has_bookmarks;
    watch->stream_start_ms = loop_now_ms(kube_loop(watch->kube));
    if (kube_http_start(watch->kube, &request, &watch->http, &err) < 0) {
        (void)error_wrap(&err, "watch %s", watch->target->options.resource.plural);
        retry_after_error(watch, &err);
    }
}

static void begin(void *data)
{
    struct kube_watch *watch = data;
    bool is_watch_only = watch->target->options.is_watch_only;

    enter(watch);
    /* Without the permission to list, the server's revision cannot be checked. */
    if (is_watch_only && watch->position.is_unverified) {
        watch_position_forget(&watch->position);
        watch->position.is_unverified = false;
    }
    if (!is_watch_only && !watch_position_is_set(&watch->position))
        start_list(watch);
    else if (watch->position.is_unverified)
        start_check(watch);
    else
        start_stream(watch);
    leave(watch);
}

int kube_watch_start(struct kube *kube, const struct kube_watch_options *options,
                     struct kube_watch **ret_watch, struct error *err)
{
    struct kube_watch *watch = NULL;
    struct watch_target *target = NULL;

    /* Reject invalid names here, so that later errors can only come from outside. */
    if (watch_target_get(options, kube_server(kube), &target, err) < 0)
        return -1;
    watch = xcalloc(1, sizeof(*watch));
    watch->kube = kube;
    watch->target = target;
    watch->is_without_bookmarks = options->is_without_bookmarks;
    watch->data = options->data;
    retry_init(&watch->retry, options->retry_first_ms ? options->retry_first_ms : RETRY_FIRST_MS,
               options->retry_max_ms ? options->retry_max_ms : RETRY_MAX_MS);
    watch_position_remember(&watch->position, options->start_version);
    note_received(watch);
    loop_timer_init(&watch->timer, kube_loop(kube), begin, watch);
    loop_timer_start(&watch->timer, 0);
    *ret_watch = watch;
    return 0;
}

void kube_watch_renew(struct kube_watch *watch)
{
    if (!watch->http)
        return;
    http_cancel(watch->http);
    watch->http = NULL;
    watch->position.is_unverified = true; /* the server may have been away */
    schedule(watch, 0);
}

const struct kube_watch_options *kube_watch_get_options(const struct kube_watch *watch)
{
    return &watch->target->options;
}

void kube_watch_want_bookmarks(struct kube_watch *watch)
{
    watch->is_without_bookmarks = false;
}

uint64_t kube_watch_idle_ms(const struct kube_watch *watch)
{
    return watch ? loop_now_ms(kube_loop(watch->kube)) - watch->received_ms : 0;
}

void kube_watch_stop(struct kube_watch *watch)
{
    if (!watch || watch->is_stopped)
        return;
    watch->is_stopped = true;
    kube_list_cancel(watch->list);
    watch->list = NULL;
    http_cancel(watch->http);
    watch->http = NULL;
    loop_timer_stop(&watch->timer);
    if (watch->depth == 0)
        destroy(watch);
}
