/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/watch.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"

/* As --min-request-timeout of the API server, which chooses up to twice of it. */
enum { TIMEOUT_S = 1800 };

struct watch {
    struct exchange *exchange;
    struct cluster *cluster;
    const struct resource *resource;
    const struct resource_version *version;
    char *namespace_name; /* NULL: all */
    struct selection *selection;
    bool is_metadata_only, has_bookmarks;
    uint64_t bookmark_ms, end_ms;
    struct store_listener listener;
    struct loop_timer timer; /* of the next bookmark, or of the end */
};

static void write_line(struct watch *watch, const char *type, const struct record *record,
                       uint64_t version)
{
    cleanup_buffer struct buffer line = {0};

    buffer_init(&line, SIZE_MAX);
    put_text(&line, "{\"type\":\"");
    put_text(&line, type);
    put_text(&line, "\",\"object\":");
    if (watch->is_metadata_only)
        record_write_metadata_version(record, version, &line);
    else
        record_write_version(record, version, watch->version->api_version, watch->resource->kind,
                             &line);
    put_text(&line, "}\n");
    watch->cluster->counters.watch_events++;
    exchange_write(watch->exchange, line.data, line.size);
}

static bool selects(const struct watch *watch, const struct record *record)
{
    return record &&
           (!watch->namespace_name ||
            strcmp(watch->namespace_name, record->namespace_name->bytes) == 0) &&
           selection_matches(watch->selection, record);
}

/* An object that begins or ceases to match the selectors is added to or deleted from what the
 * client sees. */
static void write_change(struct watch *watch, const struct change *change)
{
    bool is_now = change->type != CHANGE_DELETED && selects(watch, change->record);
    bool was_before = selects(watch, change->previous);

    if (is_now)
        write_line(watch, was_before ? "MODIFIED" : "ADDED", change->record,
                   change->record->resource_version);
    else if (was_before)
        write_line(watch, "DELETED", change->previous, change->record->resource_version);
}

static bool concerns(const struct watch *watch, const struct change *change)
{
    return change->resource == watch->resource ||
           (strcmp(change->resource->plural, watch->resource->plural) == 0 &&
            strcmp(change->resource->group, watch->resource->group) == 0);
}

static void on_change(void *data, const struct change *change)
{
    struct watch *watch = data;

    if (concerns(watch, change))
        write_change(watch, change);
}

static void on_closed(void *owner)
{
    struct watch *watch = owner;

    store_unlisten(&watch->cluster->store, &watch->listener);
    loop_timer_stop(&watch->timer);
    watch->cluster->counters.open_watches--;
    selection_free(watch->selection);
    free(watch->namespace_name);
    free(watch);
}

