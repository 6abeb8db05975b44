/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/page/host.h"
#include "deployer/page/page_internal.h"

#define API PAGE_PREFIX "/api/v1/"

/* Nothing of an answer may be framed or read by other pages. Its encoding depends on the request.
 */
#define SHARED_HEADERS                                                                             \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                                \
    "X-Frame-Options: DENY\r\n"                                                                    \
    "Vary: Accept-Encoding\r\n"

const char PAGE_HEADERS[] =
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n" SHARED_HEADERS;

/* Smaller documents fit into one packet anyway. Level 1 takes a third of the time of level 6. */
enum { PACK_MIN = 1024, PACK_MAX = 1 << 20, LEVEL_FAST = 1 };

enum target {
    TARGET_OVERVIEW,
    TARGET_ROWS,
    TARGET_NAMESPACES,
    TARGET_ROW,
    TARGET_EVENTS,
    TARGET_COUNT
};

/* A request of the API, from the check of its token to its answer; also of a detail. */
struct page_detail {
    struct page *page;
    struct page_detail *next;
    struct exchange *exchange;
    enum target target;
    struct auth_call *review;
    struct kube_call *call;
    size_t kind;
    char *namespace_name, *name;
};

/* ---- Answers ---- */

static void answer_packed(struct exchange *exchange, int status, const char *content_type,
                          const char *headers, const struct buffer *packed)
{
    cleanup_free char *all = xasprintf("%sContent-Encoding: gzip\r\n", headers);

    exchange_answer(exchange, status, content_type, all, packed->data, packed->size);
}

void page_answer(struct exchange *exchange, int status, json_t *doc)
{
    cleanup_free char *text = doc_dump(doc);
    size_t size = strlen(text);
    cleanup_buffer struct buffer packed = {0};
    struct error err = {0};

    json_decref(doc);
    buffer_init(&packed, PACK_MAX);
    if (size >= PACK_MIN && exchange_accepts_gzip(exchange) &&
        gzip_pack(text, size, LEVEL_FAST, &packed, &err) == 0)
        answer_packed(exchange, status, "application/json", PAGE_HEADERS, &packed);
    else
        exchange_answer(exchange, status, "application/json", PAGE_HEADERS, text, size);
}

void page_refuse(struct exchange *exchange, int status, const char *problem)
{
    json_t *doc = json_object();

    page_set_text(doc, "error", problem);
    page_answer(exchange, status, doc);
}

/* ---- Requests of the API ---- */

static void request_free(struct page_detail *request)
{
    for (struct page_detail **place = &request->page->details; *place; place = &(*place)->next) {
        if (*place == request) {
            *place = request->next;
            break;
        }
    }
    auth_cancel(request->review);
    kube_cancel(request->call);
    free(request->namespace_name);
    free(request->name);
    free(request);
}

static void on_closed(void *data, struct exchange *exchange)
{
    (void)exchange;
    request_free(data);
}

/* The exchange goes on without the request. */
static struct exchange *release(struct page_detail *request)
{
    struct exchange *exchange = request->exchange;

    exchange_on_close(exchange, NULL, NULL);
    request_free(request);
    return exchange;
}

size_t page_detail_kind(const struct page_detail *detail)
{
    return detail->kind;
}

void *page_detail_data(const struct page_detail *detail)
{
    return detail->page->data;
}

void page_detail_set_call(struct page_detail *detail, struct kube_call *call)
{
    detail->call = call;
}

void page_detail_answer(struct page_detail *detail, json_t *doc, const struct error *err)
{
    struct page *page = detail->page;
    const struct row *row =
        rows_find(page->rows[detail->kind], detail->namespace_name, detail->name);
    struct exchange *exchange = NULL;

    if (doc && row) {
        (void)json_object_set_new(doc, "kind", json_string(page->source->kinds[detail->kind].name));
        (void)json_object_set_new(doc, "row", api_row(page, detail->kind, row));
        if (page->source->has_runs)
            (void)json_object_set_new(
                doc, "runs", history_of(page->history, detail->namespace_name, detail->name));
        page_answer(release(detail), 200, doc);
        return;
    }
    json_decref(doc);
    exchange = release(detail);
    /* The text of the error could name internal addresses. */
    if (err && err->kind != ERROR_NOT_FOUND)
        page_refuse(exchange, 503, "the API server did not answer; retry later");
    else
        page_refuse(exchange, 404, "no such object");
}

static void answer_row(struct page_detail *request)
{
    struct page *page = request->page;
    cleanup_free char *namespace_name = exchange_parameter(request->exchange, "namespace");
    cleanup_free char *name = exchange_parameter(request->exchange, "name");

    request->kind = api_kind(page, request->exchange);
    if (request->kind == PAGE_KINDS_MAX || !name) {
        page_refuse(release(request), 400, "\"kind\", \"namespace\" and \"name\" are needed");
        return;
    }
    request->namespace_name = namespace_name ? steal(&namespace_name) : xstrdup("");
    request->name = steal(&name);
    if (!rows_find(page->rows[request->kind], request->namespace_name, request->name)) {
        page_detail_answer(request, NULL, NULL);
        return;
    }
    page->source->detail(page->data, request->kind, request->namespace_name, request->name,
                         request);
}

