/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_registry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { CLIENTS_MAX = 64, REQUEST_MAX = 16 * 1024 };

struct client {
    struct fake_registry *registry;
    int fd;
    char text[REQUEST_MAX];
    size_t size;
    char *pending; /* of a body that does not fit into the socket */
    size_t pending_size, pending_sent;
    bool is_ended_then; /* the connection, once all is sent */
};

struct fake_registry {
    struct loop *loop;
    fake_fn *on_request;
    void *data;
    int fd, port;
    struct client *clients[CLIENTS_MAX];
};

static void drop_client(struct client *client)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (client->registry->clients[i] == client)
            client->registry->clients[i] = NULL;
    }
    loop_remove_fd(client->registry->loop, client->fd);
    (void)close(client->fd);
    free(client->pending);
    free(client);
}

static void on_client(void *data, uint32_t events);

static void copy_header(const char *text, const char *name, char *to, size_t size)
{
    const char *line = strstr(text, "\r\n");

    to[0] = '\0';
    while (line && strncmp(line, "\r\n\r\n", 4) != 0) {
        size_t length = strlen(name);

        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1 + strspn(line + length + 1, " ");

            (void)snprintf(to, size, "%.*s", (int)strcspn(value, "\r"), value);
            return;
        }
        line = strstr(line, "\r\n");
    }
}

/* The bytes of a whole request, or 0. */
static size_t read_request(const struct client *client, struct fake_request *ret_request)
{
    const char *end = strstr(client->text, "\r\n\r\n");
    char length[32] = "";
    size_t head = 0;
    size_t body = 0;

    if (!end)
        return 0;
    head = (size_t)(end - client->text) + 4;
    copy_header(client->text, "Content-Length", length, sizeof(length));
    body = (size_t)strtoul(length, NULL, 10);
    if (client->size < head + body)
        return 0;
    *ret_request = (struct fake_request){0};
    (void)snprintf(ret_request->method, sizeof(ret_request->method), "%.*s",
                   (int)strcspn(client->text, " "), client->text);
    (void)snprintf(ret_request->path, sizeof(ret_request->path), "%.*s",
                   (int)strcspn(client->text + strlen(ret_request->method) + 1, " "),
                   client->text + strlen(ret_request->method) + 1);
    copy_header(client->text, "Authorization", ret_request->authorization, FAKE_TEXT_MAX);
    copy_header(client->text, "Range", ret_request->range, sizeof(ret_request->range));
    copy_header(client->text, "Accept", ret_request->accept, FAKE_TEXT_MAX);
    copy_header(client->text, "Host", ret_request->host, sizeof(ret_request->host));
    (void)snprintf(ret_request->body, FAKE_TEXT_MAX, "%.*s", (int)body, client->text + head);
    return head + body;
}

/* The client runs on the same loop, so a full socket must not block. False: the connection is to
 * end. */
static bool send_pending(struct client *client)
{
    ssize_t sent = send(client->fd, client->pending + client->pending_sent,
                        client->pending_size - client->pending_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    struct error err = {0};
    bool is_done = false;

    /* The client may have hung up on what it did not like. */
    if (sent < 0 && errno != EAGAIN)
        return false;
    client->pending_sent += sent > 0 ? (size_t)sent : 0;
    is_done = client->pending_sent == client->pending_size;
    if (is_done) {
        free(client->pending);
        client->pending = NULL;
    }
    must(loop_set_fd(client->registry->loop, client->fd, is_done ? EPOLLIN : EPOLLOUT, on_client,
                     client, &err) == 0);
    return !is_done || !client->is_ended_then;
}

/* False: the connection is to end. */
static bool send_answer(struct client *client, const struct fake_answer *answer)
{
    cleanup_free char *head =
        xasprintf("HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", answer->status, answer->size,
                  answer->headers ? answer->headers : "");
    size_t size = answer->is_cut ? answer->cut : answer->size;

    if (answer->is_dropped)
        return false;
    must(send(client->fd, head, strlen(head), MSG_NOSIGNAL) == (ssize_t)strlen(head));
    if (size == 0)
        return !answer->is_cut;
    client->pending = xmemdup(answer->body, size);
    client->pending_size = size;
    client->pending_sent = 0;
    client->is_ended_then = answer->is_cut;
    return send_pending(client);
}

static void on_client(void *data, uint32_t events)
{
    static const char plain_answer[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct client *client = data;
    struct fake_registry *registry = client->registry;
    struct fake_request *request = NULL;
    ssize_t count = 0;
    size_t used = 0;
    bool is_kept = true;

    (void)events;
    if (client->pending) {
        if (!send_pending(client))
            drop_client(client);
        return;
    }
    count =
        recv(client->fd, client->text + client->size, sizeof(client->text) - client->size - 1, 0);
    /* 22 begins a TLS handshake: answered as servers without TLS do. */
    if (count > 0 && client->text[0] == 22)
        (void)send(client->fd, plain_answer, strlen(plain_answer), MSG_NOSIGNAL);
    if (count <= 0 || client->text[0] == 22) {
        drop_client(client);
        return;
    }
    client->size += (size_t)count;
    client->text[client->size] = '\0';
    request = xmalloc(sizeof(*request));
    while (is_kept && !client->pending && (used = read_request(client, request)) > 0) {
        struct fake_answer answer = {.status = 200};

        memmove(client->text, client->text + used, client->size - used + 1);
        client->size -= used;
        registry->on_request(registry->data, request, &answer);
        is_kept = send_answer(client, &answer);
    }
    free(request);
    if (!is_kept)
        drop_client(client);
}

static void on_connection(void *data, uint32_t events)
{
    struct fake_registry *registry = data;
    struct client *client = xcalloc(1, sizeof(*client));
    struct error err = {0};
    size_t place = 0;

    (void)events;
    client->registry = registry;
    client->fd = accept4(registry->fd, NULL, NULL, SOCK_CLOEXEC);
    must(client->fd >= 0);
    while (registry->clients[place]) {
        place++;
        must(place < CLIENTS_MAX);
    }
    registry->clients[place] = client;
    must(loop_set_fd(registry->loop, client->fd, EPOLLIN, on_client, client, &err) == 0);
}

struct fake_registry *fake_registry_new(struct loop *loop, fake_fn *on_request, void *data)
{
    struct fake_registry *registry = xcalloc(1, sizeof(*registry));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    struct error err = {0};

    registry->loop = loop;
    registry->on_request = on_request;
    registry->data = data;
    registry->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(registry->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
         listen(registry->fd, 16) == 0 &&
         getsockname(registry->fd, (struct sockaddr *)&address, &size) == 0);
    registry->port = ntohs(address.sin_port);
    must(loop_set_fd(loop, registry->fd, EPOLLIN, on_connection, registry, &err) == 0);
    return registry;
}

void fake_registry_free(struct fake_registry *registry)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (registry->clients[i])
            drop_client(registry->clients[i]);
    }
    loop_remove_fd(registry->loop, registry->fd);
    (void)close(registry->fd);
    free(registry);
}

int fake_registry_port(const struct fake_registry *registry)
{
    return registry->port;
}
