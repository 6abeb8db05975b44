/* SPDX-License-Identifier: Apache-2.0 */
/* A client for tests of pages: requests to a server on a loop that the test runs. */
#pragma once

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"
#include "deployer/serve/server.h"

enum { ASK_ANSWER_MAX = 1 << 17 };

struct asker {
    struct loop *loop;
    struct server *server;
    char answer[ASK_ANSWER_MAX]; /* the last one, with its head */
    size_t size;
};

/* Serves nothing but pages. */
static inline int ask_nothing_else(void *data, const char *path, struct buffer *ret_body,
                                   const char **ret_content_type)
{
    (void)data, (void)path, (void)ret_body, (void)ret_content_type;
    return 404;
}

static inline int ask_start(struct asker *asker, struct clock *clock)
{
    struct error err = {0};

    return loop_new(clock, &asker->loop, &err) < 0 ||
                   server_new(asker->loop, "127.0.0.1", 0, ask_nothing_else, NULL, &asker->server,
                              &err) < 0
               ? -1
               : 0;
}

/* Returns the connection. */
static inline int ask_send(struct asker *asker, const char *path, const char *host)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server_port(asker->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cleanup_free char *request = xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    return fd;
}

/* Reads what arrives until the connection is closed or nothing comes any more. */
static inline void ask_receive(struct asker *asker, int fd)
{
    struct error err = {0};
    size_t got = 0;
    int silent = 0;

    while (silent < 3) {
        ssize_t more = 0;

        assert_int_equal(loop_run_once(asker->loop, 10, &err), 0);
        more = recv(fd, asker->answer + got, ASK_ANSWER_MAX - 1 - got, MSG_DONTWAIT);
        if (more == 0)
            break;
        silent = more > 0 ? 0 : silent + 1;
        got += more > 0 ? (size_t)more : 0;
    }
    asker->answer[got] = '\0';
    asker->size = got;
}

/* Returns the status of the answer; 0: there was none. */
static inline int ask_from(struct asker *asker, const char *path, const char *host)
{
    int fd = ask_send(asker, path, host);
    uint64_t status = 0;

    ask_receive(asker, fd);
    (void)close(fd);
    if (strncmp(asker->answer, "HTTP/1.1 ", 9) == 0)
        (void)number_scan(asker->answer + 9, 999, &status);
    return (int)status;
}

static inline int ask(struct asker *asker, const char *path)
{
    return ask_from(asker, path, "127.0.0.1:8080");
}

/* The document of the last answer. New reference. */
static inline json_t *ask_document(const struct asker *asker)
{
    const char *body = strstr(asker->answer, "\r\n\r\n");
    json_t *doc = NULL;
    struct error err = {0};

    assert_non_null(body);
    assert_int_equal(doc_parse_json(body + 4, strlen(body + 4), ASK_ANSWER_MAX, &doc, &err), 0);
    return doc;
}
