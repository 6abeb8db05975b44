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
#include "deployer/serve/server_internal.h"

enum { ACCEPT_PAUSE_MS = 1000 };

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
    struct exchange *connection = NULL;
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
    buffer_init(&connection->out, BODY_MAX + HEAD_MAX);
    loop_timer_init(&connection->timer, server->loop, exchange_on_slow, connection);
    connection->next = server->connections;
    server->connections = connection;
    server->connection_count++;
    if (loop_set_fd(server->loop, fd, EPOLLIN, exchange_on_event, connection, &err) < 0) {
        exchange_free(connection);
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
    return error_set(err, ERROR_INVALID, "\"%s\" is not an IP address to listen on", address);
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
        return error_set_errno(err, errno, "listen on \"%s\" port %u", address, port);
    size = sizeof(storage);
    if (getsockname(fd, (struct sockaddr *)&storage, &size) < 0)
        return error_set_errno(err, errno, "listen on \"%s\" port %u", address, port);
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
        exchange_free(server->connections);
    loop_timer_stop(&server->accept_timer);
    loop_remove_fd(server->loop, server->fd);
    (void)close(server->fd);
    free(server);
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}
