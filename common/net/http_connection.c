/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to one server. It waits for its turn, curl connects, OpenSSL does the handshake, and
 * then nghttp2's frames are read and written. Nothing here calls the owner of a call except, from
 * inside nghttp2, on_data. */
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/memory.h"
#include "common/net/http_nghttp2.h"

enum {
    TLS_RECORD_SIZE = 16 * 1024,
    OUT_MAX = 1024 * 1024,
};

#define CLOSED_BY_SERVER "connection closed by the server"

/* ---- Lists ---- */

void connection_mark_dirty(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    if (!connection->is_dirty) {
        connection->is_dirty = true;
        connection->next_dirty = state->dirty;
        state->dirty = connection;
    }
    http_work_later(connection->client);
}

/* New calls get another connection. */
static void retire(struct connection *connection)
{
    if (connection->origin->connection == connection)
        connection->origin->connection = NULL;
    connection_mark_dirty(connection);
}

void connection_drain(struct connection *connection)
{
    connection->is_draining = true;
    retire(connection);
}

static void remove_from_buffered(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    if (!connection->is_buffered)
        return;
    *(connection->newer ? &connection->newer->older : &state->newest) = connection->older;
    *(connection->older ? &connection->older->newer : &state->oldest) = connection->newer;
    connection->is_buffered = false;
    state->buffered_count--;
}

static void release_buffers(struct connection *connection)
{
    remove_from_buffered(connection);
    (void)SSL_free_buffers(connection->ssl); /* does nothing while they are in use */
    if (connection->out.size == 0)
        buffer_done(&connection->out);
    stream_release_buffers(connection);
}

/* Buffers are allocated by whoever needs them. Freeing them after each use would cost more than the
 * use, so those of the connections that were used last stay. */
static void note_buffers(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    if (state->newest == connection)
        return;
    remove_from_buffered(connection);
    connection->newer = NULL;
    connection->older = state->newest;
    *(state->newest ? &state->newest->newer : &state->oldest) = connection;
    state->newest = connection;
    connection->is_buffered = true;
    if (++state->buffered_count > HTTP_BUFFERED_MAX)
        release_buffers(state->oldest);
}

static void stop_connecting(struct connection *connection)
{
    connection->client->nghttp2->connecting_count -= connection->is_connecting;
    connection->is_connecting = false;
    http_work_later(connection->client); /* others may wait for their turn */
}

/* ---- The end ---- */

static void close_session(struct connection *connection)
{
    nghttp2_session_del(connection->session);
    connection->session = NULL;
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        exchange->stream_id = 0;
        exchange_unlink(exchange);
        exchange_free_if_unused(exchange);
    }
}

void connection_free(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    *(connection->previous ? &connection->previous->next : &state->connections) = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    stop_connecting(connection);
    remove_from_buffered(connection);
    liveness_forget(connection);
    loop_timer_stop(&connection->timer);
    close_session(connection);
    http_link_free(connection->link);
    http_tls_close(connection->ssl, !connection->is_lost);
    if (connection->fd >= 0) {
        loop_remove_fd(connection->client->loop, connection->fd);
        (void)close(connection->fd);
    }
    buffer_done(&connection->out);
    if (connection->origin->connection == connection)
        connection->origin->connection = NULL;
    origin_put(connection->origin);
    free(connection);
}

static void lose(struct connection *connection)
{
    connection->is_lost = true;
    stop_connecting(connection);
    liveness_forget(connection);
    loop_timer_stop(&connection->timer);
    /* It would stay ready for ever, and cannot be closed from inside nghttp2. */
    if (connection->fd >= 0)
        loop_remove_fd(connection->client->loop, connection->fd);
    retire(connection);
}

void connection_fail(struct connection *connection, const struct error *err, enum http_end end)
{
    lose(connection);
    for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next) {
        if (!exchange_is_live(exchange))
            continue;
        http_call_error(exchange->call, err->kind, "%s", err->text);
        http_call_err(exchange->call)->os = err->os;
        exchange_end(exchange, end);
    }
}

void connection_break(struct connection *connection, const char *reason)
{
    struct error err = {0};

    (void)error_set(&err, ERROR_TEMPORARY, "%s", reason);
    connection_fail(connection, &err, HTTP_END_BROKEN);
}

void connection_time_out(struct connection *connection, const char *reason)
{
    struct error err = {0};

    (void)error_set(&err, ERROR_TEMPORARY, "%s", reason);
    err.os = ETIMEDOUT;
    connection_fail(connection, &err, connection->session ? HTTP_END_BROKEN : HTTP_END_FAILED);
}

/* ---- Bytes ---- */

static void on_ready(void *data, uint32_t events);

static void await(struct connection *connection, uint32_t events)
{
    struct error err = {0};

    if (connection->awaited_events == events)
        return;
    connection->awaited_events = events;
    if (loop_set_fd(connection->client->loop, connection->fd, events, on_ready, connection, &err) <
        0)
        connection_break(connection, err.text);
}

