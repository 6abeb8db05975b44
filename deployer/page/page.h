/* SPDX-License-Identifier: Apache-2.0 */
/* A read-only status page and the JSON API behind it (docs/status-page.md), served by the server of
 * the metrics. A command that has a page keeps one row for each of its objects up to date and
 * describes one object when it is asked to. Nothing of this exists unless the page is enabled. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "deployer/page/history.h"
#include "deployer/page/rows.h"
#include "deployer/serve/server.h"

#define PAGE_PREFIX "/ui"

enum {
    PAGE_KINDS_MAX = 4,
    PAGE_STREAMS_MAX = 16,          /* browsers that get updates at the same time */
    PAGE_STREAM_MS = 5 * 60 * 1000, /* then it has to reconnect, and its token is reviewed again */
    PAGE_UPDATE_MS = 500,           /* changes are collected for this time */
    PAGE_KEYS_MAX = 50,             /* names of changed objects in one update */
    PAGE_HEARTBEAT_MS = 10 * 1000,  /* a browser that receives nothing for longer reconnects */
    PAGE_REQUEST_TIMEOUT_MS = 8000, /* of requests to the API server; below SERVE_PATIENCE_MS */
};

/* tone: "good", "bad", "busy" or "idle"; decides about the color. name NULL: end of the list. */
struct page_state {
    const char *name, *tone;
};

/* A table of the page: items, clusters ... */
struct page_kind {
    const char *name, *title;    /* "items", "Items" */
    const char *type_title;      /* heading of the column of row.type */
    const char *namespace_title; /* what row.namespace_name is; NULL: rows have none */
    struct page_state states[ROWS_STATES_MAX + 1];
};

struct page;
struct page_detail;

/* The command that is shown. */
struct page_source {
    const char *program;
    const struct page_kind *kinds;
    size_t kind_count;
    bool has_runs; /* history_add() is called: the page shows rates and durations */
    /* Who may list this resource in all namespaces may see the page. */
    struct kube_resource resource;
    /* Adds a label and a value about the process to facts (page_add_fact()). */
    void (*describe)(void *data, json_t *facts);
    bool (*is_synced)(void *data); /* false: rows are missing */
    /* Describes one object, now or later, with page_detail_answer(). */
    void (*detail)(void *data, size_t kind, const char *namespace_name, const char *name,
                   struct page_detail *detail);
};

struct page_options {
    struct loop *loop;
    struct kube *kube; /* for reviews of tokens; needed if is_authenticated */
    bool is_authenticated;
    const struct page_source *source;
    void *data; /* of the source */
};

/* All of options is borrowed. */
struct page *page_new(const struct page_options *options);
/* After the servers that it was attached to. NULL is fine. */
void page_free(struct page *page);
/* Serves the page below PAGE_PREFIX. */
void page_attach(struct page *page, struct server *server);

/* ---- Rows; page may be NULL, then nothing happens ---- */

void page_set_row(struct page *page, size_t kind, const struct row *row);
void page_remove_row(struct page *page, size_t kind, const char *namespace_name, const char *name);
const struct row *page_find_row(const struct page *page, size_t kind, const char *namespace_name,
                                const char *name);
void page_add_run(struct page *page, const struct history_run *run);

/* ---- Details ---- */

/* Ends the request. doc, which is taken over, has any of: "facts", "timeline", "error",
 * "conditions", "related" (docs/status-page.md); NULL with err NULL: no such object. */
void page_detail_answer(struct page_detail *detail, json_t *doc, const struct error *err);
/* The call is cancelled if the browser closes the connection. NULL: it is over. */
void page_detail_set_call(struct page_detail *detail, struct kube_call *call);
size_t page_detail_kind(const struct page_detail *detail);
void *page_detail_data(const struct page_detail *detail); /* of the source */

/* ---- Parts of documents ---- */

void page_add_fact(json_t *facts, const char *label, const char *value); /* NULL or "": nothing */
void page_set_text(json_t *doc, const char *key, const char *text);      /* NULL or "": nothing */
void page_set_time(json_t *doc, const char *key, int64_t unix_ms);       /* 0: nothing */
/* Conditions of a status: type, status, reason, message (first line), lastTransitionTime. New
 * reference. */
json_t *page_conditions(const json_t *conditions);
/* The first line, at most 1000 bytes of it: later lines of an error can be the end of a log. New
 * reference to a string. */
json_t *page_first_line(const char *text);