static void serve_request(struct page_detail *request)
{
    struct page *page = request->page;
    const char *problem = NULL;
    json_t *doc = NULL;

    switch (request->target) {
    case TARGET_OVERVIEW:
        page_answer(release(request), 200, api_overview(page));
        break;
    case TARGET_ROWS:
    case TARGET_NAMESPACES:
        doc = (request->target == TARGET_ROWS ? api_rows : api_namespaces)(page, request->exchange,
                                                                           &problem);
        if (doc)
            page_answer(release(request), 200, doc);
        else
            page_refuse(release(request), 400, problem);
        break;
    case TARGET_EVENTS:
        page_stream_open(page, release(request));
        break;
    case TARGET_ROW:
    case TARGET_COUNT:
        answer_row(request);
        break;
    }
}

static void on_reviewed(void *data, enum auth_result result, const char *problem)
{
    static const int statuses[] = {[AUTH_ALLOWED] = 200,
                                   [AUTH_UNKNOWN] = 401,
                                   [AUTH_FORBIDDEN] = 403,
                                   [AUTH_BUSY] = 429,
                                   [AUTH_FAILED] = 503};
    struct page_detail *request = data;

    request->review = NULL;
    if (result == AUTH_ALLOWED)
        serve_request(request);
    else
        page_refuse(release(request), statuses[result], problem);
}

static void begin_request(struct page *page, struct exchange *exchange, enum target target)
{
    struct page_detail *request = xcalloc(1, sizeof(*request));
    cleanup_wipe char *token = NULL;
    struct auth_call *review = NULL;

    *request = (struct page_detail){
        .page = page, .next = page->details, .exchange = exchange, .target = target};
    page->details = request;
    exchange_on_close(exchange, on_closed, request);
    if (!page->auth) {
        serve_request(request);
        return;
    }
    token = exchange_header(exchange, "Authorization");
    auth_check(page->auth, token, on_reviewed, request, &review);
    if (review)
        request->review = review; /* else the request may be gone */
}

/* ---- Paths ---- */

static void serve_document(const struct page *page, struct exchange *exchange)
{
    static const char content_type[] = "text/html; charset=utf-8";
    const struct document *document = &page->document;
    cleanup_free char *headers =
        xasprintf("Content-Security-Policy: %s\r\n" SHARED_HEADERS, document->policy);

    if (document->packed.size > 0 && exchange_accepts_gzip(exchange))
        answer_packed(exchange, 200, content_type, headers, &document->packed);
    else
        exchange_answer(exchange, 200, content_type, headers, document->text, document->size);
}

static void on_exchange(void *data, struct exchange *exchange)
{
    static const char *const targets[TARGET_COUNT] = {
        [TARGET_OVERVIEW] = API "overview",     [TARGET_ROWS] = API "rows",
        [TARGET_NAMESPACES] = API "namespaces", [TARGET_ROW] = API "row",
        [TARGET_EVENTS] = API "events",
    };
    struct page *page = data;
    const char *path = exchange_path(exchange);
    cleanup_free char *host = exchange_header(exchange, "Host");

    if (!page->auth && !host_is_address(host)) {
        page_refuse(exchange, 403,
                    "without authentication the page is served only for IP addresses and localhost;"
                    " use kubectl port-forward, or set ui.authentication");
        return;
    }
    if (strcmp(path, PAGE_PREFIX) == 0) {
        exchange_answer(exchange, 308, "text/plain", "Location: " PAGE_PREFIX "/\r\n", NULL, 0);
        return;
    }
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        if (strcmp(path, targets[i]) == 0) {
            begin_request(page, exchange, (enum target)i);
            return;
        }
    }
    if (strcmp(path, PAGE_PREFIX "/") == 0)
        serve_document(page, exchange);
    else
        page_refuse(exchange, 404, "not found");
}

/* ---- Rows ---- */

void page_set_row(struct page *page, size_t kind, const struct row *row)
{
    if (!page || !rows_set(page->rows[kind], row))
        return;
    page->version++;
    page_stream_changed(page, kind, row->namespace_name, row->name);
}

void page_remove_row(struct page *page, size_t kind, const char *namespace_name, const char *name)
{
    if (!page || !rows_remove(page->rows[kind], namespace_name, name))
        return;
    page->version++;
    page_stream_changed(page, kind, namespace_name, name);
}

const struct row *page_find_row(const struct page *page, size_t kind, const char *namespace_name,
                                const char *name)
{
    return page ? rows_find(page->rows[kind], namespace_name, name) : NULL;
}

void page_add_run(struct page *page, const struct history_run *run)
{
    if (page)
        history_add(page->history, run);
}

/* ---- Life ---- */

struct page *page_new(const struct page_options *options)
{
    struct page *page = xcalloc(1, sizeof(*page));

    page->loop = options->loop;
    page->source = options->source;
    page->data = options->data;
    page->started_unix_ms = clock_unix_ms(loop_clock(page->loop));
    for (size_t i = 0; i < page->source->kind_count; i++)
        page->rows[i] = rows_new();
    page->history = history_new();
    if (options->is_authenticated)
        page->auth = auth_new(options->kube, options->source->resource);
    page_stream_init(page);
    document_init(&page->document);
    return page;
}

void page_free(struct page *page)
{
    if (!page)
        return;
    document_done(&page->document);
    page_stream_done(page);
    while (page->details)
        request_free(page->details);
    auth_free(page->auth);
    for (size_t i = 0; i < PAGE_KINDS_MAX; i++)
        rows_free(page->rows[i]);
    history_free(page->history);
    free(page);
}

void page_attach(struct page *page, struct server *server)
{
    if (server)
        server_set_pages(server, PAGE_PREFIX, on_exchange, page);
}
