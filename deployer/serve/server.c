/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"

enum { BODY_MAX = 1 << 20, ACCEPT_PAUSE_MS = 1000 };

struct connection {
    struct connection *next;
    struct server *server;
    int fd;
    struct buffer in, out;
    size_t sent;
    struct loop_timer timer;
};

struct server {
    struct loop *loop;
    int fd;
    uint16_t port;
    serve_fn *serve;
    void *data;
    struct connection *connections;
    size_t connection_count;
    struct loop_timer accept_timer; /* runs while no connection can be accepted */
};

/* ---- The request ---- */

static const char *find_end(const char *head, size_t size)
{
    const char *end = memmem(head, size, "\r\n\r\n", 4);

    return end ? end : memmem(head, size, "\n\n", 2);
}

int serve_parse(const char *head, size_t size, char **ret_path, int *ret_status, int *ret_is_head)
{
    const char *path = NULL, *end = NULL;

    *ret_status = 400;
    if (!find_end(head, size))
        return 0;
    *ret_is_head = size > 5 && memcmp(head, "HEAD ", 5) == 0;
    if (!*ret_is_head && !(size > 4 && memcmp(head, "GET ", 4) == 0)) {
        *ret_status = 405;
        return -1;
    }
    path = head + (*ret_is_head ? 5 : 4);
    end = path;
    while ((size_t)(end - head) < size && (unsigned char)*end > ' ' && *end != '?')
        end++;
    if (*path != '/' || (size_t)(end - head) == size || (*end != ' ' && *end != '?'))
        return -1;
    *ret_path = xstrndup(path, (size_t)(end - path));
    return 1;
}

/* ---- One connection ---- */

static void connection_free(struct connection *connection)
{
    struct server *server = connection->server;

    for (struct connection **place = &server->connections; *place; place = &(*place)->next) {
        if (*place == connection) {
            *place = connection->next;
            break;
        }
    }
    server->connection_count--;
    loop_timer_stop(&connection->timer);
    loop_remove_fd(server->loop, connection->fd);
    (void)close(connection->fd);
    buffer_done(&connection->in);
    buffer_done(&connection->out);
    free(connection);
}

static void on_slow(void *data)
{
    connection_free(data);
}

static const char *status_words(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 503:
        return "Service Unavailable";
    default:
        return "Bad Request";
    }
}

static int answer(struct connection *connection, int status, const char *content_type,
                  const struct buffer *body, bool is_head, struct error *err)
{
    if (buffer_append_text(&connection->out, err,
                           "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                           "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                           "Connection: close\r\n\r\n",
                           status, status_words(status), content_type, body->size) < 0)
        return -1;
    if (is_head || !body->size)
        return 0;
    return buffer_append(&connection->out, body->data, body->size, err);
}

static void on_connection(void *data, uint32_t events);

/* Sends the rest of the answer. Frees the connection, or waits until the socket is writable again.
 */
static void send_more(struct connection *connection)
{
    struct error err = {0};

    while (connection->sent < connection->out.size) {
        ssize_t sent = send(connection->fd, connection->out.data + connection->sent,
                            connection->out.size - connection->sent, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            if (loop_set_fd(connection->server->loop, connection->fd, EPOLLOUT, on_connection,
                            connection, &err) < 0)
                break;
            return;
        }
        if (sent <= 0)
            break;
        connection->sent += (size_t)sent;
    }
    (void)shutdown(connection->fd, SHUT_WR);
    connection_free(connection);
}

static void respond(struct connection *connection)
{
    struct server *server = connection->server;
    cleanup_free char *path = NULL;
    cleanup_buffer struct buffer body = {0};
    const char *content_type = "text/plain; charset=utf-8";
    struct error err = {0};
    int status = 400, is_head = 0;
    int parsed = serve_parse(connection->in.data, connection->in.size, &path, &status, &is_head);

    if (parsed == 0 && connection->in.size < SERVE_REQUEST_MAX)
        return;
    buffer_init(&body, BODY_MAX);
    if (parsed > 0)
        status = server->serve(server->data, path, &body, &content_type);
    if (status != 200 && !body.size)
        (void)!buffer_append_text(&body, &err, "%s\n", status_words(status));
    if (answer(connection, status, content_type, &body, is_head != 0, &err) < 0) {
        connection_free(connection);
        return;
    }
    send_more(connection);
}

