/* SPDX-License-Identifier: Apache-2.0 */
/* A request to a cluster: who sends it, which fault it meets, what it is answered. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/fleet.h"

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_authentic(const struct cluster *cluster, const char *authorization)
{
    cleanup_free char *token = fleet_token(cluster);
    cleanup_free char *issued = xasprintf("fleet-%u-serviceaccount-", cluster->index);

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return false;
    authorization += 7;
    return strcmp(authorization, token) == 0 || strncmp(authorization, issued, strlen(issued)) == 0;
}

static void note(struct cluster *cluster, const struct exchange *exchange, enum verb verb,
                 const char *label, int code)
{
    cleanup_json json_t *line = NULL;
    cleanup_free char *text = NULL;

    counters_note(&cluster->counters, cluster->shared->pool, verb, label, code);
    if (!cluster->is_logged)
        return;
    line =
        json_pack("{s:I, s:i, s:s, s:s, s:s, s:s, s:i, s:s}", "number",
                  (json_int_t)++cluster->shared->logged, "port", exchange->connection->port,
                  "method", exchange->method, "target", exchange->target, "verb", verb_name(verb),
                  "resource", label, "code", code, "agent", text_or_empty(exchange->user_agent));
    if (cluster->has_logged_bodies && exchange->body.size > 0)
        (void)json_object_set_new(line, "body",
                                  doc_new_string(exchange->body.data, exchange->body.size));
    text = doc_dump(line);
    buffer_append_tail(&cluster->log, text, strlen(text));
    buffer_append_tail(&cluster->log, "\n", 1);
}

static const char *reason_of(int code)
{
    switch (code) {
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 429:
        return "TooManyRequests";
    case 503:
        return "ServiceUnavailable";
    default:
        return "InternalError";
    }
}

static void refuse(struct exchange *exchange, int code, uint32_t retry_after_s)
{
    cleanup_reply struct reply reply = {0};
    struct reply_details details = {0};

    reply_init(&reply);
    reply.retry_after_s = retry_after_s;
    reply_failure(&reply, code, reason_of(code), &details, "%s",
                  code == 401 ? "Unauthorized" : "fault of the simulated cluster");
    exchange_reply(exchange, &reply);
}

static struct api_call make_call(struct exchange *exchange, const struct query *query)
{
    struct api_call call = {
        .cluster = exchange->connection->cluster,
        .query = query,
        .method = exchange->method,
        .content_type = text_or_empty(exchange->content_type),
        .accept = text_or_empty(exchange->accept),
        .user_agent = text_or_empty(exchange->user_agent),
        .body = exchange->body.data ? exchange->body.data : "",
        .body_size = exchange->body.size,
    };

    api_resolve(&call);
    return call;
}

/* Processes the request as an API server without faults does. */
static void answer(const struct fleet *fleet, struct exchange *exchange)
{
    struct cluster *cluster = exchange->connection->cluster;
    cleanup_query struct query query = {0};
    cleanup_reply struct reply reply = {0};
    cleanup_free char *label = NULL;
    struct api_call call = {0};

    query_parse(exchange->target, &query);
    call = make_call(exchange, &query);
    label = api_label(&call);
    if (!is_authentic(cluster, exchange->authorization)) {
        note(cluster, exchange, call.verb, label, 401);
        refuse(exchange, 401, 0);
        return;
    }
    if (call.verb == VERB_WATCH) {
        note(cluster, exchange, call.verb, label, 200);
        (void)watch_start(&fleet->watch_settings, &call, exchange);
        return;
    }
    reply_init(&reply);
    api_handle(&call, &reply);
    note(cluster, exchange, call.verb, label, reply.code);
    exchange_reply(exchange, &reply);
}

struct delayed {
    const struct fleet *fleet;
    struct exchange *exchange;
};

static void on_delayed_closed(void *owner)
{
    free(owner);
}

static void on_delay_over(void *data)
{
    struct delayed *delayed = data;
    struct delayed copy = *delayed;

    copy.exchange->on_closed = NULL;
    free(delayed);
    answer(copy.fleet, copy.exchange);
}

static void delay(const struct fleet *fleet, struct exchange *exchange, uint32_t delay_ms)
{
    struct delayed *delayed = xmalloc(sizeof(*delayed));

    *delayed = (struct delayed){fleet, exchange};
    exchange->owner = delayed;
    exchange->on_closed = on_delayed_closed;
    loop_timer_init(&exchange->timer, fleet->loop, on_delay_over, delayed);
    loop_timer_start(&exchange->timer, delay_ms);
}

void fleet_on_request(void *data, struct exchange *exchange)
{
    const struct fleet *fleet = data;
    struct cluster *cluster = exchange->connection->cluster;
    cleanup_query struct query query = {0};
    cleanup_free char *label = NULL;
    struct fault fault = {0};
    struct api_call call = {0};

    exchange_count(exchange);
    if (!cluster->faults.first) {
        answer(fleet, exchange);
        return;
    }
    query_parse(exchange->target, &query);
    call = make_call(exchange, &query);
    label = api_label(&call);
    if (!faults_take(&cluster->faults, call.verb, label, &fault)) {
        answer(fleet, exchange);
        return;
    }
    switch (fault.type) {
    case FAULT_STATUS:
        note(cluster, exchange, call.verb, label, fault.code);
        refuse(exchange, fault.code, fault.retry_after_s);
        return;
    case FAULT_SLOW:
        delay(fleet, exchange, fault.delay_ms);
        return;
    case FAULT_HANG:
        note(cluster, exchange, call.verb, label, 0);
        return;
    case FAULT_RESET:
    case FAULT_DOWN:
    case FAULT_SILENT:
        note(cluster, exchange, call.verb, label, 0);
        exchange_break(exchange);
        return;
    }
}
