/* SPDX-License-Identifier: Apache-2.0 */
/* The transport for many calls to one server: they share one HTTP/2 connection, which curl makes
 * and nghttp2 speaks over. See http_transport.h for why it exists.
 *
 * Nothing here calls the owner of a call except finish_exchanges() and, from inside nghttp2,
 * on_data. A call that ends is only put into the list of ended ones. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/net/http_curl.h"

enum {
    TLS_RECORD_SIZE = 16 * 1024,
    OUT_MAX = 1024 * 1024,
    REQUEST_HEADERS_MAX = 16,
    ALL_HEADERS_MAX = REQUEST_HEADERS_MAX + 8,
    /* Received data is passed on at once, so the windows need not slow the server down. */
    STREAM_WINDOW = 4 * 1024 * 1024,
    CONNECTION_WINDOW = 16 * 1024 * 1024,
    STATUS_INFORMATIONAL_MAX = 199,
};

/* What is in a TLS record cannot be taken back, and the rest of the record cannot be left out. */
#define REFUSED_IN_BUFFER "connection closed to stop a request that is no longer allowed"

/* One connection and its session. */
struct connection {
    struct http_client *client;
    struct connection *next, *previous;
    struct connection *next_connecting;
    struct connection *next_dirty;
    bool is_dirty; /* has to be flushed, or closed */
    char *origin;  /* "https://host:port" */
    const struct http_tls *tls;
    struct http_transfer *link;
    nghttp2_session *session; /* NULL: not connected yet */
    bool is_ready;            /* the server's settings were received: streams can be opened */
    const SSL *ssl;           /* curl's; set when the handshake is done */
    int fd;
    bool is_write_awaited; /* the socket buffer is full */
    bool is_draining;      /* no new calls: GOAWAY received, or a call timed out */
    bool is_lost;
    uint64_t received_ms; /* when anything was received last */
    size_t call_count;
    size_t unsent_count; /* exchanges with is_unsent */
    struct exchange *exchanges;
    struct buffer out; /* frames to be written */
};

/* A call, and its stream if it has one. A call can be cancelled before its stream is closed, and
 * the server can close a stream before its call is finished; so an exchange is freed when neither
 * the call nor nghttp2 nor the list of ended ones refers to it. */
struct exchange {
    struct exchange *next, *previous; /* of the connection */
    struct exchange *next_ended;
    struct connection *connection; /* NULL: on none */
    struct http_call *call;        /* NULL: gone */
    bool is_attached;              /* counted in connection->call_count */
    int32_t stream_id;             /* 0: nghttp2 does not know it (any more) */
    bool is_unsent;                /* it has may_send, and a part of it may not be written yet */
    bool is_gathered;              /* its last frame is in connection->out, or written */
    bool is_ended;                 /* in the list of ended ones */
    enum http_end end;
    size_t body_sent;
    uint64_t sent_ms;      /* when it was put on the connection */
    uint64_t body_bytes;   /* in both directions */
    struct buffer headers; /* of the response: "name\0value\0..." */
};

struct http_nghttp2 {
    struct connection *connections, *connecting, *dirty;
    struct exchange *ended, **ended_end; /* oldest first */
    char **http1_origins;                /* servers without HTTP/2 */
    size_t http1_origin_count;
    bool has_tls_proxy;
};

static void on_ready(void *data, uint32_t events);
static void receive(struct connection *connection);

/* ---- Lists ---- */

static void mark_dirty(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    if (!connection->is_dirty) {
        connection->is_dirty = true;
        connection->next_dirty = state->dirty;
        state->dirty = connection;
    }
    http_work_later(connection->client);
}

static void drain(struct connection *connection)
{
    connection->is_draining = true;
    mark_dirty(connection);
}

static void link_exchange(struct connection *connection, struct exchange *exchange)
{
    exchange->connection = connection;
    exchange->previous = NULL;
    exchange->next = connection->exchanges;
    if (exchange->next)
        exchange->next->previous = exchange;
    connection->exchanges = exchange;
}

