/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "e2e/fleet/api.h"

void api_not_found(const struct api_call *call, struct reply *reply)
{
    struct reply_details details = api_details(call);

    reply_failure(reply, 404, "NotFound", &details, "%s \"%s\" not found",
                  call->resource->qualified, call->name);
}

void api_get(const struct api_call *call, struct reply *reply)
{
    const struct record *record =
        store_get(&call->cluster->store, call->resource, call->namespace_name, call->name);

    if (!record)
        api_not_found(call, reply);
    else if (api_wants_metadata(call))
        record_write_metadata(record, &reply->body);
    else
        record_write(record, call->version->api_version, call->resource->kind, &reply->body);
}

/* A place in a list: {"v": version of the first page, "n": namespace, "m": name}, in base64. */
struct position {
    uint64_t version;
    size_t index;
};

static char *make_token(uint64_t version, const struct record *last)
{
    cleanup_json json_t *token = json_pack("{s:I, s:s, s:s}", "v", (json_int_t)version, "n",
                                           last->namespace_name->bytes, "m", last->name->bytes);
    cleanup_free char *text = doc_dump(token);

    return base64_encode(text, strlen(text));
}

static int parse_token(const struct api_call *call, const char *text, struct position *ret,
                       struct reply *reply)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *token = NULL;
    struct error err = {0};

    buffer_init(&bytes, 4096);
    if (base64_decode(text, strlen(text), &bytes, &err) < 0 ||
        doc_parse_json(bytes.data ? bytes.data : "", bytes.size, 4096, &token, &err) < 0) {
        reply_failure(reply, 400, "BadRequest", NULL, "continue key is not valid: %s", err.text);
        return -1;
    }
    ret->version = (uint64_t)doc_integer_or(token, "v", 0);
    ret->index = store_after(&call->cluster->store, call->resource, doc_text_or(token, "n", ""),
                             doc_text_or(token, "m", ""));
    if (history_reaches(&call->cluster->store.history, ret->version))
        return 0;
    reply_failure(reply, 410, "Expired", NULL,
                  "The provided continue parameter is too old to display a consistent list result. "
                  "You can start a new list without the continue parameter.");
    return -1;
}

/* A list of a later version than the server has. */
static bool is_from_the_future(const struct api_call *call, struct reply *reply)
{
    const char *text = query_get(call->query, "resourceVersion");
    const struct store *store = &call->cluster->store;
    uint64_t version = 0;

    if (!text || !text[0] || query_get(call->query, "continue"))
        return false;
    if (!number_parse(text, UINT64_MAX, &version)) {
        struct reply_details details = {0};

        reply_failure(reply, 400, "BadRequest", &details, "invalid resource version \"%s\"", text);
        return true;
    }
    if (version <= store->version)
        return false;
    reply->retry_after_s = 1;
    reply_failure(reply, 504, "Timeout", &(struct reply_details){0},
                  "Too large resource version: %llu, current: %llu", (unsigned long long)version,
                  (unsigned long long)store->version);
    return true;
}

struct page {
    const struct selection *selection;
    struct position at;
    uint64_t limit;
    size_t count;
    const struct record *last; /* NULL: the list is complete */
    size_t left;               /* objects behind this page */
};

static void write_items(const struct api_call *call, struct page *page, struct buffer *out)
{
    const char *namespace_name = call->namespace_name[0] ? call->namespace_name : NULL;
    const struct store *store = &call->cluster->store;
    const struct record *record = NULL, *written = NULL;

    for (size_t i = page->at.index; (record = store_at(store, call->resource, namespace_name, i));
         i++) {
        if (!selection_matches(page->selection, record))
            continue;
        if (page->limit > 0 && page->count == page->limit) {
            page->last = written;
            page->left++;
            if (!selection_is_empty(page->selection))
                return;
            continue;
        }
        if (page->count++ > 0)
            put_text(out, ",");
        if (api_wants_metadata(call))
            record_write_metadata(record, out);
        else
            record_write(record, call->version->api_version,
                         call->resource->is_custom ? call->resource->kind : NULL, out);
        written = record;
    }
}

static json_t *list_metadata(const struct api_call *call, const struct page *page)
{
    cleanup_free char *version = xasprintf("%llu", (unsigned long long)page->at.version);
    json_t *metadata = json_pack("{s:s}", "resourceVersion", version);

    if (call->resource->is_custom && !page->last && !api_wants_metadata(call))
        (void)json_object_set_new(metadata, "continue", json_string(""));
    if (page->last) {
        cleanup_free char *token = make_token(page->at.version, page->last);

        (void)json_object_set_new(metadata, "continue", json_string(token));
        if (selection_is_empty(page->selection))
            (void)json_object_set_new(metadata, "remainingItemCount",
                                      json_integer((json_int_t)page->left));
    }
    return metadata;
}

void api_list(const struct api_call *call, struct reply *reply)
{
    cleanup_selection struct selection *selection = NULL;
    cleanup_buffer struct buffer items = {0};
    const char *token = query_get(call->query, "continue");
    const char *namespace_name = call->namespace_name[0] ? call->namespace_name : NULL;
    struct page page = {.at.version = call->cluster->store.version};
    cleanup_json json_t *metadata = NULL;
    cleanup_free char *metadata_text = NULL, *head = NULL;
    struct error err = {0};

    if (api_parse_selection(call, &selection, reply) < 0 || is_from_the_future(call, reply))
        return;
    if (query_number(call->query, "limit", UINT32_MAX, &page.limit, &err) < 0) {
        reply_failure(reply, 400, "BadRequest", NULL, "%s", err.text);
        return;
    }
    page.selection = selection;
    page.at.index = store_first(&call->cluster->store, call->resource, namespace_name);
    if (token && token[0] && parse_token(call, token, &page.at, reply) < 0)
        return;
    buffer_init(&items, SIZE_MAX);
    write_items(call, &page, &items);
    metadata = list_metadata(call, &page);
    metadata_text = doc_dump(metadata);
    head =
        api_wants_metadata(call)
            ? xasprintf("{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"")
            : xasprintf("{\"kind\":\"%s\",\"apiVersion\":\"%s\"", call->resource->list_kind,
                        call->version->api_version);
    put_text(&reply->body, head);
    put_text(&reply->body, ",\"metadata\":");
    put_text(&reply->body, metadata_text);
    put_text(&reply->body, ",\"items\":[");
    put_bytes(&reply->body, items.data ? items.data : "", items.size);
    put_text(&reply->body, "]}");
}
