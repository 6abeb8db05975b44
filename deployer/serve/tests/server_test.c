/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/memory.h"
#include "deployer/serve/request.h"
#include "deployer/serve/server.h"

static void requests_are_parsed_or_rejected(void **state)
{
    static const struct {
        const char *head;
        int result, status, is_head;
        const char *path;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n\r\n", 1, 0, 0, "/healthz"},
        {"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", 1, 0, 0, "/metrics"},
        {"HEAD / HTTP/1.0\r\n\r\n", 1, 0, 1, "/"},
        {"GET /a HTTP/1.1\n\n", 1, 0, 0, "/a"},
        {"GET /healthz HTTP/1.1\r\n", 0, 0, 0, NULL},
        {"", 0, 0, 0, NULL},
        {"POST / HTTP/1.1\r\n\r\n", -1, 405, 0, NULL},
        {"GET healthz HTTP/1.1\r\n\r\n", -1, 400, 0, NULL},
        {"GET /\r\n\r\n", -1, 400, 0, NULL},
        {"GET \r\n\r\n", -1, 400, 0, NULL},
        {"\r\n\r\n", -1, 405, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *path = NULL;
        int status = 0, is_head = 0;
        int result = serve_parse(cases[i].head, strlen(cases[i].head), &path, &status, &is_head);

        assert_int_equal(result, cases[i].result);
        if (result < 0)
            assert_int_equal(status, cases[i].status);
        if (result > 0) {
            assert_string_equal(path, cases[i].path);
            assert_int_equal(is_head, cases[i].is_head);
        }
    }
}

static int serve(void *data, const char *path, struct buffer *ret_body,
                 const char **ret_content_type)
{
    struct error err = {0};

    (void)data;
    *ret_content_type = "text/x-test";
    if (strcmp(path, "/ok") != 0)
        return 404;
    return buffer_append_text(ret_body, &err, "fine\n") < 0 ? 503 : 200;
}

struct place {
    struct clock_fake clock;
    struct loop *loop;
    struct server *server;
};

/* accept4() of the server: counted, and failing with accept_errno unless that is 0. */
static int accept_errno;
static int accept_count;
int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    accept_count++;
    if (!accept_errno)
        return __real_accept4(fd, address, size, flags);
    errno = accept_errno;
    return -1;
}

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));
    struct error err = {0};

    accept_errno = accept_count = 0;
    clock_fake_init(&place->clock, 0);
    if (loop_new(&place->clock.clock, &place->loop, &err) < 0 ||
        server_new(place->loop, "127.0.0.1", 0, serve, NULL, &place->server, &err) < 0)
        return -1;
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    server_free(place->server);
    loop_free(place->loop);
    free(place);
    return 0;
}

static int connect_to(const struct place *place)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server_port(place->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void ask(struct place *place, const char *request, char *ret_answer, size_t size)
{
    int fd = connect_to(place);
    size_t got = 0;
    struct error err = {0};

    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    for (int i = 0; i < 100; i++) {
        ssize_t more = 0;

        assert_int_equal(loop_run_once(place->loop, 10, &err), 0);
        more = recv(fd, ret_answer + got, size - 1 - got, MSG_DONTWAIT);
        if (more == 0)
            break;
        if (more > 0)
            got += (size_t)more;
    }
    ret_answer[got] = '\0';
    (void)close(fd);
}

static void responds_and_closes_the_connection(void **state)
{
    char answer[4096] = {0};

    ask(*state, "GET /ok HTTP/1.1\r\n\r\n", answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 200 OK\r\n", 17);
    assert_non_null(strstr(answer, "Content-Type: text/x-test\r\n"));
    assert_non_null(strstr(answer, "Content-Length: 5\r\n"));
    assert_non_null(strstr(answer, "\r\n\r\nfine\n"));
    ask(*state, "HEAD /ok HTTP/1.1\r\n\r\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "Content-Length: 5\r\n"));
    assert_null(strstr(answer, "fine"));
    ask(*state, "GET /other HTTP/1.1\r\n\r\n", answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 404", 12);
    ask(*state, "DELETE /ok HTTP/1.1\r\n\r\n", answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 405", 12);
}

static void an_endless_request_head_is_refused(void **state)
{
    char request[SERVE_REQUEST_MAX + 1] = {0}, answer[4096] = {0};

    memset(request, 'a', sizeof(request) - 1);
    ask(*state, request, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 400", 12);
}

static void more_connections_than_the_limit_are_closed(void **state)
{
    struct place *place = *state;
    int fds[SERVE_CONNECTIONS_MAX + 1] = {0};
    struct error err = {0};
    char byte = 0;

    for (size_t i = 0; i < array_length(fds); i++) {
        fds[i] = connect_to(place);
        assert_int_equal(loop_run_once(place->loop, 100, &err), 0);
    }
    assert_int_equal(recv(fds[SERVE_CONNECTIONS_MAX], &byte, 1, 0), 0);
    assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
    for (size_t i = 0; i < array_length(fds); i++)
        (void)close(fds[i]);
}

static void without_free_descriptors_accepting_pauses_and_resumes(void **state)
{
    static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    struct place *place = *state;
    struct error err = {0};
    char answer[4096] = {0};

    for (size_t i = 0; i < array_length(errors); i++) {
        int waiting = connect_to(place);

        accept_errno = errors[i];
        accept_count = 0;
        for (int turn = 0; turn < 10; turn++)
            assert_int_equal(loop_run_once(place->loop, turn == 0 ? 1000 : 0, &err), 0);
        assert_int_equal(accept_count, 1);
        accept_errno = 0;
        clock_fake_advance(&place->clock, 1000);
        assert_int_equal(loop_run_once(place->loop, 0, &err), 0);
        ask(place, "GET /ok HTTP/1.1\r\n\r\n", answer, sizeof(answer));
        assert_memory_equal(answer, "HTTP/1.1 200 OK\r\n", 17);
        (void)close(waiting);
        assert_int_equal(loop_run_once(place->loop, 100, &err), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_parsed_or_rejected),
        cmocka_unit_test_setup_teardown(responds_and_closes_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_endless_request_head_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_connections_than_the_limit_are_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_free_descriptors_accepting_pauses_and_resumes,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