static void on_connection(void *data, uint32_t events)
{
    struct connection *connection = data;
    char bytes[2048];
    struct error err = {0};
    ssize_t got = 0;

    if (events & EPOLLOUT) {
        send_more(connection);
        return;
    }
    got = recv(connection->fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || buffer_append(&connection->in, bytes, (size_t)got, &err) < 0) {
        connection_free(connection);
        return;
    }
    respond(connection);
}

/* ---- Listening ---- */

static void on_accept(void *data, uint32_t events);

/* Also the callback of accept_timer. */
static void listen_again(void *data)
{
    struct server *server = data;
    struct error err = {0};

    if (loop_set_fd(server->loop, server->fd, EPOLLIN, on_accept, server, &err) < 0)
        loop_timer_start(&server->accept_timer, ACCEPT_PAUSE_MS);
}

/* Without free file descriptors or memory the connection stays in the backlog, and epoll would
 * report it again at once. */
static void pause_accepting(struct server *server)
{
    loop_remove_fd(server->loop, server->fd);
    loop_timer_start(&server->accept_timer, ACCEPT_PAUSE_MS);
}

static void on_accept(void *data, uint32_t events)
{
    struct server *server = data;
    struct connection *connection = NULL;
    struct error err = {0};
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_accepting(server);
        return;
    }
    if (server->connection_count >= SERVE_CONNECTIONS_MAX) {
        (void)close(fd);
        return;
    }
    connection = xcalloc(1, sizeof(*connection));
    connection->server = server;
    connection->fd = fd;
    buffer_init(&connection->in, SERVE_REQUEST_MAX + 2048);
    buffer_init(&connection->out, BODY_MAX + 4096);
    loop_timer_init(&connection->timer, server->loop, on_slow, connection);
    connection->next = server->connections;
    server->connections = connection;
    server->connection_count++;
    if (loop_set_fd(server->loop, fd, EPOLLIN, on_connection, connection, &err) < 0) {
        connection_free(connection);
        return;
    }
    loop_timer_start(&connection->timer, SERVE_PATIENCE_MS);
}

static int fill_address(const char *address, uint16_t port, struct sockaddr_storage *ret_storage,
                        socklen_t *ret_size, struct error *err)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    if (!*address || inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
        memcpy(ret_storage, &v4, sizeof(v4));
        *ret_size = sizeof(v4);
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
        memcpy(ret_storage, &v6, sizeof(v6));
        *ret_size = sizeof(v6);
        return 0;
    }
    return error_set(err, ERROR_INVALID, "'%s' is not an IP address to listen on", address);
}

static int listen_on(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
                     struct error *err)
{
    struct sockaddr_storage storage = {0};
    socklen_t size = 0;
    cleanup_close int fd = -1;
    int on = 1;

    if (fill_address(address, port, &storage, &size, err) < 0)
        return -1;
    fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&storage, size) < 0 || listen(fd, SOMAXCONN) < 0)
        return error_set_errno(err, errno, "listen on '%s' port %u", address, port);
    size = sizeof(storage);
    if (getsockname(fd, (struct sockaddr *)&storage, &size) < 0)
        return error_set_errno(err, errno, "listen on '%s' port %u", address, port);
    /* sin_port and sin6_port have the same offset. */
    *ret_port = ntohs(((struct sockaddr_in *)&storage)->sin_port);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int server_new(struct loop *loop, const char *address, uint16_t port, serve_fn *serve, void *data,
               struct server **ret_server, struct error *err)
{
    struct server *server = NULL;
    int fd = -1;
    uint16_t bound = 0;

    if (listen_on(address, port, &fd, &bound, err) < 0)
        return -1;
    server = xcalloc(1, sizeof(*server));
    server->loop = loop;
    server->fd = fd;
    server->port = bound;
    server->serve = serve;
    server->data = data;
    loop_timer_init(&server->accept_timer, loop, listen_again, server);
    if (loop_set_fd(loop, fd, EPOLLIN, on_accept, server, err) < 0) {
        server_free(server);
        return -1;
    }
    *ret_server = server;
    return 0;
}

void server_free(struct server *server)
{
    if (!server)
        return;
    while (server->connections)
        connection_free(server->connections);
    loop_timer_stop(&server->accept_timer);
    loop_remove_fd(server->loop, server->fd);
    (void)close(server->fd);
    free(server);
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}
