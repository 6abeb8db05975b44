/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/list.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/client_internal.h"
#include "common/kube/object.h"
#include "common/kube/request.h"
#include "common/kube/split.h"
#include "common/net/retry.h"

enum {
    PAGE_SIZE_DEFAULT = 500,
    PAGE_TIMEOUT_MS = 120000,
    PAGE_STALL_MS = 30000,
    TRIES_MAX = 6,
    RETRY_FIRST_MS = 200,
    RETRY_MAX_MS = 5000,
};

struct kube_list {
    struct kube *kube;
    char *url; /* without "continue" */
    char *what;
    char *next_page;        /* "continue", or NULL for the first page */
    char *resource_version; /* of the first page; all pages have the same */
    bool is_metadata_only, is_first_page_only, is_not_retried;
    const char *const *skipped_members;
    bool has_new_token;
    bool has_items_of_page; /* on_item was called for this page */
    struct item_split split;
    struct http_call *http;
    struct loop_timer timer;
    struct retry retry;
    int depth; /* of enter(): it must not be freed from inside its own callbacks */
    bool is_over;
    kube_item_fn *on_item;
    kube_listed_fn *on_done;
    void *data;
};

static void destroy(struct kube_list *list)
{
    http_cancel(list->http);
    loop_timer_stop(&list->timer);
    item_split_done(&list->split);
    free(list->url);
    free(list->what);
    free(list->next_page);
    free(list->resource_version);
    free(list);
}

static void enter(struct kube_list *list)
{
    list->depth++;
}

static void leave(struct kube_list *list)
{
    if (--list->depth == 0 && list->is_over)
        destroy(list);
}

static void finish(struct kube_list *list, const struct error *err)
{
    list->is_over = true;
    list->on_done(list->data, err->kind == ERROR_NONE ? list->resource_version : NULL, err);
}

static void fail_or_sleep(struct kube_list *list, const struct error *err)
{
    if (err->http_status == 401 && kube_has_token_file(list->kube) && !list->has_new_token) {
        list->has_new_token = true;
        loop_timer_start(&list->timer, 0);
        return;
    }
    /* "continue" names a position in a snapshot, so a later page can be requested again. The first
     * page may differ the second time; once part of it was passed on, the caller has to start over.
     */
    if (!list->is_not_retried && retry_is_useful(err) && list->retry.attempts + 1 < TRIES_MAX &&
        (list->next_page || !list->has_items_of_page)) {
        loop_timer_start(&list->timer, retry_next_ms(&list->retry, err));
        return;
    }
    finish(list, err);
}

static int on_item_text(void *data, const char *text, size_t size)
{
    struct kube_list *list = data;
    cleanup_json json_t *object = NULL;
    struct error fault = {0};
    struct error err = {0};

    list->has_items_of_page = true;
    if (!list->on_item)
        return 0;
    if (!text)
        (void)error_set(&fault, ERROR_TOO_LARGE, "%s: object larger than %d bytes skipped",
                        list->what, KUBE_OBJECT_MAX);
    else if (kube_object_parse(text, size, list->skipped_members, &object, &fault, &err) < 0)
        fault = err;
    list->on_item(list->data, object, fault.kind == ERROR_NONE ? NULL : &fault);
    return list->is_over ? -1 : 0;
}

static int on_page_data(void *data, const struct http_response *response, const char *bytes,
                        size_t size, struct error *err)
{
    struct kube_list *list = data;
    int result = 0;

    (void)response;
    enter(list);
    result = item_split_feed(&list->split, bytes, size, on_item_text, list, err);
    leave(list);
    return result;
}

static int read_envelope(struct kube_list *list, struct error *err)
{
    cleanup_json json_t *envelope = NULL;
    const char *next_page = NULL;

    /* A proxy may answer in place of the API server. If its response were taken for an empty list,
     * a program would start without its saved state. */
    if (doc_parse_json(list->split.envelope.data, list->split.envelope.size,
                       ITEM_SPLIT_ENVELOPE_MAX, &envelope, err) < 0 ||
        !*doc_text_or(envelope, "metadata.resourceVersion", ""))
        return error_set(err, ERROR_TEMPORARY,
                         "%s: response did not come from the API server (proxy or login page?)",
                         list->what);
    if (!list->resource_version)
        list->resource_version = xstrdup(doc_text_or(envelope, "metadata.resourceVersion", ""));
    next_page = doc_text_or(envelope, "metadata.continue", "");
    free(list->next_page);
    list->next_page = next_page[0] ? xstrdup(next_page) : NULL;
    return 0;
}