static void note_sent(struct exchange *exchange)
{
    exchange->connection->unsent_count -= exchange->is_unsent;
    exchange->is_unsent = false;
}

/* Leaves the connection, if neither the call nor nghttp2 needs it there. */
static void unlink_exchange(struct exchange *exchange)
{
    if (!exchange->connection || exchange->is_attached || exchange->stream_id)
        return;
    *(exchange->previous ? &exchange->previous->next : &exchange->connection->exchanges) =
        exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    exchange->connection = NULL;
}

static void free_if_unused(struct exchange *exchange)
{
    if (exchange->connection || exchange->call || exchange->is_ended)
        return;
    buffer_done(&exchange->headers);
    free(exchange);
}

static void end_exchange(struct exchange *exchange, enum http_end end)
{
    struct http_nghttp2 *state = exchange->call->client->nghttp2;

    exchange->is_ended = true;
    exchange->end = end;
    exchange->next_ended = NULL;
    *state->ended_end = exchange;
    state->ended_end = &exchange->next_ended;
    http_work_later(exchange->call->client);
}

static bool is_live(const struct exchange *exchange)
{
    return exchange->call && exchange->is_attached && !exchange->is_ended &&
           exchange->call->state == HTTP_CALL_RUNNING;
}

/* ---- Which connection ---- */

static size_t origin_length(const char *url)
{
    return strlen("https://") + strcspn(url + strlen("https://"), "/?#");
}

static bool is_origin(const char *origin, const char *url)
{
    size_t length = origin_length(url);

    return strlen(origin) == length && memcmp(origin, url, length) == 0;
}

static bool is_without_http2(const struct http_nghttp2 *state, const char *url)
{
    for (size_t i = 0; i < state->http1_origin_count; i++) {
        if (is_origin(state->http1_origins[i], url))
            return true;
    }
    return false;
}

static bool accepts(const struct http_client *client, const struct http_request *request)
{
    return request->is_multiplexed && !client->nghttp2->has_tls_proxy && !request->basic_user &&
           request->redirects_max == 0 && request->header_count <= REQUEST_HEADERS_MAX &&
           strncmp(request->url, "https://", strlen("https://")) == 0 &&
           request->url[origin_length(request->url)] == '/' &&
           !is_without_http2(client->nghttp2, request->url);
}

static struct connection *find(const struct http_call *call)
{
    const struct http_request *request = &call->request;

    for (struct connection *connection = call->client->nghttp2->connections; connection;
         connection = connection->next) {
        if (!connection->is_draining && !connection->is_lost && connection->tls == request->tls &&
            is_origin(connection->origin, request->url))
            return connection;
    }
    return NULL;
}

/* ---- Opening and closing ---- */

static void close_session(struct connection *connection)
{
    nghttp2_session_del(connection->session);
    connection->session = NULL;
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        exchange->stream_id = 0;
        unlink_exchange(exchange);
        free_if_unused(exchange);
    }
}

static void close_connection(struct connection *connection)
{
    if (!connection)
        return;
    close_session(connection);
    if (connection->fd >= 0)
        loop_remove_fd(connection->client->loop, connection->fd);
    http_link_free(connection->link);
    buffer_done(&connection->out);
    free(connection->origin);
    free(connection);
}
define_cleanup(struct connection *, close_connection)
#define cleanup_connection __attribute__((cleanup(close_connectionp)))

/* curl does not give users access to the SSL object of CURLOPT_CONNECT_ONLY. */
static void on_tls_state(const SSL *ssl, int where, int result)
{
    struct connection *connection = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    (void)result;
    if (where & SSL_CB_HANDSHAKE_DONE)
        connection->ssl = ssl;
}

