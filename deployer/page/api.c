/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of the API, described in docs/status-page.md. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/page/page_internal.h"

enum { LIMIT_DEFAULT = 50, LINE_MAX_BYTES = 1000 };

/* ---- Parts ---- */

void page_set_text(json_t *doc, const char *key, const char *text)
{
    if (text && *text)
        (void)json_object_set_new(doc, key, doc_new_text(text));
}

void page_set_time(json_t *doc, const char *key, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX] = "";

    if (unix_ms <= 0)
        return;
    timestamp_format(unix_ms, text);
    (void)json_object_set_new(doc, key, json_string(text));
}

void page_add_fact(json_t *facts, const char *label, const char *value)
{
    json_t *fact = NULL;

    if (!value || !*value)
        return;
    fact = json_object();
    page_set_text(fact, "label", label);
    page_set_text(fact, "value", value);
    (void)json_array_append_new(facts, fact);
}

json_t *page_first_line(const char *text)
{
    size_t length = strcspn(text, "\n");

    return doc_new_string(text, length < LINE_MAX_BYTES ? length : LINE_MAX_BYTES);
}

json_t *page_conditions(const json_t *conditions)
{
    static const char *const keys[] = {"type", "status", "reason", "lastTransitionTime"};
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *from = json_array_get(conditions, i);
        const char *message = doc_text(from, "message");
        json_t *to = json_object();

        for (size_t k = 0; k < array_length(keys); k++)
            page_set_text(to, keys[k], doc_text(from, keys[k]));
        if (message && *message)
            (void)json_object_set_new(to, "message", page_first_line(message));
        (void)json_array_append_new(list, to);
    }
    return list;
}

/* ---- Overview ---- */

static json_t *states_of(const struct page *page, size_t kind)
{
    const struct page_state *states = page->source->kinds[kind].states;
    json_t *list = json_array();

    for (uint8_t i = 0; states[i].name; i++)
        (void)json_array_append_new(list, json_pack("{s:s,s:s,s:I}", "name", states[i].name, "tone",
                                                    states[i].tone, "count",
                                                    (json_int_t)rows_count(page->rows[kind], i)));
    return list;
}

/* Numbers of rows, with the names of their states. */
static json_t *counts_of(const struct page *page, size_t kind, const size_t counts[ROWS_STATES_MAX])
{
    const struct page_state *states = page->source->kinds[kind].states;
    json_t *by_state = json_object();

    for (size_t i = 0; states[i].name; i++)
        (void)json_object_set_new(by_state, states[i].name, json_integer((json_int_t)counts[i]));
    return by_state;
}

json_t *api_counts(const struct page *page)
{
    json_t *counts = json_object();

    for (size_t kind = 0; kind < page->source->kind_count; kind++) {
        size_t by_state[ROWS_STATES_MAX];

        rows_count_namespace(page->rows[kind], NULL, by_state);
        (void)json_object_set_new(counts, page->source->kinds[kind].name,
                                  counts_of(page, kind, by_state));
    }
    return counts;
}

static json_t *describe_kind(const struct page *page, size_t kind)
{
    const struct page_kind *known = &page->source->kinds[kind];
    json_t *doc = json_object();

    page_set_text(doc, "name", known->name);
    page_set_text(doc, "title", known->title);
    page_set_text(doc, "typeTitle", known->type_title);
    page_set_text(doc, "namespaceTitle", known->namespace_title);
    (void)json_object_set_new(doc, "total", json_integer((json_int_t)rows_total(page->rows[kind])));
    (void)json_object_set_new(doc, "states", states_of(page, kind));
    return doc;
}

json_t *api_overview(const struct page *page)
{
    const struct page_source *source = page->source;
    int64_t now_unix_ms = clock_unix_ms(loop_clock(page->loop));
    json_t *doc = json_object(), *kinds = json_array(), *facts = json_array();

    page_set_text(doc, "program", source->program);
    page_set_text(doc, "programVersion", LONGSHORE_VERSION);
    page_set_time(doc, "time", now_unix_ms);
    page_set_time(doc, "startedAt", page->started_unix_ms);
    (void)json_object_set_new(doc, "version", json_integer((json_int_t)page->version));
    (void)json_object_set_new(doc, "isComplete",
                              json_boolean(!source->is_synced || source->is_synced(page->data)));
    if (source->describe)
        source->describe(page->data, facts);
    (void)json_object_set_new(doc, "facts", facts);
    for (size_t i = 0; i < source->kind_count; i++)
        (void)json_array_append_new(kinds, describe_kind(page, i));
    (void)json_object_set_new(doc, "kinds", kinds);
    if (source->has_runs)
        (void)json_object_set_new(doc, "minutes", history_minutes(page->history, now_unix_ms));
    return doc;
}

/* ---- Rows ---- */

json_t *api_row(const struct page *page, size_t kind, const struct row *row)
{
    json_t *doc = json_object();

    page_set_text(doc, "namespace", row->namespace_name);
    page_set_text(doc, "name", row->name);
    page_set_text(doc, "type", row->type);
    page_set_text(doc, "state", page->source->kinds[kind].states[row->state].name);
    page_set_text(doc, "reason", row->reason);
    page_set_time(doc, "changedAt", row->changed_unix_ms);
    page_set_time(doc, "startedAt", row->started_unix_ms);
    page_set_time(doc, "finishedAt", row->finished_unix_ms);
    return doc;
}

size_t api_kind(const struct page *page, const struct exchange *exchange)
{
    cleanup_free char *name = exchange_parameter(exchange, "kind");

    for (size_t i = 0; name && i < page->source->kind_count; i++) {
        if (strcmp(page->source->kinds[i].name, name) == 0)
            return i;
    }
    return name ? PAGE_KINDS_MAX : 0;
}

