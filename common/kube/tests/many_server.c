/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/tests/many_server.h"

#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/net/tests/h2_server_internal.h"

enum { PEM_MAX = 8192 };

static const char LIST[] = "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{"
                           "\"resourceVersion\":\"7\"},\"items\":[]}";
static const char EVENT[] =
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\","
    "\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"u\","
    "\"resourceVersion\":\"8\"}}}\n";

enum order { ORDER_EVENT, ORDER_CLOSE, ORDER_COUNT };

struct order_message {
    enum order order;
    unsigned index;
};

struct count_message {
    size_t connections, resumed;
};

struct hello_message {
    int port;
    char ca_pem[PEM_MAX];
};

struct child {
    struct h2_server server;
    struct h2_request **watches;
    size_t watch_count;
    int control;
    struct loop *loop;
};

static void on_request(void *data, struct h2_request *request)
{
    struct child *child = data;

    if (!strstr(request->path, "watch=true")) {
        h2_answer(request, 200, "content-type: application/json\r\n", LIST);
        return;
    }
    child->watches =
        xreallocarray(child->watches, child->watch_count + 1, sizeof(struct h2_request *));
    child->watches[child->watch_count++] = request;
    h2_begin(request, 200, "content-type: application/json\r\n");
}

static struct count_message count_connections(const struct h2_server *server)
{
    struct count_message message = {.connections = server->connection_count};

    /* Whether a session is resumed is known only after the handshake. */
    for (const struct h2_connection *connection = server->connections; connection;
         connection = connection->next) {
        message.connections -= SSL_is_init_finished(connection->ssl) ? 0 : 1;
        message.resumed += SSL_session_reused(connection->ssl) ? 1 : 0;
    }
    return message;
}

static void on_order(void *data, uint32_t events)
{
    struct child *child = data;
    struct order_message message = {0};
    struct count_message counts = {0};

    (void)events;
    if (recv(child->control, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
        loop_stop(child->loop);
        return;
    }
    switch (message.order) {
    case ORDER_EVENT:
        must(message.index < child->watch_count);
        h2_send(child->watches[message.index], EVENT, strlen(EVENT));
        break;
    case ORDER_CLOSE:
        for (struct h2_connection *connection = child->server.connections; connection;
             connection = connection->next)
            h2_hang_up(connection);
        break;
    case ORDER_COUNT:
        counts = count_connections(&child->server);
        must(send(child->control, &counts, sizeof(counts), 0) == (ssize_t)sizeof(counts));
        break;
    }
}

static void raise_limit(void)
{
    struct rlimit limit = {0};

    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void run_child(int control)
{
    struct child child = {.control = control};
    const struct h2_options options = {.on_whole = on_request, .data = &child};
    struct hello_message hello = {0};
    struct error err = {0};

    (void)signal(SIGPIPE, SIG_IGN);
    must(loop_new(clock_system(), &child.loop, &err) == 0);
    h2_server_start(&child.server, child.loop, &options);
    SSL_CTX_set_mode(child.server.tls, SSL_MODE_RELEASE_BUFFERS);
    must(strlen(child.server.ca_pem) < sizeof(hello.ca_pem));
    hello.port = child.server.port;
    memcpy(hello.ca_pem, child.server.ca_pem, strlen(child.server.ca_pem));
    must(send(control, &hello, sizeof(hello), 0) == (ssize_t)sizeof(hello));
    must(loop_set_fd(child.loop, control, EPOLLIN, on_order, &child, &err) == 0);
    must(loop_run(child.loop, &err) == 0);
    _exit(0);
}

void many_server_start(struct many_server *server)
{
    struct hello_message hello = {0};
    int ends[2] = {-1, -1};

    raise_limit();
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    server->pid = fork();
    must(server->pid >= 0);
    if (server->pid == 0) {
        (void)close(ends[0]);
        run_child(ends[1]);
    }
    (void)close(ends[1]);
    server->control = ends[0];
    must(recv(server->control, &hello, sizeof(hello), 0) == (ssize_t)sizeof(hello));
    server->port = hello.port;
    server->ca_pem = xstrdup(hello.ca_pem);
}

void many_server_stop(struct many_server *server)
{
    (void)close(server->control);
    must(waitpid(server->pid, NULL, 0) == server->pid);
    free(server->ca_pem);
}

static void order(const struct many_server *server, enum order what, unsigned index)
{
    const struct order_message message = {.order = what, .index = index};

    must(send(server->control, &message, sizeof(message), 0) == (ssize_t)sizeof(message));
}

void many_server_send_event(const struct many_server *server, unsigned index)
{
    order(server, ORDER_EVENT, index);
}

void many_server_close_all(const struct many_server *server)
{
    order(server, ORDER_CLOSE, 0);
}

void many_server_count(const struct many_server *server, size_t *ret_connections,
                       size_t *ret_resumed)
{
    struct count_message message = {0};

    order(server, ORDER_COUNT, 0);
    must(recv(server->control, &message, sizeof(message), 0) == (ssize_t)sizeof(message));
    *ret_connections = message.connections;
    *ret_resumed = message.resumed;
}