static CURLcode set_tls_context(CURL *easy, void *context, void *data)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";

    (void)easy;
    (void)SSL_CTX_clear_mode(context, SSL_MODE_RELEASE_BUFFERS);
    /* What could not be written is written later, possibly from another address. */
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1); /* one read per record instead of two */
    (void)SSL_CTX_set_app_data(context, data);
    SSL_CTX_set_info_callback(context, on_tls_state);
    return SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols) - 1) == 0
               ? CURLE_OK
               : CURLE_SSL_CONNECT_ERROR;
}

static int connect_for(const struct http_call *call, struct connection **ret_connection,
                       struct error *err)
{
    cleanup_connection struct connection *connection = xcalloc(1, sizeof(*connection));
    struct http_nghttp2 *state = call->client->nghttp2;
    cleanup_free char *url = NULL;
    struct http_request request = {.method = "GET",
                                   .tls = call->request.tls,
                                   .connect_timeout_ms = call->request.connect_timeout_ms};

    connection->client = call->client;
    connection->fd = -1;
    connection->tls = call->request.tls;
    connection->origin = xstrndup(call->request.url, origin_length(call->request.url));
    buffer_init(&connection->out, OUT_MAX);
    url = xasprintf("%s/", connection->origin);
    request.url = url;
    if (http_link_open(call->client, &request, set_tls_context, connection, &connection->link,
                       err) < 0)
        return -1;
    connection->next = state->connections;
    if (connection->next)
        connection->next->previous = connection;
    state->connections = connection;
    connection->next_connecting = state->connecting;
    state->connecting = connection;
    *ret_connection = steal(&connection);
    return 0;
}

static void stop_connecting(struct connection *connection)
{
    struct connection **link = &connection->client->nghttp2->connecting;

    while (*link && *link != connection)
        link = &(*link)->next_connecting;
    if (*link)
        *link = connection->next_connecting;
}

static void remove_connection(struct connection *connection)
{
    stop_connecting(connection);
    *(connection->previous ? &connection->previous->next
                           : &connection->client->nghttp2->connections) = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    close_connection(connection);
}

/* ---- Frames received ---- */

/* The exchange of a stream, or NULL if its call is not interested any more. */
static struct exchange *live_exchange(nghttp2_session *session, int32_t id)
{
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, id);

    return exchange && is_live(exchange) ? exchange : NULL;
}

static void begin_response(struct exchange *exchange, const char *status_text)
{
    uint64_t status = 0;

    exchange->call->response.status = number_parse(status_text, 999, &status) ? (int)status : 0;
    buffer_clear(&exchange->headers);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *data)
{
    static const char status_name[] = ":status";
    struct exchange *exchange = live_exchange(session, frame->hd.stream_id);
    bool is_status =
        name_length == sizeof(status_name) - 1 && memcmp(name, status_name, name_length) == 0;

    (void)flags;
    (void)data;
    if (!exchange)
        return 0;
    /* nghttp2 terminates names and values with a NUL and rejects those that contain one. */
    if (is_status)
        begin_response(exchange, (const char *)value);
    if (!http_take_header(exchange->call, name_length + value_length) ||
        (!is_status &&
         (buffer_append(&exchange->headers, name, name_length + 1, &exchange->call->err) < 0 ||
          buffer_append(&exchange->headers, value, value_length + 1, &exchange->call->err) < 0)))
        end_exchange(exchange, HTTP_END_STOPPED);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t size, void *data)
{
    struct exchange *exchange = live_exchange(session, id);

    (void)flags;
    (void)data;
    if (!exchange)
        return 0;
    exchange->body_bytes += size;
    if (!http_take_bytes(exchange->call, (const char *)bytes, size) && is_live(exchange))
        end_exchange(exchange, HTTP_END_STOPPED);
    return 0;
}

static int open_stream(struct exchange *exchange);

