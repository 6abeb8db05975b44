/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events. All streams get the same updates: at most one in PAGE_UPDATE_MS, with counts
 * and the names of what has changed. The work for an update depends neither on the number of rows
 * nor on how fast browsers read. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/page/page_internal.h"

static void on_closed(void *data, struct exchange *exchange)
{
    struct page *page = data;

    for (size_t i = 0; i < page->stream_count; i++) {
        if (page->streams[i].exchange == exchange) {
            page->streams[i] = page->streams[--page->stream_count];
            break;
        }
    }
    if (page->stream_count > 0)
        return;
    loop_timer_stop(&page->update_timer);
    loop_timer_stop(&page->heartbeat_timer);
}

/* A stream that cannot be written to removes itself from the list. */
static void send_all(struct page *page, const char *text)
{
    size_t size = strlen(text);

    for (size_t i = page->stream_count; i-- > 0;) {
        if (i < page->stream_count)
            (void)exchange_send(page->streams[i].exchange, text, size);
    }
}

static char *update_text(const struct page *page, json_t *changed)
{
    cleanup_json json_t *doc = json_object();
    cleanup_free char *text = NULL;

    (void)json_object_set_new(doc, "version", json_integer((json_int_t)page->version));
    (void)json_object_set_new(doc, "counts", api_counts(page));
    (void)json_object_set(doc, "changed", changed ? changed : json_null());
    text = doc_dump(doc);
    return xasprintf("event: update\ndata: %s\n\n", text);
}

static void on_update(void *data)
{
    struct page *page = data;
    cleanup_free char *text = update_text(page, page->changed);

    json_decref(page->changed);
    page->changed = json_array();
    send_all(page, text);
}

static void on_heartbeat(void *data)
{
    struct page *page = data;
    uint64_t now_ms = loop_now_ms(page->loop);

    for (size_t i = page->stream_count; i-- > 0;) {
        if (page->streams[i].ends_ms <= now_ms)
            exchange_close(page->streams[i].exchange);
    }
    send_all(page, ": still here\n\n");
    if (page->stream_count > 0)
        loop_timer_start(&page->heartbeat_timer, PAGE_HEARTBEAT_MS);
}

void page_stream_changed(struct page *page, size_t kind, const char *namespace_name,
                         const char *name)
{
    if (page->stream_count == 0)
        return;
    if (page->changed && json_array_size(page->changed) >= PAGE_KEYS_MAX) {
        json_decref(page->changed);
        page->changed = NULL;
    }
    if (page->changed) {
        cleanup_free char *key =
            xasprintf("%s/%s/%s", page->source->kinds[kind].name, namespace_name, name);

        (void)json_array_append_new(page->changed, doc_new_text(key));
    }
    if (!loop_timer_is_running(&page->update_timer))
        loop_timer_start(&page->update_timer, PAGE_UPDATE_MS);
}

void page_stream_open(struct page *page, struct exchange *exchange)
{
    cleanup_json json_t *nothing = json_array();
    cleanup_free char *text = NULL;

    if (page->stream_count == PAGE_STREAMS_MAX) {
        page_refuse(exchange, 429, "too many browsers are connected; close one of the pages");
        return;
    }
    page->streams[page->stream_count].exchange = exchange;
    page->streams[page->stream_count++].ends_ms = loop_now_ms(page->loop) + PAGE_STREAM_MS;
    exchange_on_close(exchange, on_closed, page);
    exchange_stream(exchange, "text/event-stream", PAGE_HEADERS);
    if (!loop_timer_is_running(&page->heartbeat_timer))
        loop_timer_start(&page->heartbeat_timer, PAGE_HEARTBEAT_MS);
    text = update_text(page, nothing);
    (void)exchange_send(exchange, text, strlen(text));
}

void page_stream_init(struct page *page)
{
    page->changed = json_array();
    loop_timer_init(&page->update_timer, page->loop, on_update, page);
    loop_timer_init(&page->heartbeat_timer, page->loop, on_heartbeat, page);
}

void page_stream_done(struct page *page)
{
    loop_timer_stop(&page->update_timer);
    loop_timer_stop(&page->heartbeat_timer);
    json_decref(page->changed);
}
