/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/tests/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

struct loopback_connection {
    struct loopback *server;
    struct loopback_connection *next;
    int fd; /* -1: closed */
    struct buffer input, output;
};

static void watch_connection(struct loopback_connection *connection);

void loopback_close(struct loopback_connection *connection)
{
    if (connection->fd < 0)
        return;
    loop_remove_fd(connection->server->loop, connection->fd);
    (void)close(connection->fd);
    connection->fd = -1;
}

static void flush(struct loopback_connection *connection)
{
    while (connection->fd >= 0 && connection->output.size > 0) {
        ssize_t size =
            send(connection->fd, connection->output.data, connection->output.size, MSG_NOSIGNAL);

        if (size < 0)
            break;
        buffer_consume(&connection->output, (size_t)size);
    }
    if (connection->fd >= 0)
        watch_connection(connection);
}

/* The size of the request that the input begins with, or 0 if it is not whole yet. */
static size_t request_size(const struct buffer *input)
{
    const char *head_end = input->size ? strstr(input->data, "\r\n\r\n") : NULL;
    const char *length = input->size ? strcasestr(input->data, "\r\nContent-Length:") : NULL;
    size_t head = 0;

    if (!head_end)
        return 0;
    head = (size_t)(head_end - input->data) + 4;
    if (strcasestr(input->data, "\r\nTransfer-Encoding: chunked")) {
        const char *end = strstr(head_end, "\r\n0\r\n\r\n");

        return end ? (size_t)(end - input->data) + 7 : 0;
    }
    if (length && length < head_end)
        head += strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    return input->size >= head ? head : 0;
}

static void on_connection(void *data, uint32_t events)
{
    struct loopback_connection *connection = data;
    struct loopback *server = connection->server;
    char bytes[65536];
    struct error err = {0};
    size_t size = 0;

    if (events & EPOLLOUT)
        flush(connection);
    if (connection->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        ssize_t got = recv(connection->fd, bytes, sizeof(bytes), 0);

        if (got <= 0) {
            loopback_close(connection);
            return;
        }
        must(buffer_append(&connection->input, bytes, (size_t)got, &err) == 0);
    }
    while (connection->fd >= 0 && (size = request_size(&connection->input)) > 0) {
        char *request = xstrndup(connection->input.data, size);

        must(server->request_count < LOOPBACK_REQUESTS_MAX);
        server->requests[server->request_count++] = request;
        buffer_consume(&connection->input, size);
        server->on_request(server->data, connection, request);
    }
}

static void watch_connection(struct loopback_connection *connection)
{
    struct error err = {0};
    uint32_t events = EPOLLIN | (connection->output.size ? (uint32_t)EPOLLOUT : 0);

    must(loop_set_fd(connection->server->loop, connection->fd, events, on_connection, connection,
                     &err) == 0);
}

static void on_accept(void *data, uint32_t events)
{
    struct loopback *server = data;
    struct loopback_connection *connection = xcalloc(1, sizeof(*connection));

    (void)events;
    connection->server = server;
    connection->fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    must(connection->fd >= 0);
    buffer_init(&connection->input, 1 << 24);
    buffer_init(&connection->output, 1 << 24);
    connection->next = server->connections;
    server->connections = connection;
    server->connection_count++;
    watch_connection(connection);
}

void loopback_start(struct loopback *server, struct loop *loop, loopback_fn *on_request, void *data)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    struct error err = {0};

    *server = (struct loopback){.loop = loop, .on_request = on_request, .data = data};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(server->fd >= 0);
    must(bind(server->fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    must(listen(server->fd, LOOPBACK_REQUESTS_MAX) == 0);
    must(getsockname(server->fd, (struct sockaddr *)&address, &size) == 0);
    server->port = ntohs(address.sin_port);
    must(loop_set_fd(loop, server->fd, EPOLLIN, on_accept, server, &err) == 0);
}

void loopback_done(struct loopback *server)
{
    while (server->connections) {
        struct loopback_connection *connection = server->connections;

        server->connections = connection->next;
        loopback_close(connection);
        buffer_done(&connection->input);
        buffer_done(&connection->output);
        free(connection);
    }
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i]);
    loop_remove_fd(server->loop, server->fd);
    (void)close(server->fd);
}

void loopback_send_bytes(struct loopback_connection *connection, const void *bytes, size_t size)
{
    struct error err = {0};

    must(buffer_append(&connection->output, bytes, size, &err) == 0);
    flush(connection);
}

void loopback_send(struct loopback_connection *connection, const char *text)
{
    loopback_send_bytes(connection, text, strlen(text));
}

void loopback_answer(struct loopback_connection *connection, const char *status,
                     const char *headers, const char *body)
{
    cleanup_free char *answer = xasprintf("HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
                                          headers, strlen(body), body);

    loopback_send(connection, answer);
}

bool loopback_has(const struct loopback *server, size_t i, const char *text)
{
    return i < server->request_count && strcasestr(server->requests[i], text) != NULL;
}
