/* SPDX-License-Identifier: Apache-2.0 */
/* The transport for many calls to one server: they share one HTTP/2 connection. See
 * http_transport.h for why it exists, and http_nghttp2.h for its parts.
 *
 * Nothing here calls the owner of a call except finish_exchanges(). A call that ends is only put
 * into the list of ended ones. */
#include "common/net/http_nghttp2.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

/* ---- Exchanges ---- */

static void link_exchange(struct connection *connection, struct exchange *exchange)
{
    exchange->connection = connection;
    exchange->previous = NULL;
    exchange->next = connection->exchanges;
    if (exchange->next)
        exchange->next->previous = exchange;
    connection->exchanges = exchange;
}

void exchange_note_sent(struct exchange *exchange)
{
    exchange->connection->unsent_count -= exchange->is_unsent;
    exchange->is_unsent = false;
}

void exchange_unlink(struct exchange *exchange)
{
    if (!exchange->connection || exchange->is_attached || exchange->stream_id)
        return;
    *(exchange->previous ? &exchange->previous->next : &exchange->connection->exchanges) =
        exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    exchange->connection = NULL;
}

void exchange_free_if_unused(struct exchange *exchange)
{
    if (exchange->connection || exchange->call || exchange->is_ended)
        return;
    if (exchange->headers)
        buffer_done(exchange->headers);
    free(exchange->headers);
    free(exchange);
}

void exchange_end(struct exchange *exchange, enum http_end end)
{
    struct http_nghttp2 *state = exchange->call->client->nghttp2;

    exchange->is_ended = true;
    exchange->end = end;
    exchange->next_ended = NULL;
    *state->ended_end = exchange;
    state->ended_end = &exchange->next_ended;
    http_work_later(exchange->call->client);
}

bool exchange_is_live(const struct exchange *exchange)
{
    return exchange->call && exchange->is_attached && !exchange->is_ended &&
           exchange->call->state == HTTP_CALL_RUNNING;
}

static struct exchange *pop_ended(struct http_nghttp2 *state)
{
    struct exchange *exchange = state->ended;

    state->ended = exchange->next_ended;
    if (!state->ended)
        state->ended_end = &state->ended;
    exchange->is_ended = false;
    return exchange;
}

/* ---- The transport ---- */

static int open_nghttp2(struct http_client *client, struct error *err)
{
    struct http_nghttp2 *state = xcalloc(1, sizeof(*state));

    (void)err;
    client->nghttp2 = state;
    state->tls = http_tls_context_new();
    state->ended_end = &state->ended;
    state->waiting_end = &state->waiting;
    liveness_init(&state->liveness, client->loop);
    /* curl would pass the bytes of the connection through the TLS of the proxy. */
    state->has_tls_proxy = http_link_has_tls_proxy();
    return 0;
}

static void close_nghttp2(struct http_client *client)
{
    struct http_nghttp2 *state = client->nghttp2;

    if (!state)
        return;
    while (state->ended)
        exchange_free_if_unused(pop_ended(state));
    while (state->connections)
        connection_free(state->connections);
    liveness_done(&state->liveness);
    origins_free(state);
    http_tls_context_free(state->tls);
    free(state);
    client->nghttp2 = NULL;
}

static bool is_without_http2(const struct http_nghttp2 *state, const struct http_request *request)
{
    const struct origin *origin =
        state->http1_count ? origin_find(state, request->tls, request->url) : NULL;

    return origin && origin->is_http1;
}

static bool accepts(const struct http_client *client, const struct http_request *request)
{
    return request->is_multiplexed && !client->nghttp2->has_tls_proxy && !request->basic_user &&
           request->redirects_max == 0 && request->header_count <= HTTP_REQUEST_HEADERS_MAX &&
           strncmp(request->url, "https://", strlen("https://")) == 0 &&
           request->url[origin_length(request->url)] == '/' &&
           !is_without_http2(client->nghttp2, request);
}

static int prepare_exchange(struct http_call *call, struct error *err)
{
    struct exchange *exchange = xcalloc(1, sizeof(*exchange));

    (void)err;
    exchange->call = call;
    call->exchange = exchange;
    return 0;
}

