/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/watched.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

struct watched_page {
    struct watched_options options;
    struct page_source source;
    struct page *page;
    struct {
        json_t *shown;  /* name -> namespace of the row */
        json_t *listed; /* names in the list that is being read; else NULL */
        bool is_synced;
    } kinds[PAGE_KINDS_MAX];
};

/* ---- Parts of objects ---- */

int64_t watched_time(const json_t *object, const char *path)
{
    const char *text = doc_text(object, path);
    struct error err = {0};
    int64_t unix_ms = 0;

    return text && timestamp_parse(text, &unix_ms, &err) == 0 && unix_ms > 0 ? unix_ms : 0;
}

const char *watched_label(const json_t *object, const char *label)
{
    const char *value = json_string_value(doc_member(doc_get(object, "metadata.labels"), label));

    return value ? value : "";
}

const char *watched_untrue(const json_t *conditions)
{
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "status", ""), "True") != 0)
            return doc_text_or(condition, "type", "");
    }
    return "";
}

/* ---- Rows ---- */

static void remove_row(struct watched_page *page, size_t kind, const char *name)
{
    const char *namespace_name = json_string_value(json_object_get(page->kinds[kind].shown, name));

    if (!namespace_name)
        return;
    if (page->options.watched[kind].forget)
        page->options.watched[kind].forget(page->options.data, name);
    page_remove_row(page->page, kind, namespace_name, name);
    (void)json_object_del(page->kinds[kind].shown, name);
}

static void set_row(struct watched_page *page, size_t kind, const json_t *object)
{
    char scratch[ROWS_TEXT_MAX] = "";
    struct row row = {.namespace_name = "",
                      .name = doc_text_or(object, "metadata.name", ""),
                      .type = "",
                      .reason = ""};
    const char *old = json_string_value(json_object_get(page->kinds[kind].shown, row.name));

    page->options.watched[kind].read(page->options.data, object, &row, scratch);
    if (old && strcmp(old, row.namespace_name) != 0)
        remove_row(page, kind, row.name);
    (void)json_object_set_new(page->kinds[kind].shown, row.name, doc_new_text(row.namespace_name));
    if (page->kinds[kind].listed)
        (void)json_object_set_new(page->kinds[kind].listed, row.name, json_true());
    page_set_row(page->page, kind, &row);
}

static void end_list(struct watched_page *page, size_t kind)
{
    cleanup_json json_t *gone = json_array();
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    doc_foreach(page->kinds[kind].shown, name, value)
    {
        if (!json_object_get(page->kinds[kind].listed, name))
            (void)json_array_append_new(gone, json_string(name));
    }
    json_array_foreach(gone, i, value)
    {
        remove_row(page, kind, json_string_value(value));
    }
    json_decref(steal(&page->kinds[kind].listed));
    page->kinds[kind].is_synced = true;
}

void watched_page_event(struct watched_page *page, size_t kind, enum kube_event event,
                        const json_t *object)
{
    if (!page)
        return;
    switch (event) {
    case KUBE_EVENT_LISTING:
        json_decref(page->kinds[kind].listed);
        page->kinds[kind].listed = json_object();
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        set_row(page, kind, object);
        break;
    case KUBE_EVENT_DELETED:
        remove_row(page, kind, doc_text_or(object, "metadata.name", ""));
        break;
    case KUBE_EVENT_SYNCED:
        end_list(page, kind);
        break;
    case KUBE_EVENT_BROKEN:
    case KUBE_EVENT_REWOUND:
        break; /* a list follows */
    }
}

/* ---- Detail ---- */

static void on_list(void *data, json_t *list, const struct error *err)
{
    struct page_detail *detail = data;
    const struct watched_page *page = page_detail_data(detail);
    const json_t *object = json_array_get(doc_member(list, "items"), 0);

    page_detail_set_call(detail, NULL);
    if (err->kind != ERROR_NONE || !object)
        page_detail_answer(detail, NULL, err->kind != ERROR_NONE ? err : NULL);
    else
        page_detail_answer(
            detail,
            page->options.watched[page_detail_kind(detail)].describe(page->options.data, object),
            NULL);
}

/* A list of one object needs no other permission than the watch does. */
static void show_detail(void *data, size_t kind, const char *namespace_name, const char *name,
                        struct page_detail *detail)
{
    const struct watched_page *page = data;
    cleanup_free char *selector = xasprintf("metadata.name=%s", name);
    const struct kube_request request = {.verb = KUBE_LIST,
                                         .resource = page->options.watched[kind].resource,
                                         .namespace_name = page->options.namespace_name,
                                         .field_selector = selector,
                                         .timeout_ms = PAGE_REQUEST_TIMEOUT_MS,
                                         .on_done = on_list,
                                         .data = detail};
    struct kube_call *call = NULL;
    struct error err = {0};

    (void)namespace_name;
    if (kube_start(page->options.kube, &request, &call, &err) < 0)
        page_detail_answer(detail, NULL, &err);
    else
        page_detail_set_call(detail, call);
}

/* ---- The process ---- */

static void describe(void *data, json_t *facts)
{
    const struct watched_page *page = data;

    page_add_fact(facts, "Role",
                  page->options.is_leader(page->options.command) ? "leader" : "standby");
}

static bool is_synced(void *data)
{
    const struct watched_page *page = data;

    for (size_t i = 0; i < page->options.kind_count; i++) {
        if (!page->kinds[i].is_synced)
            return false;
    }
    return true;
}

struct watched_page *watched_page_new(const struct watched_options *options, struct server *server)
{
    struct watched_page *page = xcalloc(1, sizeof(*page));
    const struct page_options page_options = {.loop = options->loop,
                                              .kube = options->kube,
                                              .is_authenticated = options->is_authenticated,
                                              .source = &page->source,
                                              .data = page};

    page->options = *options;
    page->source = (struct page_source){.program = options->program,
                                        .kinds = options->kinds,
                                        .kind_count = options->kind_count,
                                        .resource = options->watched[0].resource,
                                        .describe = describe,
                                        .is_synced = is_synced,
                                        .detail = show_detail};
    page->page = page_new(&page_options);
    for (size_t i = 0; i < options->kind_count; i++)
        page->kinds[i].shown = json_object();
    page_attach(page->page, server);
    return page;
}

struct watched_page *watched_page_open(struct watched_options *options, const char *mode,
                                       struct server *server)
{
    if (strcmp(mode, "off") == 0)
        return NULL;
    if (!server) {
        log_error("the status page is not served",
                  log_text("reason", "--ui needs the address of the metrics, which is off; set "
                                     "--metrics-address"));
        return NULL;
    }
    options->is_authenticated = watched_page_is_authenticated(mode);
    log_info("serving the status page", log_number("port", server_port(server)));
    return watched_page_new(options, server);
}

bool watched_page_is_authenticated(const char *mode)
{
    return strcmp(mode, "token") == 0;
}

void watched_page_free(struct watched_page *page)
{
    if (!page)
        return;
    page_free(page->page);
    for (size_t i = 0; i < PAGE_KINDS_MAX; i++) {
        json_decref(page->kinds[i].shown);
        json_decref(page->kinds[i].listed);
    }
    free(page);
}
