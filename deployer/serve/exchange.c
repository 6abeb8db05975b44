/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "deployer/serve/request.h"
#include "deployer/serve/server_internal.h"

/* ---- End ---- */

void exchange_free(struct exchange *exchange)
{
    struct server *server = exchange->server;
    exchange_fn *closed = exchange->closed;

    exchange->closed = NULL;
    if (closed)
        closed(exchange->closed_data, exchange);
    for (struct exchange **place = &server->connections; *place; place = &(*place)->next) {
        if (*place == exchange) {
            *place = exchange->next;
            break;
        }
    }
    server->connection_count--;
    loop_timer_stop(&exchange->timer);
    loop_remove_fd(server->loop, exchange->fd);
    (void)close(exchange->fd);
    /* A head can contain a token. */
    if (exchange->in.data)
        explicit_bzero(exchange->in.data, exchange->in.capacity);
    buffer_done(&exchange->in);
    buffer_done(&exchange->out);
    free(exchange->path);
    free(exchange);
}

void exchange_close(struct exchange *exchange)
{
    exchange_free(exchange);
}

void exchange_on_slow(void *data)
{
    exchange_free(data);
}

/* ---- Sending ---- */

static const char *status_words(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 308:
        return "Permanent Redirect";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 429:
        return "Too Many Requests";
    case 503:
        return "Service Unavailable";
    default:
        return "Bad Request";
    }
}

/* Sends until the socket is full. Returns false on an error of the connection. */
static bool send_some(struct exchange *exchange)
{
    uint32_t events = exchange->state == EXCHANGE_STREAMING ? EPOLLIN | EPOLLOUT : EPOLLOUT;
    struct error err = {0};

    while (exchange->sent < exchange->out.size) {
        ssize_t sent = send(exchange->fd, exchange->out.data + exchange->sent,
                            exchange->out.size - exchange->sent, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return loop_set_fd(exchange->server->loop, exchange->fd, events, exchange_on_event,
                               exchange, &err) == 0;
        if (sent <= 0)
            return false;
        exchange->sent += (size_t)sent;
    }
    return true;
}

/* Sends the rest of the answer. Frees the exchange, or waits until the socket is writable again. */
static void send_rest(struct exchange *exchange)
{
    if (send_some(exchange) && exchange->sent < exchange->out.size)
        return;
    (void)shutdown(exchange->fd, SHUT_WR);
    exchange_free(exchange);
}

/* The time limit of a stream counts only while the client is behind. False: it was freed. */
static bool stream_more(struct exchange *exchange)
{
    size_t before = exchange->sent;
    struct error err = {0};

    if (!send_some(exchange)) {
        exchange_free(exchange);
        return false;
    }
    if (exchange->sent == exchange->out.size) {
        buffer_clear(&exchange->out);
        exchange->sent = 0;
        loop_timer_stop(&exchange->timer);
        if (loop_set_fd(exchange->server->loop, exchange->fd, EPOLLIN, exchange_on_event, exchange,
                        &err) < 0) {
            exchange_free(exchange);
            return false;
        }
        return true;
    }
    if (exchange->sent > before || !loop_timer_is_running(&exchange->timer))
        loop_timer_start(&exchange->timer, SERVE_PATIENCE_MS);
    buffer_consume(&exchange->out, exchange->sent);
    exchange->sent = 0;
    return true;
}

void exchange_answer(struct exchange *exchange, int status, const char *content_type,
                     const char *headers, const void *body, size_t size)
{
    struct error err = {0};

    exchange->closed = NULL;
    exchange->state = EXCHANGE_ENDING;
    if (buffer_append_text(&exchange->out, &err,
                           "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                           "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                           "%sConnection: close\r\n\r\n",
                           status, status_words(status), content_type, size, headers) < 0 ||
        (!exchange->is_head && size > 0 && buffer_append(&exchange->out, body, size, &err) < 0)) {
        exchange_free(exchange);
        return;
    }
    send_rest(exchange);
}

void exchange_stream(struct exchange *exchange, const char *content_type, const char *headers)
{
    struct error err = {0};

    exchange->state = EXCHANGE_STREAMING;
    loop_timer_stop(&exchange->timer);
    /* The buffer is empty: this always fits. */
    (void)!buffer_append_text(&exchange->out, &err,
                              "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
                              "X-Content-Type-Options: nosniff\r\n%sConnection: close\r\n\r\n",
                              content_type, headers);
}

bool exchange_send(struct exchange *exchange, const char *text, size_t size)
{
    struct error err = {0};

    if (exchange->out.size + size > EXCHANGE_BACKLOG_MAX ||
        buffer_append(&exchange->out, text, size, &err) < 0) {
        exchange_free(exchange);
        return false;
    }
    return stream_more(exchange);
}

/* ---- The request ---- */

const char *exchange_path(const struct exchange *exchange)
{
    return exchange->path;
}

char *exchange_parameter(const struct exchange *exchange, const char *name)
{
    return request_parameter(exchange->in.data, exchange->in.size, name);
}

char *exchange_header(const struct exchange *exchange, const char *name)
{
    return request_header(exchange->in.data, exchange->in.size, name);
}

bool exchange_accepts_gzip(const struct exchange *exchange)
{
    return request_accepts_gzip(exchange->in.data, exchange->in.size);
}

void exchange_on_close(struct exchange *exchange, exchange_fn *closed, void *data)
{
    exchange->closed = closed;
    exchange->closed_data = data;
}

void server_set_pages(struct server *server, const char *prefix, exchange_fn *handle, void *data)
{
    server->pages = prefix;
    server->handle = handle;
    server->handle_data = data;
}

static bool is_page(const struct server *server, const char *path)
{
    size_t size = server->handle ? strlen(server->pages) : 0;

    return size > 0 && strncmp(path, server->pages, size) == 0 &&
           (path[size] == '\0' || path[size] == '/');
}

static void respond(struct exchange *exchange)
{
    struct server *server = exchange->server;
    cleanup_buffer struct buffer body = {0};
    const char *content_type = "text/plain; charset=utf-8";
    struct error err = {0};
    int status = 400, is_head = 0;
    int parsed =
        serve_parse(exchange->in.data, exchange->in.size, &exchange->path, &status, &is_head);

    if (parsed == 0 && exchange->in.size < SERVE_REQUEST_MAX)
        return;
    exchange->is_head = is_head != 0;
    exchange->state = EXCHANGE_WAITING;
    if (parsed > 0 && is_page(server, exchange->path)) {
        server->handle(server->handle_data, exchange);
        return;
    }
    buffer_init(&body, BODY_MAX);
    if (parsed > 0)
        status = server->serve(server->data, exchange->path, &body, &content_type);
    if (status != 200 && !body.size)
        (void)!buffer_append_text(&body, &err, "%s\n", status_words(status));
    exchange_answer(exchange, status, content_type, "", body.data, body.size);
}

/* What a client sends after its request is dropped; its end is noticed. */
static void receive(struct exchange *exchange)
{
    char bytes[2048];
    struct error err = {0};
    ssize_t got = recv(exchange->fd, bytes, sizeof(bytes), 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && exchange->state != EXCHANGE_READING)
        return;
    if (got <= 0 || buffer_append(&exchange->in, bytes, (size_t)got, &err) < 0) {
        exchange_free(exchange);
        return;
    }
    respond(exchange);
}

void exchange_on_event(void *data, uint32_t events)
{
    struct exchange *exchange = data;

    if (!(events & EPOLLOUT))
        receive(exchange);
    else if (exchange->state == EXCHANGE_STREAMING)
        (void)stream_more(exchange);
    else
        send_rest(exchange);
}