/* After an operation of OpenSSL that did not succeed. False: it failed for good; err is set. */
static bool await_tls(struct connection *connection, int result, const char *what,
                      struct error *err)
{
    switch (SSL_get_error(connection->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        await(connection, EPOLLIN);
        return true;
    case SSL_ERROR_WANT_WRITE:
        await(connection, EPOLLIN | EPOLLOUT);
        return true;
    default:
        http_tls_error(connection->ssl, what, err);
        return false;
    }
}

static void receive(struct connection *connection)
{
    /* Release builds initialize all automatic variables; this one is too large for that. */
    __attribute__((uninitialized)) uint8_t bytes[TLS_RECORD_SIZE];
    struct error err = {0};

    connection_mark_dirty(connection);
    /* What OpenSSL has read ahead does not make the descriptor ready. */
    do {
        size_t size = 0;
        ssize_t taken = 0;

        ERR_clear_error();
        if (SSL_read_ex(connection->ssl, bytes, sizeof(bytes), &size) != 1) {
            if (!await_tls(connection, 0, CLOSED_BY_SERVER, &err))
                connection_fail(connection, &err, HTTP_END_BROKEN);
            return;
        }
        connection->received_ms = loop_now_ms(connection->client->loop);
        taken = nghttp2_session_mem_recv(connection->session, bytes, size);
        if (taken < 0) {
            connection_break(connection, nghttp2_strerror((int)taken));
            return;
        }
    } while (SSL_has_pending(connection->ssl));
}

/* Frames are gathered, so that what is sent at one time becomes one TLS record and one write. */
static void gather(struct connection *connection)
{
    const uint8_t *bytes = NULL;
    ssize_t size = 0;

    while (connection->out.size < TLS_RECORD_SIZE &&
           (size = nghttp2_session_mem_send(connection->session, &bytes)) > 0) {
        struct error err = {0};

        connection->is_frame_block_used = true;
        if (buffer_append(&connection->out, bytes, (size_t)size, &err) < 0) {
            connection_break(connection, err.text);
            return;
        }
    }
    if (size < 0)
        connection_break(connection, nghttp2_strerror((int)size));
}

/* Ends the exchanges that may not be written any more, and whose requests are not completely
 * written: they waited for a free stream, for the server's window or for the socket. Returns
 * whether there was one. */
static bool refuse_unsent(struct connection *connection)
{
    size_t left = connection->unsent_count;
    bool is_any = false;

    for (struct exchange *exchange = connection->exchanges; left > 0 && exchange;
         exchange = exchange->next) {
        if (!exchange->is_unsent)
            continue;
        left--;
        if (exchange->is_gathered && connection->out.size == 0) {
            exchange_note_sent(exchange);
        } else if (exchange_is_live(exchange) && http_call_is_refused(exchange->call)) {
            /* Headers that wait in nghttp2 are dropped, a body is cut off. */
            (void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE,
                                            exchange->stream_id, NGHTTP2_CANCEL);
            exchange_end(exchange, HTTP_END_FAILED);
            is_any = true;
        }
    }
    return is_any;
}

static void flush_connection(struct connection *connection)
{
    struct error err = {0};

    note_buffers(connection);
    for (;;) {
        bool is_refused = refuse_unsent(connection);
        size_t sent = 0;

        if (connection->out.size == 0)
            gather(connection);
        else if (is_refused)
            connection_break(connection, HTTP_REFUSED_IN_BUFFER);
        if (connection->is_lost || connection->out.size == 0)
            break;
        ERR_clear_error();
        if (SSL_write_ex(connection->ssl, connection->out.data, connection->out.size, &sent) != 1) {
            if (!await_tls(connection, 0, CLOSED_BY_SERVER, &err))
                connection_fail(connection, &err, HTTP_END_BROKEN);
            return;
        }
        buffer_consume(&connection->out, sent);
    }
    if (connection->is_lost)
        return;
    await(connection, EPOLLIN);
    /* nghttp2 has sent GOAWAY because the server violated the protocol. */
    if (!nghttp2_session_want_read(connection->session) &&
        !nghttp2_session_want_write(connection->session))
        connection_break(connection, "the server violated the HTTP/2 protocol");
}

/* ---- Connecting ---- */

/* Requests to this server are sent by curl from now on: asking again would cost a connection. */
static void give_up_http2(struct connection *connection)
{
    connection->client->nghttp2->http1_count += !connection->origin->is_http1;
    connection->origin->is_http1 = true;
    lose(connection);
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        if (exchange_is_live(exchange))
            http_call_requeue(exchange->call);
    }
}

static void on_handshake_done(struct connection *connection)
{
    const unsigned char *name = NULL;
    unsigned length = 0;

    stop_connecting(connection);
    SSL_get0_alpn_selected(connection->ssl, &name, &length);
    if (length != 2 || memcmp(name, "h2", 2) != 0) {
        give_up_http2(connection);
        return;
    }
    http_tls_trim(connection->client->nghttp2->tls, connection->ssl);
    loop_timer_stop(&connection->timer);
    liveness_watch(connection);
    stream_open_session(connection);
    await(connection, EPOLLIN);
    /* OpenSSL may have read the server's settings together with the end of the handshake. No call
     * has a stream yet, so no owner is called. */
    if (!connection->is_lost)
        receive(connection);
}

