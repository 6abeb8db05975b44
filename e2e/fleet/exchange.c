/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/exchange.h"

#include <string.h>

#include "common/base/memory.h"
#include "e2e/fleet/connection.h"

enum { BODY_MAX = 4 * 1024 * 1024 };

struct exchange *exchange_new(struct connection *connection, int32_t stream_id)
{
    struct exchange *exchange = xcalloc(1, sizeof(*exchange));

    exchange->connection = connection;
    exchange->stream_id = stream_id;
    buffer_init(&exchange->body, BODY_MAX);
    buffer_init(&exchange->output, SIZE_MAX);
    exchange->next = connection->exchanges;
    exchange->place = &connection->exchanges;
    if (exchange->next)
        exchange->next->place = &exchange->next;
    connection->exchanges = exchange;
    return exchange;
}

void exchange_count(struct exchange *exchange)
{
    exchange->is_in_flight = true;
    counters_begin(&exchange->connection->cluster->counters);
}

static void uncount(struct exchange *exchange)
{
    if (exchange->is_in_flight)
        exchange->connection->cluster->counters.in_flight--;
    exchange->is_in_flight = false;
}

void exchange_free(struct exchange *exchange)
{
    uncount(exchange);
    *exchange->place = exchange->next;
    if (exchange->next)
        exchange->next->place = exchange->place;
    if (exchange->on_closed)
        exchange->on_closed(exchange->owner);
    loop_timer_stop(&exchange->timer);
    free(exchange->method);
    free(exchange->target);
    free(exchange->content_type);
    free(exchange->accept);
    free(exchange->authorization);
    free(exchange->user_agent);
    buffer_done(&exchange->body);
    buffer_done(&exchange->output);
    free(exchange);
}

static bool is_name(const char *name, size_t size, const char *wanted)
{
    return strlen(wanted) == size && strncasecmp(name, wanted, size) == 0;
}

void exchange_add_header(struct exchange *exchange, const char *name, size_t name_size,
                         const char *value, size_t value_size)
{
    struct {
        const char *name;
        char **place;
    } known[] = {
        {":method", &exchange->method},
        {":path", &exchange->target},
        {"content-type", &exchange->content_type},
        {"accept", &exchange->accept},
        {"authorization", &exchange->authorization},
        {"user-agent", &exchange->user_agent},
    };

    for (size_t i = 0; i < array_length(known); i++) {
        if (!is_name(name, name_size, known[i].name))
            continue;
        free(*known[i].place);
        *known[i].place = xstrndup(value, value_size);
    }
}

void exchange_reply(struct exchange *exchange, const struct reply *reply)
{
    struct connection *connection = exchange->connection;

    uncount(exchange);
    exchange->is_ended = true;
    if (!connection->session) {
        http1_begin(exchange, reply->code, reply->content_type, reply->retry_after_s, reply);
        http1_end(exchange);
        return;
    }
    put_bytes(&exchange->output, reply->body.data ? reply->body.data : "", reply->body.size);
    http2_begin(exchange, reply->code, reply->content_type, reply->retry_after_s);
    connection_flush(connection);
}

void exchange_begin(struct exchange *exchange, int code, const char *content_type)
{
    uncount(exchange);
    if (exchange->connection->session)
        http2_begin(exchange, code, content_type, 0);
    else
        http1_begin(exchange, code, content_type, 0, NULL);
    connection_flush(exchange->connection);
}

void exchange_write(struct exchange *exchange, const void *bytes, size_t size)
{
    struct connection *connection = exchange->connection;

    if (connection->session) {
        put_bytes(&exchange->output, bytes, size);
        (void)nghttp2_session_resume_data(connection->session, exchange->stream_id);
    } else {
        http1_write(exchange, bytes, size);
    }
    connection_flush(connection);
}

void exchange_end(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;

    exchange->is_ended = true;
    if (connection->session)
        (void)nghttp2_session_resume_data(connection->session, exchange->stream_id);
    else
        http1_end(exchange);
    connection_flush(connection);
}

void exchange_break(struct exchange *exchange)
{
    connection_break(exchange->connection);
}