static void open_waiting_streams(struct connection *connection)
{
    connection->is_ready = true;
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        if (!is_live(exchange) || exchange->stream_id || open_stream(exchange) == 0)
            continue;
        drain(connection);
        http_call_requeue(exchange->call);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct connection *connection = data;
    struct exchange *exchange = NULL;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        drain(connection);
    else if (frame->hd.type == NGHTTP2_SETTINGS && !connection->is_ready)
        open_waiting_streams(connection);
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    exchange = live_exchange(session, frame->hd.stream_id);
    if (exchange && exchange->call->response.status > STATUS_INFORMATIONAL_MAX)
        end_exchange(exchange, HTTP_END_COMPLETE);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *data)
{
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, id);

    (void)data;
    if (!exchange)
        return 0;
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    exchange->stream_id = 0;
    if (is_live(exchange)) {
        http_call_error(exchange->call, ERROR_TEMPORARY, "stream closed by the server: %s",
                        nghttp2_http2_strerror(code));
        /* REFUSED_STREAM means that the request was not processed and is safe to retry, but only
         * the caller knows whether it still may (it may have lost its lease). */
        if (code == NGHTTP2_REFUSED_STREAM)
            exchange->call->err.os = ECONNREFUSED;
        end_exchange(exchange, HTTP_END_BROKEN);
    }
    unlink_exchange(exchange);
    free_if_unused(exchange);
    return 0;
}

/* ---- Frames sent ---- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct exchange *exchange = source->ptr;
    const struct http_request *request = exchange->call ? &exchange->call->request : NULL;
    size_t left = 0;

    (void)session;
    (void)id;
    (void)data;
    if (!request)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    left = request->body_size - exchange->body_sent;
    size = left < size ? left : size;
    memcpy(bytes, (const char *)request->body + exchange->body_sent, size);
    exchange->body_sent += size;
    exchange->body_bytes += size;
    if (size == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        exchange->is_gathered = true;
    }
    return (ssize_t)size;
}

/* For requests without a body: the headers are all of it. */
static int before_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct exchange *exchange = NULL;

    (void)data;
    if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (exchange)
        exchange->is_gathered = true;
    return 0;
}

static void add_header(nghttp2_nv *all, size_t *count, const char *name, const char *value)
{
    nghttp2_nv *header = &all[(*count)++];

    /* nghttp2 copies both, and makes names lower-case. */
    memcpy(&header->name, &name, sizeof(name));
    memcpy(&header->value, &value, sizeof(value));
    header->namelen = strlen(name);
    header->valuelen = strlen(value);
    header->flags = NGHTTP2_NV_FLAG_NONE;
}

/* If this fails, the connection takes no more streams. */
static int open_stream(struct exchange *exchange)
{
    struct connection *connection = exchange->connection;
    const struct http_call *call = exchange->call;
    const struct http_request *request = &call->request;
    const char *authority = connection->origin + strlen("https://");
    const char *path = request->url + strlen(connection->origin);
    nghttp2_data_provider body = {.source.ptr = exchange, .read_callback = read_body};
    nghttp2_nv headers[ALL_HEADERS_MAX];
    char length[32];
    size_t count = 0;
    int32_t id = 0;

    add_header(headers, &count, ":method", request->method);
    add_header(headers, &count, ":scheme", "https");
    add_header(headers, &count, ":authority", authority);
    add_header(headers, &count, ":path", path);
    headers[count - 1].valuelen = strcspn(path, "#");
    add_header(headers, &count, "user-agent", call->client->user_agent);
    for (size_t i = 0; i < request->header_count; i++)
        add_header(headers, &count, request->headers[i].name, request->headers[i].value);
    if (call->authorization)
        add_header(headers, &count, "authorization", call->authorization);
    if (request->body) {
        (void)snprintf(length, sizeof(length), "%zu", request->body_size);
        add_header(headers, &count, "content-length", length);
    }
    id = nghttp2_submit_request(connection->session, NULL, headers, count,
                                request->body_size ? &body : NULL, exchange);
    if (id == NGHTTP2_ERR_NOMEM)
        out_of_memory();
    if (id < 0)
        return -1;
    exchange->stream_id = id;
    exchange->is_gathered = false;
    exchange->is_unsent = request->may_send != NULL;
    connection->unsent_count += exchange->is_unsent;
    mark_dirty(connection);
    return 0;
}