static void shake_hands(struct connection *connection)
{
    struct error err = {0};
    int result = 0;

    ERR_clear_error();
    result = SSL_do_handshake(connection->ssl);
    if (result == 1) {
        on_handshake_done(connection);
    } else if (!await_tls(connection, result, "TLS handshake failed", &err)) {
        SSL_SESSION_free(connection->origin->session);
        connection->origin->session = NULL;
        connection_fail(connection, &err, HTTP_END_FAILED);
    }
}

static void on_ready(void *data, uint32_t events)
{
    struct connection *connection = data;
    struct http_client *client = connection->client;

    if (client->depth)
        return; /* on_data of a call runs the loop; the descriptor stays ready */
    http_enter(client);
    connection_mark_dirty(connection);
    if (!connection->is_lost && !connection->session)
        shake_hands(connection);
    else if (!connection->is_lost && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(connection);
    http_leave(client);
}

static int begin_handshake(struct connection *connection, const struct http_transfer *link,
                           struct error *err)
{
    struct http_client *client = connection->client;
    struct origin *origin = connection->origin;
    const struct http_url *url = NULL;

    connection->fd = http_link_socket(link);
    if (connection->fd < 0)
        return error_set_errno(err, errno, "connect to \"%s\"", origin->text);
    if (http_origin_of(client, origin->text, &url, err) < 0)
        return -1;
    return http_tls_open(client->nghttp2->tls, origin->tls, url, connection->fd, &origin->session,
                         &connection->ssl, err);
}

static void fail_to_connect(struct connection *connection, const struct http_transfer *link,
                            CURLcode code)
{
    lose(connection);
    for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next) {
        if (!exchange_is_live(exchange))
            continue;
        http_transfer_error(link, code, exchange->call);
        exchange_end(exchange, HTTP_END_FAILED);
    }
}

static void on_link_done(void *data, struct http_transfer *link, CURLcode code)
{
    struct connection *connection = data;
    struct error err = {0};

    connection->link = NULL;
    if (code != CURLE_OK)
        fail_to_connect(connection, link, code);
    else if (connection->call_count == 0)
        lose(connection); /* and the TLS settings may be gone */
    else if (begin_handshake(connection, link, &err) < 0)
        connection_fail(connection, &err, HTTP_END_FAILED);
    http_link_free(link);
    if (!connection->is_lost)
        shake_hands(connection);
}

static void start_connecting(struct connection *connection)
{
    cleanup_free char *url = xasprintf("%s/", connection->origin->text);
    const struct http_request request = {
        .method = "GET", .url = url, .connect_timeout_ms = connection->connect_timeout_ms};
    struct error err = {0};

    connection->is_connecting = true;
    connection->client->nghttp2->connecting_count++;
    loop_timer_start(&connection->timer, connection->connect_timeout_ms);
    if (http_link_open(connection->client, &request, on_link_done, connection, &connection->link,
                       &err) < 0)
        connection_fail(connection, &err, HTTP_END_FAILED);
}

void connections_start_waiting(struct http_nghttp2 *state)
{
    while (state->waiting && state->connecting_count < HTTP_CONNECTING_MAX) {
        struct connection *connection = state->waiting;

        state->waiting = connection->next_waiting;
        if (!state->waiting)
            state->waiting_end = &state->waiting;
        connection->is_waiting = false;
        if (connection->call_count > 0)
            start_connecting(connection);
        else
            lose(connection);
    }
}

static void on_connect_timeout(void *data)
{
    connection_time_out(data, "connection timed out");
}

struct connection *connection_new(const struct http_call *call)
{
    struct connection *connection = xcalloc(1, sizeof(*connection));
    struct http_nghttp2 *state = call->client->nghttp2;
    const struct http_request *request = &call->input->request;

    connection->client = call->client;
    connection->fd = -1;
    connection->connect_timeout_ms = request->connect_timeout_ms
                                         ? (uint32_t)request->connect_timeout_ms
                                         : HTTP_CONNECT_TIMEOUT_MS;
    connection->origin = origin_get(state, request->tls, request->url);
    connection->origin->connection = connection;
    buffer_init(&connection->out, OUT_MAX);
    loop_timer_init(&connection->timer, call->client->loop, on_connect_timeout, connection);
    connection->next = state->connections;
    if (connection->next)
        connection->next->previous = connection;
    state->connections = connection;
    connection->is_waiting = true;
    *state->waiting_end = connection;
    state->waiting_end = &connection->next_waiting;
    return connection;
}

/* ---- All connections that have something to do ---- */

void connections_flush(struct http_client *client)
{
    struct http_nghttp2 *state = client->nghttp2;

    while (state->dirty) {
        struct connection *connection = state->dirty;

        state->dirty = connection->next_dirty;
        connection->is_dirty = false;
        state->visit_count++;
        if (connection->session && !connection->is_lost)
            flush_connection(connection);
        if (connection->call_count == 0 && (connection->is_lost || connection->is_draining) &&
            !connection->is_dirty && !connection->is_waiting)
            connection_free(connection);
    }
    connections_start_waiting(state);
}