static void write_bookmark(struct watch *watch, bool is_initial_end)
{
    const char *kind = watch->is_metadata_only ? "PartialObjectMetadata" : watch->resource->kind;
    const char *api_version =
        watch->is_metadata_only ? "meta.k8s.io/v1" : watch->version->api_version;
    cleanup_free char *line = xasprintf(
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
        "\"resourceVersion\":\"%llu\",\"creationTimestamp\":null%s}}}\n",
        kind, api_version, (unsigned long long)watch->cluster->store.version,
        is_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");

    exchange_write(watch->exchange, line, strlen(line));
}

static void start_timer(struct watch *watch)
{
    uint64_t now_ms = loop_now_ms(watch->timer.loop);
    uint64_t left_ms = watch->end_ms > now_ms ? watch->end_ms - now_ms : 0;

    if (watch->has_bookmarks && watch->bookmark_ms < left_ms)
        left_ms = watch->bookmark_ms;
    loop_timer_start(&watch->timer, left_ms);
}

static void on_timer(void *data)
{
    struct watch *watch = data;

    if (loop_now_ms(watch->timer.loop) >= watch->end_ms) {
        exchange_end(watch->exchange); /* frees the watch, now or when the rest is sent */
        return;
    }
    write_bookmark(watch, false);
    start_timer(watch);
}

static void write_all(struct watch *watch)
{
    const struct store *store = &watch->cluster->store;
    const struct record *record = NULL;

    for (size_t i = store_first(store, watch->resource, watch->namespace_name);
         (record = store_at(store, watch->resource, watch->namespace_name, i)); i++) {
        if (selects(watch, record))
            write_line(watch, "ADDED", record, record->resource_version);
    }
}

static void write_since(struct watch *watch, uint64_t version)
{
    const struct history *history = &watch->cluster->store.history;
    const struct change *change = NULL;

    for (size_t i = history_after(history, version); (change = history_at(history, i)); i++) {
        if (concerns(watch, change))
            write_change(watch, change);
    }
}

static void write_expired(struct exchange *exchange, uint64_t version, uint64_t oldest)
{
    cleanup_free char *line = xasprintf(
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version: %llu (%llu)\","
        "\"reason\":\"Expired\",\"code\":410}}\n",
        (unsigned long long)version, (unsigned long long)oldest);

    exchange_write(exchange, line, strlen(line));
    exchange_end(exchange);
}

/* A watch that is not in the list of listeners yet. */
static struct watch *new_watch(const struct watch_settings *settings, const struct api_call *call,
                               struct exchange *exchange, struct selection *selection)
{
    struct watch *watch = xcalloc(1, sizeof(*watch));
    uint64_t timeout_s = TIMEOUT_S + call->cluster->index % TIMEOUT_S;
    struct error ignored = {0};

    watch->exchange = exchange;
    watch->cluster = call->cluster;
    watch->resource = call->resource;
    watch->version = call->version;
    watch->namespace_name = call->namespace_name[0] ? xstrdup(call->namespace_name) : NULL;
    watch->selection = selection;
    watch->is_metadata_only = api_wants_metadata(call);
    watch->has_bookmarks = query_flag(call->query, "allowWatchBookmarks");
    watch->bookmark_ms = settings->bookmark_ms;
    if (query_number(call->query, "timeoutSeconds", UINT32_MAX, &timeout_s, &ignored) < 0)
        timeout_s = TIMEOUT_S;
    watch->end_ms = loop_now_ms(settings->loop) + timeout_s * 1000;
    watch->listener = (struct store_listener){.on_change = on_change, .data = watch};
    loop_timer_init(&watch->timer, settings->loop, on_timer, watch);
    return watch;
}

/* False: it is not a number. */
static bool parse_version(const struct api_call *call, uint64_t *ret_version)
{
    const char *text = query_get(call->query, "resourceVersion");

    *ret_version = 0;
    return !text || !text[0] || number_parse(text, UINT64_MAX, ret_version);
}

int watch_start(const struct watch_settings *settings, const struct api_call *call,
                struct exchange *exchange)
{
    cleanup_reply struct reply reply = {0};
    struct selection *selection = NULL;
    struct watch *watch = NULL;
    const struct store *store = &call->cluster->store;
    bool has_initial_end = query_flag(call->query, "sendInitialEvents");
    uint64_t version = 0;

    reply_init(&reply);
    if (!parse_version(call, &version))
        reply_failure(&reply, 500, NULL, NULL,
                      "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing "
                      "\"%s\": invalid syntax",
                      query_get(call->query, "resourceVersion"),
                      query_get(call->query, "resourceVersion"));
    else if (api_parse_selection(call, &selection, &reply) == 0)
        reply.code = 0;
    if (reply.code) {
        int code = reply.code;

        exchange_reply(exchange, &reply);
        return code;
    }
    exchange_begin(exchange, 200, "application/json");
    if (version > 0 && !history_reaches(&store->history, version)) {
        selection_free(selection);
        write_expired(exchange, version, store->history.dropped_version);
        return 200;
    }
    watch = new_watch(settings, call, exchange, selection);
    exchange->owner = watch;
    exchange->on_closed = on_closed;
    call->cluster->counters.open_watches++;
    if (version == 0 || has_initial_end)
        write_all(watch);
    else
        write_since(watch, version);
    if (has_initial_end)
        write_bookmark(watch, true);
    store_listen(&watch->cluster->store, &watch->listener);
    start_timer(watch);
    return 200;
}
