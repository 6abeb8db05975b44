/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#pragma once

#include "deployer/page/auth.h"
#include "deployer/page/document.h"
#include "deployer/page/page.h"

struct page {
    struct loop *loop;
    const struct page_source *source;
    void *data;
    struct rows *rows[PAGE_KINDS_MAX];
    struct history *history;
    struct auth *auth; /* NULL: no authentication */
    struct document document;
    uint64_t version; /* of everything that is shown; counts changes */
    int64_t started_unix_ms;

    struct page_detail *details; /* under way */

    struct {
        struct exchange *exchange;
        uint64_t ends_ms;
    } streams[PAGE_STREAMS_MAX];
    size_t stream_count;
    json_t *changed; /* names of objects that have changed; NULL: too many */
    struct loop_timer update_timer, heartbeat_timer;
};

/* api.c: the documents of the API. New references. */
json_t *api_overview(const struct page *page);
json_t *api_counts(const struct page *page);
/* NULL and *ret_problem if a parameter is wrong. */
json_t *api_rows(const struct page *page, const struct exchange *exchange,
                 const char **ret_problem);
json_t *api_namespaces(const struct page *page, const struct exchange *exchange,
                       const char **ret_problem);
json_t *api_row(const struct page *page, size_t kind, const struct row *row);
/* The kind of the parameter "kind", by default the first; PAGE_KINDS_MAX: unknown. */
size_t api_kind(const struct page *page, const struct exchange *exchange);

/* stream.c */
void page_stream_open(struct page *page, struct exchange *exchange);
void page_stream_changed(struct page *page, size_t kind, const char *namespace_name,
                         const char *name);
void page_stream_init(struct page *page);
void page_stream_done(struct page *page);

/* page.c */
extern const char PAGE_HEADERS[]; /* of every answer but the document */
void page_answer(struct exchange *exchange, int status, json_t *doc); /* takes doc over */
void page_refuse(struct exchange *exchange, int status, const char *problem);