/* ---- Bytes ---- */

static void end_all(struct connection *connection, const char *reason)
{
    connection->is_lost = true;
    /* It would stay ready for ever, and cannot be closed from inside nghttp2. */
    if (connection->fd >= 0)
        loop_remove_fd(connection->client->loop, connection->fd);
    mark_dirty(connection);
    for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next) {
        if (!is_live(exchange))
            continue;
        http_call_error(exchange->call, ERROR_TEMPORARY, "%s", reason);
        end_exchange(exchange, HTTP_END_BROKEN);
    }
}

static void receive(struct connection *connection)
{
    /* Release builds initialize all automatic variables; this one is too large for that. */
    __attribute__((uninitialized)) uint8_t bytes[TLS_RECORD_SIZE];

    mark_dirty(connection);
    /* What OpenSSL has read ahead does not make the descriptor ready. */
    do {
        size_t size = 0;
        ssize_t taken = 0;
        CURLcode code = curl_easy_recv(connection->link->easy, bytes, sizeof(bytes), &size);

        if (code == CURLE_AGAIN)
            return;
        if (code != CURLE_OK || size == 0) {
            end_all(connection, "connection closed by the server");
            return;
        }
        connection->received_ms = loop_now_ms(connection->client->loop);
        taken = nghttp2_session_mem_recv(connection->session, bytes, size);
        if (taken < 0) {
            end_all(connection, nghttp2_strerror((int)taken));
            return;
        }
    } while (SSL_has_pending(connection->ssl));
}

static void on_ready(void *data, uint32_t events)
{
    struct connection *connection = data;
    struct http_client *client = connection->client;

    if (client->depth)
        return; /* on_data of a call runs the loop; the descriptor stays ready */
    http_enter(client);
    mark_dirty(connection);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !connection->is_lost)
        receive(connection);
    http_leave(client);
}

static void watch_socket(struct connection *connection, bool is_write_awaited)
{
    struct error err = {0};
    uint32_t events = EPOLLIN | (is_write_awaited ? (uint32_t)EPOLLOUT : 0);

    connection->is_write_awaited = is_write_awaited;
    if (loop_set_fd(connection->client->loop, connection->fd, events, on_ready, connection, &err) <
        0)
        end_all(connection, err.text);
}

/* Frames are gathered, so that what is sent at one time becomes one TLS record and one write. */
static void gather(struct connection *connection)
{
    const uint8_t *bytes = NULL;
    ssize_t size = 0;

    while (connection->out.size < TLS_RECORD_SIZE &&
           (size = nghttp2_session_mem_send(connection->session, &bytes)) > 0) {
        struct error err = {0};

        if (buffer_append(&connection->out, bytes, (size_t)size, &err) < 0) {
            end_all(connection, err.text);
            return;
        }
    }
    if (size < 0)
        end_all(connection, nghttp2_strerror((int)size));
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
            note_sent(exchange);
        } else if (is_live(exchange) && http_call_is_refused(exchange->call)) {
            /* Headers that wait in nghttp2 are dropped, a body is cut off. */
            (void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE,
                                            exchange->stream_id, NGHTTP2_CANCEL);
            end_exchange(exchange, HTTP_END_FAILED);
            is_any = true;
        }
    }
    return is_any;
}