static void on_page_done(void *data, const struct http_response *response,
                         const struct error *transport)
{
    struct kube_list *list = data;
    struct error err = {0};

    enter(list);
    list->http = NULL;
    if (kube_http_result(list->kube, response, transport, list->what, &err) < 0 ||
        read_envelope(list, &err) < 0) {
        fail_or_sleep(list, &err);
    } else if (!list->next_page || list->is_first_page_only) {
        finish(list, &err);
    } else {
        retry_reset(&list->retry);
        list->has_new_token = false;
        loop_timer_start(&list->timer, 0);
    }
    leave(list);
}

static void request_page(void *data)
{
    struct kube_list *list = data;
    cleanup_free char *url = xstrdup(list->url);
    struct error err = {0};
    const struct http_header accept = {
        "Accept",
        list->is_metadata_only ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
                               : "application/json",
    };
    struct http_request request = {
        .method = "GET",
        .headers = &accept,
        .header_count = 1,
        .total_timeout_ms = PAGE_TIMEOUT_MS,
        .stall_timeout_ms = PAGE_STALL_MS,
        .on_data = on_page_data,
        .on_done = on_page_done,
        .data = list,
    };

    kube_query_add(&url, "continue", list->next_page);
    request.url = url;
    item_split_done(&list->split);
    item_split_init(&list->split, KUBE_OBJECT_MAX);
    list->has_items_of_page = false;
    enter(list);
    if (kube_http_start(list->kube, &request, &list->http, &err) < 0) {
        (void)error_wrap(&err, "%s", list->what);
        finish(list, &err);
    }
    leave(list);
}

int kube_list_start(struct kube *kube, const struct kube_list_options *options,
                    struct kube_list **ret_list, struct error *err)
{
    struct kube_list *list = NULL;
    char *url = NULL;
    char limit[32];

    if (kube_path_make(kube_server(kube), &options->resource, options->namespace_name, NULL, NULL,
                       &url, err) < 0)
        return -1;
    (void)snprintf(limit, sizeof(limit), "%zu",
                   options->page_size ? options->page_size : (size_t)PAGE_SIZE_DEFAULT);
    kube_query_add(&url, "limit", limit);
    kube_query_add(&url, "labelSelector", options->label_selector);
    kube_query_add(&url, "fieldSelector", options->field_selector);
    list = xcalloc(1, sizeof(*list));
    list->kube = kube;
    list->url = url;
    list->what = options->namespace_name ? xasprintf("list %s in \"%s\"", options->resource.plural,
                                                     options->namespace_name)
                                         : xasprintf("list %s", options->resource.plural);
    list->is_metadata_only = options->is_metadata_only;
    list->skipped_members = options->skipped_members;
    list->is_first_page_only = options->is_first_page_only;
    list->is_not_retried = options->is_not_retried;
    list->on_item = options->on_item;
    list->on_done = options->on_done;
    list->data = options->data;
    item_split_init(&list->split, KUBE_OBJECT_MAX);
    retry_init(&list->retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    loop_timer_init(&list->timer, kube_loop(kube), request_page, list);
    loop_timer_start(&list->timer, 0);
    *ret_list = list;
    return 0;
}

void kube_list_cancel(struct kube_list *list)
{
    if (!list || list->is_over)
        return;
    list->is_over = true;
    http_cancel(list->http);
    list->http = NULL;
    loop_timer_stop(&list->timer);
    if (list->depth == 0)
        destroy(list);
}

struct performed {
    const struct kube_list_options *options;
    bool is_done;
    struct error err;
};

static void pass_item(void *data, const json_t *object, const struct error *err)
{
    const struct performed *performed = data;

    performed->options->on_item(performed->options->data, object, err);
}

static void on_performed(void *data, const char *resource_version, const struct error *err)
{
    struct performed *performed = data;

    performed->is_done = true;
    performed->err = *err;
    if (performed->options->on_done)
        performed->options->on_done(performed->options->data, resource_version, err);
}

int kube_list_perform(struct kube *kube, const struct kube_list_options *options, struct error *err)
{
    struct performed performed = {.options = options};
    struct kube_list_options copy = *options;
    struct kube_list *list = NULL;

    if (kube_is_busy(kube))
        return error_set(err, ERROR_INTERNAL, "kube_list_perform() called from inside a callback");
    copy.on_item = options->on_item ? pass_item : NULL;
    copy.on_done = on_performed;
    copy.data = &performed;
    if (kube_list_start(kube, &copy, &list, err) < 0)
        return -1;
    while (!performed.is_done) {
        if (loop_run_once(kube_loop(kube), -1, err) < 0) {
            kube_list_cancel(list);
            return -1;
        }
    }
    if (performed.err.kind == ERROR_NONE)
        return 0;
    *err = performed.err;
    return -1;
}