static void detach_exchange(struct http_call *call, bool is_success)
{
    struct exchange *exchange = call->exchange;
    struct connection *connection = exchange->connection;

    (void)is_success;
    if (!exchange->is_attached)
        return;
    if (exchange->is_unsent && !connection->is_lost && connection->out.size > 0 &&
        http_call_is_refused(call))
        connection_break(connection, HTTP_REFUSED_IN_BUFFER);
    exchange_note_sent(exchange);
    exchange->is_attached = false;
    connection->call_count--;
    connection_mark_dirty(connection);
    if (exchange->stream_id)
        (void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, exchange->stream_id,
                                        NGHTTP2_CANCEL);
    exchange_unlink(exchange);
}

static void release_exchange(struct http_call *call)
{
    struct exchange *exchange = call->exchange;

    detach_exchange(call, false);
    call->exchange = NULL;
    exchange->call = NULL;
    exchange_free_if_unused(exchange);
}

static int send_exchange(struct http_call *call, struct error *err)
{
    struct http_nghttp2 *state = call->client->nghttp2;
    struct exchange *exchange = call->exchange;
    const struct http_request *request = &call->input->request;
    const struct origin *origin = origin_find(state, request->tls, request->url);
    struct connection *connection = origin ? origin->connection : NULL;

    if (!connection)
        connection = connection_new(call);
    link_exchange(connection, exchange);
    exchange->is_attached = true;
    exchange->sent_ms = loop_now_ms(call->client->loop);
    connection->call_count++;
    if (!connection->is_ready) {
        connections_start_waiting(state);
        return 0;
    }
    if (stream_open(exchange) == 0)
        return 0;
    connection_drain(connection);
    detach_exchange(call, false);
    return send_exchange(call, err);
}

/* A slow response alone does not show that the connection is dead: other calls may be receiving. A
 * connection that is being made has a timeout of its own. */
static void drain_if_idle(struct http_call *call)
{
    const struct exchange *exchange = call->exchange;
    struct connection *connection = exchange->connection;
    uint64_t now_ms = loop_now_ms(call->client->loop);

    if (connection && connection->session &&
        now_ms - connection->received_ms >= (now_ms - exchange->sent_ms) / 2)
        connection_drain(connection);
}

static bool is_waiting(const struct http_call *call)
{
    const struct exchange *exchange = call->exchange;

    return exchange->connection && exchange->connection->is_waiting;
}

static uint64_t exchange_bytes(const struct http_call *call)
{
    const struct exchange *exchange = call->exchange;

    return exchange->body_bytes;
}

static const char *response_header(const struct http_call *call, const char *name, size_t index)
{
    const struct exchange *exchange = call->exchange;
    const char *text = exchange->headers ? exchange->headers->data : NULL;
    const char *end = text ? text + exchange->headers->size : NULL;

    while (text < end) {
        const char *value = text + strlen(text) + 1;

        if (strcasecmp(text, name) == 0 && index-- == 0)
            return value;
        text = value + strlen(value) + 1;
    }
    return NULL;
}

static void finish_exchanges(struct http_client *client)
{
    struct http_nghttp2 *state = client->nghttp2;

    while (state->ended) {
        struct exchange *exchange = pop_ended(state);

        /* If it was cancelled, http.c frees it. */
        if (exchange->call && exchange->call->state == HTTP_CALL_RUNNING)
            http_call_finish(exchange->call, exchange->end);
        else
            exchange_free_if_unused(exchange);
    }
}

void http_forget(struct http_client *client, const struct http_tls *tls, const char *url)
{
    struct http_nghttp2 *state = client->nghttp2;
    bool is_https = strncmp(url, "https://", strlen("https://")) == 0;
    struct origin *origin = is_https ? origin_find(state, tls, url) : NULL;
    struct connection *connection = origin ? origin->connection : NULL;

    if (!origin)
        return;
    if (connection)
        connection_drain(connection);
    origin_forget(state, origin);
}

const struct http_transport http_nghttp2_transport = {
    .open = open_nghttp2,
    .close = close_nghttp2,
    .accepts = accepts,
    .prepare = prepare_exchange,
    .send = send_exchange,
    .detach = detach_exchange,
    .release = release_exchange,
    .note_timeout = drain_if_idle,
    .is_waiting = is_waiting,
    .body_bytes = exchange_bytes,
    .header = response_header,
    .finish_ended = finish_exchanges,
    .flush = connections_flush,
};