static void flush_connection(struct connection *connection)
{
    for (;;) {
        bool is_refused = refuse_unsent(connection);
        size_t sent = 0;
        CURLcode code = CURLE_OK;

        if (connection->out.size == 0)
            gather(connection);
        else if (is_refused)
            end_all(connection, REFUSED_IN_BUFFER);
        if (connection->is_lost || connection->out.size == 0)
            break;
        code = curl_easy_send(connection->link->easy, connection->out.data, connection->out.size,
                              &sent);
        if (code == CURLE_AGAIN) {
            if (!connection->is_write_awaited)
                watch_socket(connection, true);
            return;
        }
        if (code != CURLE_OK) {
            end_all(connection, "connection closed by the server");
            return;
        }
        buffer_consume(&connection->out, sent);
    }
    if (!connection->is_lost && connection->is_write_awaited)
        watch_socket(connection, false);
    /* nghttp2 has sent GOAWAY because the server violated the protocol. */
    if (!connection->is_lost && !nghttp2_session_want_read(connection->session) &&
        !nghttp2_session_want_write(connection->session))
        end_all(connection, "the server violated the HTTP/2 protocol");
}

/* ---- Connected ---- */

static void open_session(struct connection *connection)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
    };
    nghttp2_session_callbacks *callbacks = NULL;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        out_of_memory();
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, before_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new(&connection->session, callbacks, connection) != 0 ||
        nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
                                array_length(settings)) != 0 ||
        nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0)
        out_of_memory();
    nghttp2_session_callbacks_del(callbacks);
}

/* Requests to this server are sent by curl from now on: asking again would cost a connection. */
static void give_up_http2(struct connection *connection)
{
    struct http_nghttp2 *state = connection->client->nghttp2;

    state->http1_origins = xreallocarray(state->http1_origins, state->http1_origin_count + 1,
                                         sizeof(state->http1_origins[0]));
    state->http1_origins[state->http1_origin_count++] = xstrdup(connection->origin);
    connection->is_lost = true;
    mark_dirty(connection);
    for (struct exchange *next = NULL, *exchange = connection->exchanges; exchange;
         exchange = next) {
        next = exchange->next;
        if (is_live(exchange))
            http_call_requeue(exchange->call);
    }
}

