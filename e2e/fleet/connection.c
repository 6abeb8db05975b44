/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/memory.h"

enum { READ_SIZE = 16 * 1024, READS_PER_TURN = 8 };

static void reap(void *data)
{
    struct connection_host *host = data;

    while (host->broken) {
        struct connection *connection = host->broken;

        host->broken = connection->next_broken;
        connection_close(connection);
    }
}

void connection_host_init(struct connection_host *host, struct loop *loop,
                          void (*on_request)(void *data, struct exchange *exchange), void *data)
{
    *host = (struct connection_host){.loop = loop, .on_request = on_request, .data = data};
    loop_timer_init(&host->reaper, loop, reap, host);
}

void connection_break(struct connection *connection)
{
    struct connection_host *host = connection->host;

    if (connection->is_broken)
        return;
    connection->is_broken = true;
    connection->next_broken = host->broken;
    host->broken = connection;
    loop_timer_start(&host->reaper, 0);
}

static void forget_broken(struct connection *connection)
{
    struct connection **place = &connection->host->broken;

    while (*place && *place != connection)
        place = &(*place)->next_broken;
    if (*place)
        *place = connection->next_broken;
}

void connection_close(struct connection *connection)
{
    struct linger linger = {.l_onoff = 1};

    while (connection->exchanges)
        exchange_free(connection->exchanges);
    forget_broken(connection);
    *connection->place = connection->next;
    if (connection->next)
        connection->next->place = connection->place;
    if (connection->cluster)
        connection->cluster->counters.open_connections--;
    loop_remove_fd(connection->host->loop, connection->fd);
    nghttp2_session_del(connection->session);
    SSL_free(connection->ssl);
    /* Reset instead of an orderly end: the ports of thousands of connections are free at once. */
    if (connection->is_broken)
        (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    (void)close(connection->fd);
    buffer_done(&connection->input);
    buffer_done(&connection->output);
    free(connection);
}

static void on_event(void *data, uint32_t events);

static void set_events(struct connection *connection, bool wants_write)
{
    struct error err = {0};
    uint32_t events = EPOLLIN | (wants_write ? (uint32_t)EPOLLOUT : 0);

    if (connection->is_silent)
        events = EPOLLRDHUP;
    connection->wants_write = wants_write;
    if (loop_set_fd(connection->host->loop, connection->fd, events, on_event, connection, &err) < 0)
        connection_break(connection);
}

static int port_of(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof(address);

    return getpeername(fd, (struct sockaddr *)&address, &size) < 0 ? 0 : ntohs(address.sin_port);
}

void connection_start(struct connection_host *host, struct cluster *cluster,
                      struct connection **list, int fd, SSL *ssl, bool is_silent)
{
    struct connection *connection = xcalloc(1, sizeof(*connection));

    connection->host = host;
    connection->cluster = cluster;
    connection->fd = fd;
    connection->port = port_of(fd);
    connection->ssl = ssl;
    connection->is_silent = is_silent;
    connection->is_open = !ssl;
    buffer_init(&connection->input, SIZE_MAX);
    buffer_init(&connection->output, SIZE_MAX);
    connection->next = *list;
    connection->place = list;
    if (connection->next)
        connection->next->place = &connection->next;
    *list = connection;
    if (cluster) {
        cluster->counters.connections++;
        cluster->counters.open_connections++;
    }
    set_events(connection, false);
}

/* The bytes that were read or written; 0: try later; -1: the connection has ended. */
static ssize_t read_some(struct connection *connection, char *bytes, size_t size)
{
    int count = 0, error = 0;

    if (!connection->ssl) {
        ssize_t result = read(connection->fd, bytes, size);

        return result > 0 ? result : result < 0 && errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error();
    count = SSL_read(connection->ssl, bytes, (int)size);
    if (count > 0)
        return count;
    error = SSL_get_error(connection->ssl, count);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static ssize_t write_some(struct connection *connection, const char *bytes, size_t size)
{
    int count = 0, error = 0;

    if (!connection->ssl) {
        ssize_t result = send(connection->fd, bytes, size, MSG_NOSIGNAL);

        return result > 0 ? result : result < 0 && errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error();
    count = SSL_write(connection->ssl, bytes, size > INT32_MAX ? INT32_MAX : (int)size);
    if (count > 0)
        return count;
    error = SSL_get_error(connection->ssl, count);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

void connection_flush(struct connection *connection)
{
    struct buffer *output = &connection->output;

    if (connection->is_broken || connection->is_receiving || !connection->is_open)
        return;
    for (;;) {
        ssize_t count = 0;

        if (connection->session)
            http2_fill(connection);
        if (output->size == 0)
            break;
        count = write_some(connection, output->data, output->size);
        if (count < 0) {
            connection_break(connection);
            return;
        }
        if (count == 0) {
            if (!connection->wants_write)
                set_events(connection, true);
            return;
        }
        if (connection->cluster)
            connection->cluster->counters.bytes_sent += (uint64_t)count;
        buffer_consume(output, (size_t)count);
    }
    buffer_done(output); /* an idle connection takes no memory for it */
    buffer_init(output, SIZE_MAX);
    if (connection->wants_write)
        set_events(connection, false);
    if (connection->session && !nghttp2_session_want_read(connection->session) &&
        !nghttp2_session_want_write(connection->session))
        connection_break(connection);
}

static bool is_http2(const struct connection *connection)
{
    const unsigned char *name = NULL;
    unsigned size = 0;

    SSL_get0_alpn_selected(connection->ssl, &name, &size);
    return size == 2 && memcmp(name, "h2", 2) == 0;
}

/* False: the handshake is not complete. */
static bool shake_hands(struct connection *connection)
{
    struct counters *counters = &connection->cluster->counters;
    int result = 0, error = 0;

    ERR_clear_error();
    result = SSL_accept(connection->ssl);
    if (result != 1) {
        error = SSL_get_error(connection->ssl, result);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            counters->failed_handshakes++;
            connection_break(connection);
        } else if (error == SSL_ERROR_WANT_WRITE) {
            set_events(connection, true);
        }
        return false;
    }
    connection->is_open = true;
    counters->handshakes++;
    counters->resumed_handshakes += (uint64_t)SSL_session_reused(connection->ssl);
    if (is_http2(connection) && http2_start(connection) < 0)
        connection_break(connection);
    return !connection->is_broken;
}

static int receive(struct connection *connection, const char *bytes, size_t size)
{
    int result = 0;

    if (connection->cluster)
        connection->cluster->counters.bytes_received += size;
    connection->is_receiving = true;
    result = connection->session ? http2_receive(connection, bytes, size)
                                 : http1_receive(connection, bytes, size);
    connection->is_receiving = false;
    return result;
}

static void on_event(void *data, uint32_t events)
{
    struct connection *connection = data;
    char bytes[READ_SIZE];

    if (connection->is_silent || (events & EPOLLERR)) {
        connection_break(connection);
        return;
    }
    if (!connection->is_open && !shake_hands(connection))
        return;
    for (size_t i = 0; i < READS_PER_TURN && !connection->is_broken; i++) {
        ssize_t size = read_some(connection, bytes, sizeof(bytes));

        if (size == 0)
            break;
        if (size < 0 || receive(connection, bytes, (size_t)size) < 0) {
            connection_break(connection);
            return;
        }
    }
    connection_flush(connection);
}
