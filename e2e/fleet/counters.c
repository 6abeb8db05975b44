/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/counters.h"

#include "common/base/memory.h"

static const char *const names[] = {
    [VERB_GET] = "get",       [VERB_LIST] = "list",
    [VERB_WATCH] = "watch",   [VERB_CREATE] = "create",
    [VERB_UPDATE] = "update", [VERB_PATCH] = "patch",
    [VERB_DELETE] = "delete", [VERB_DELETE_COLLECTION] = "deletecollection",
    [VERB_OTHER] = "other",
};

const char *verb_name(enum verb verb)
{
    return names[verb];
}

void counters_done(struct counters *counters, struct text_pool *pool)
{
    for (size_t i = 0; i < counters->count; i++)
        text_release(pool, counters->rows[i].resource);
    free(counters->rows);
    counters->rows = NULL;
    counters->count = 0;
}

void counters_reset(struct counters *counters, struct text_pool *pool)
{
    counters_done(counters, pool);
    *counters = (struct counters){.open_connections = counters->open_connections,
                                  .open_watches = counters->open_watches,
                                  .in_flight = counters->in_flight,
                                  .most_in_flight = counters->in_flight};
}

static struct counter *find(const struct counters *counters, const struct text *resource,
                            uint8_t verb, uint16_t code)
{
    for (size_t i = 0; i < counters->count; i++) {
        struct counter *row = &counters->rows[i];

        if (row->resource == resource && row->verb == verb && row->code == code)
            return row;
    }
    return NULL;
}

/* Takes resource over. */
static void add(struct counters *counters, struct text_pool *pool, struct text *resource,
                uint8_t verb, uint16_t code, uint32_t count)
{
    struct counter *row = find(counters, resource, verb, code);

    if (row) {
        row->count += count;
        text_release(pool, resource);
        return;
    }
    counters->rows = xreallocarray(counters->rows, counters->count + 1, sizeof(*counters->rows));
    counters->rows[counters->count++] =
        (struct counter){.resource = resource, .count = count, .code = code, .verb = verb};
}

static bool is_write(enum verb verb)
{
    return verb >= VERB_CREATE && verb <= VERB_DELETE_COLLECTION;
}

void counters_begin(struct counters *counters)
{
    counters->in_flight++;
    if (counters->most_in_flight < counters->in_flight)
        counters->most_in_flight = counters->in_flight;
}

void counters_note(struct counters *counters, struct text_pool *pool, enum verb verb,
                   const char *resource, int code)
{
    counters->requests++;
    counters->writes += is_write(verb);
    add(counters, pool, text_get_string(pool, resource), (uint8_t)verb, (uint16_t)code, 1);
}

void counters_add(struct counters *sum, struct text_pool *pool, const struct counters *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const struct counter *row = &more->rows[i];

        add(sum, pool, text_take(row->resource), row->verb, row->code, row->count);
    }
    sum->requests += more->requests;
    sum->writes += more->writes;
    sum->connections += more->connections;
    sum->handshakes += more->handshakes;
    sum->resumed_handshakes += more->resumed_handshakes;
    sum->failed_handshakes += more->failed_handshakes;
    sum->bytes_received += more->bytes_received;
    sum->bytes_sent += more->bytes_sent;
    sum->watch_events += more->watch_events;
    sum->open_connections += more->open_connections;
    sum->open_watches += more->open_watches;
    sum->in_flight += more->in_flight;
    if (sum->most_in_flight < more->most_in_flight)
        sum->most_in_flight = more->most_in_flight;
}

json_t *counters_json(const struct counters *counters)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < counters->count; i++) {
        const struct counter *row = &counters->rows[i];

        (void)json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:I}", "verb",
                                                    verb_name((enum verb)row->verb), "resource",
                                                    row->resource->bytes, "code", (int)row->code,
                                                    "count", (json_int_t)row->count));
    }
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "requests",
        (json_int_t)counters->requests, "writes", (json_int_t)counters->writes, "connections",
        (json_int_t)counters->connections, "handshakes", (json_int_t)counters->handshakes,
        "resumedHandshakes", (json_int_t)counters->resumed_handshakes, "failedHandshakes",
        (json_int_t)counters->failed_handshakes, "bytesReceived",
        (json_int_t)counters->bytes_received, "bytesSent", (json_int_t)counters->bytes_sent,
        "watchEvents", (json_int_t)counters->watch_events, "openConnections",
        (json_int_t)counters->open_connections, "openWatches", (json_int_t)counters->open_watches,
        "inFlight", (json_int_t)counters->in_flight, "mostInFlight",
        (json_int_t)counters->most_in_flight, "byRequest", rows);
}