static bool speaks_http2(const struct connection *connection)
{
    const unsigned char *name = NULL;
    unsigned length = 0;

    if (connection->ssl)
        SSL_get0_alpn_selected(connection->ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

static void on_connected(struct connection *connection)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (!speaks_http2(connection)) {
        give_up_http2(connection);
        return;
    }
    (void)curl_easy_getinfo(connection->link->easy, CURLINFO_ACTIVESOCKET, &fd);
    connection->fd = fd;
    open_session(connection);
    watch_socket(connection, false);
    /* OpenSSL may have read the server's settings together with the end of the handshake. No call
     * has a stream yet, so no owner is called. */
    if (!connection->is_lost)
        receive(connection);
}

static void on_connect_failed(struct connection *connection, CURLcode code)
{
    connection->is_lost = true;
    mark_dirty(connection);
    for (struct exchange *exchange = connection->exchanges; exchange; exchange = exchange->next) {
        if (!is_live(exchange))
            continue;
        http_transfer_error(connection->link, code, exchange->call);
        end_exchange(exchange, HTTP_END_FAILED);
    }
}

static void check_connecting(struct http_nghttp2 *state)
{
    for (struct connection *next = NULL, *connection = state->connecting; connection;
         connection = next) {
        CURLcode code = CURLE_OK;

        next = connection->next_connecting;
        if (!http_link_is_done(connection->link, &code))
            continue;
        stop_connecting(connection);
        if (code == CURLE_OK)
            on_connected(connection);
        else
            on_connect_failed(connection, code);
    }
}

/* ---- The transport ---- */

static int open_nghttp2(struct http_client *client, struct error *err)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    (void)err;
    client->nghttp2 = xcalloc(1, sizeof(*client->nghttp2));
    client->nghttp2->ended_end = &client->nghttp2->ended;
    /* curl would apply our SSL_CTX, and so offer HTTP/2, to an https:// proxy as well. */
    for (size_t i = 0; i < array_length(names); i++) {
        const char *proxy = getenv(names[i]);

        client->nghttp2->has_tls_proxy |=
            proxy && strncasecmp(proxy, "https://", strlen("https://")) == 0;
    }
    return 0;
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

static void close_nghttp2(struct http_client *client)
{
    struct http_nghttp2 *state = client->nghttp2;

    if (!state)
        return;
    while (state->ended)
        free_if_unused(pop_ended(state));
    while (state->connections)
        remove_connection(state->connections);
    while (state->http1_origin_count)
        free(state->http1_origins[--state->http1_origin_count]);
    free(state->http1_origins);
    free(state);
    client->nghttp2 = NULL;
}

static int prepare_exchange(struct http_call *call, struct error *err)
{
    struct exchange *exchange = xcalloc(1, sizeof(*exchange));

    (void)err;
    exchange->call = call;
    buffer_init(&exchange->headers, 3 * HTTP_HEADERS_MAX);
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
        end_all(connection, REFUSED_IN_BUFFER);
    note_sent(exchange);
    exchange->is_attached = false;
    connection->call_count--;
    mark_dirty(connection);
    if (exchange->stream_id)
        (void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, exchange->stream_id,
                                        NGHTTP2_CANCEL);
    unlink_exchange(exchange);
}

static void release_exchange(struct http_call *call)
{
    struct exchange *exchange = call->exchange;

    detach_exchange(call, false);
    call->exchange = NULL;
    exchange->call = NULL;
    free_if_unused(exchange);
}

static int send_exchange(struct http_call *call, struct error *err)
{
    struct exchange *exchange = call->exchange;
    struct connection *connection = find(call);

    if (!connection && connect_for(call, &connection, err) < 0)
        return -1;
    link_exchange(connection, exchange);
    exchange->is_attached = true;
    exchange->sent_ms = loop_now_ms(call->client->loop);
    connection->call_count++;
    if (!connection->is_ready || open_stream(exchange) == 0)
        return 0;
    drain(connection);
    detach_exchange(call, false);
    return send_exchange(call, err);
}

/* A slow response alone does not show that the connection is dead: other calls may be receiving. */
static void drain_if_idle(struct http_call *call)
{
    const struct exchange *exchange = call->exchange;
    struct connection *connection = exchange->connection;
    uint64_t now_ms = loop_now_ms(call->client->loop);

    if (connection && now_ms - connection->received_ms >= (now_ms - exchange->sent_ms) / 2)
        drain(connection);
}

static uint64_t exchange_bytes(const struct http_call *call)
{
    const struct exchange *exchange = call->exchange;

    return exchange->body_bytes;
}

static const char *response_header(const struct http_call *call, const char *name, size_t index)
{
    const struct exchange *exchange = call->exchange;
    const char *end = exchange->headers.data + exchange->headers.size;

    for (const char *text = exchange->headers.data; text && text < end;) {
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

    check_connecting(state);
    while (state->ended) {
        struct exchange *exchange = pop_ended(state);

        /* If it was cancelled, http.c frees it. */
        if (exchange->call && exchange->call->state == HTTP_CALL_RUNNING)
            http_call_finish(exchange->call, exchange->end);
        else
            free_if_unused(exchange);
    }
}

static void flush_dirty(struct http_client *client)
{
    struct http_nghttp2 *state = client->nghttp2;

    while (state->dirty) {
        struct connection *connection = state->dirty;

        state->dirty = connection->next_dirty;
        connection->is_dirty = false;
        if (connection->session && !connection->is_lost)
            flush_connection(connection);
        if (connection->call_count == 0 && (connection->is_lost || connection->is_draining) &&
            !connection->is_dirty)
            remove_connection(connection);
    }
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
    .body_bytes = exchange_bytes,
    .header = response_header,
    .finish_ended = finish_exchanges,
    .flush = flush_dirty,
};