/* "Failed,DeleteFailed". False: an unknown name. */
static bool read_states(const struct page_state *states, const char *text, uint32_t *ret_states)
{
    while (text && *text) {
        size_t length = strcspn(text, ",");
        uint32_t found = 0;

        for (uint8_t i = 0; states[i].name; i++) {
            if (strlen(states[i].name) == length && memcmp(states[i].name, text, length) == 0)
                found = 1u << i;
        }
        if (!found)
            return false;
        *ret_states |= found;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool read_number(const struct exchange *exchange, const char *name, uint64_t max,
                        size_t *ret_number)
{
    cleanup_free char *text = exchange_parameter(exchange, name);
    uint64_t number = 0;

    if (!text)
        return true;
    if (!number_parse(text, max, &number))
        return false;
    *ret_number = (size_t)number;
    return true;
}

static bool read_order(const char *text, struct rows_query *query)
{
    static const struct {
        const char *name;
        enum rows_order order;
        bool is_reverse;
    } orders[] = {
        {"recent", ROWS_BY_CHANGE, false},    {"oldest", ROWS_BY_CHANGE, true},
        {"name", ROWS_BY_NAME, false},        {"-name", ROWS_BY_NAME, true},
        {"longest", ROWS_BY_DURATION, false}, {"shortest", ROWS_BY_DURATION, true},
    };

    for (size_t i = 0; i < array_length(orders); i++) {
        if (!text || strcmp(text, orders[i].name) == 0) {
            query->order = orders[i].order;
            query->is_reverse = orders[i].is_reverse;
            return true;
        }
    }
    return false;
}

/* The parameters kind, offset and limit, which both lists have. Returns what is wrong, or NULL. */
static const char *read_query(const struct page *page, const struct exchange *exchange,
                              size_t *ret_kind, struct rows_query *ret_query)
{
    *ret_kind = api_kind(page, exchange);
    ret_query->limit = LIMIT_DEFAULT;
    if (*ret_kind == PAGE_KINDS_MAX)
        return "unknown \"kind\"; the overview lists them";
    if (!read_number(exchange, "offset", UINT32_MAX, &ret_query->offset))
        return "\"offset\" must be a whole number";
    if (!read_number(exchange, "limit", ROWS_LIMIT_MAX, &ret_query->limit) || ret_query->limit == 0)
        return "\"limit\" must be a number from 1 to 200";
    return NULL;
}

/* A page of a list, which is taken over. */
static json_t *list_of(const struct page *page, size_t kind, const struct rows_query *query,
                       size_t total, const char *key, json_t *list)
{
    return json_pack("{s:s,s:I,s:I,s:I,s:o}", "kind", page->source->kinds[kind].name, "version",
                     (json_int_t)page->version, "total", (json_int_t)total, "offset",
                     (json_int_t)query->offset, key, list);
}

static json_t *find_rows(const struct page *page, size_t kind, const struct rows_query *query)
{
    const struct row *found[ROWS_LIMIT_MAX];
    size_t counts[ROWS_STATES_MAX], total = 0;
    size_t count = rows_find_all(page->rows[kind], query, found, &total);
    json_t *list = json_array(), *doc = NULL;

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, api_row(page, kind, found[i]));
    doc = list_of(page, kind, query, total, "rows", list);
    rows_count_namespace(page->rows[kind], query->namespace_name, counts);
    (void)json_object_set_new(doc, "counts", counts_of(page, kind, counts));
    return doc;
}

json_t *api_rows(const struct page *page, const struct exchange *exchange, const char **ret_problem)
{
    cleanup_free char *search = exchange_parameter(exchange, "search");
    cleanup_free char *namespace_name = exchange_parameter(exchange, "namespace");
    cleanup_free char *type = exchange_parameter(exchange, "type");
    cleanup_free char *state = exchange_parameter(exchange, "state");
    cleanup_free char *order = exchange_parameter(exchange, "order");
    struct rows_query query = {.search = search,
                               .namespace_name = namespace_name,
                               .type = type,
                               .now_unix_ms = clock_unix_ms(loop_clock(page->loop))};
    size_t kind = 0;

    *ret_problem = read_query(page, exchange, &kind, &query);
    if (*ret_problem)
        return NULL;
    if (!read_states(page->source->kinds[kind].states, state, &query.states))
        *ret_problem = "unknown \"state\"; the overview lists the states of each kind";
    else if (!read_order(order, &query))
        *ret_problem = "\"order\" must be recent, oldest, name, -name, longest or shortest";
    return *ret_problem ? NULL : find_rows(page, kind, &query);
}

json_t *api_namespaces(const struct page *page, const struct exchange *exchange,
                       const char **ret_problem)
{
    cleanup_free char *search = exchange_parameter(exchange, "search");
    struct rows_namespace found[ROWS_LIMIT_MAX];
    struct rows_query query = {.search = search};
    size_t kind = 0, total = 0, count = 0;
    json_t *list = NULL;

    *ret_problem = read_query(page, exchange, &kind, &query);
    if (*ret_problem)
        return NULL;
    list = json_array();
    count = rows_find_namespaces(page->rows[kind], &query, found, &total);
    for (size_t i = 0; i < count; i++) {
        json_t *doc = json_object();

        page_set_text(doc, "name", found[i].name);
        (void)json_object_set_new(doc, "total", json_integer((json_int_t)found[i].total));
        (void)json_object_set_new(doc, "counts", counts_of(page, kind, found[i].counts));
        (void)json_array_append_new(list, doc);
    }
    return list_of(page, kind, &query, total, "namespaces", list);
}
