/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/memory.h"
#include "deployer/serve/server.h"

/* A server whose page keeps its last exchange until the test answers. */
struct place {
    struct clock_fake clock;
    struct loop *loop;
    struct server *server;
    struct exchange *exchange;
    int handled, closed;
};

/* send() of the server fails as if the buffer of the socket was full. */
static bool is_full;
ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (!is_full)
        return __real_send(fd, data, size, flags);
    errno = EAGAIN;
    return -1;
}

static int serve(void *data, const char *path, struct buffer *ret_body,
                 const char **ret_content_type)
{
    (void)data, (void)path, (void)ret_body, (void)ret_content_type;
    return 404;
}

static void on_closed(void *data, struct exchange *exchange)
{
    struct place *place = data;

    assert_ptr_equal(exchange, place->exchange);
    place->exchange = NULL;
    place->closed++;
}

static void handle(void *data, struct exchange *exchange)
{
    struct place *place = data;

    place->handled++;
    place->exchange = exchange;
    exchange_on_close(exchange, on_closed, place);
}

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));
    struct error err = {0};

    is_full = false;
    clock_fake_init(&place->clock, 0);
    if (loop_new(&place->clock.clock, &place->loop, &err) < 0 ||
        server_new(place->loop, "127.0.0.1", 0, serve, NULL, &place->server, &err) < 0)
        return -1;
    server_set_pages(place->server, "/page", handle, place);
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

static void turn(struct place *place)
{
    struct error err = {0};

    assert_int_equal(loop_run_once(place->loop, 10, &err), 0);
}

/* A connection that has sent its request. */
static int ask(struct place *place, const char *request)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server_port(place->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    turn(place);
    turn(place);
    return fd;
}

static void read_all(struct place *place, int fd, char *ret_text, size_t size)
{
    size_t got = 0;

    for (int i = 0; i < 5; i++) {
        ssize_t more = 0;

        turn(place);
        more = recv(fd, ret_text + got, size - 1 - got, MSG_DONTWAIT);
        if (more > 0)
            got += (size_t)more;
    }
    ret_text[got] = '\0';
}

static void only_paths_below_the_prefix_are_pages(void **state)
{
    static const struct {
        const char *path;
        int handled;
    } cases[] = {{"/page", 1}, {"/page/", 1}, {"/page/a?b=c", 1}, {"/pages", 0}, {"/", 0}};
    struct place *place = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *request = xasprintf("GET %s HTTP/1.1\r\n\r\n", cases[i].path);
        int fd = ask(place, request);

        assert_int_equal(place->handled, cases[i].handled);
        place->handled = 0;
        (void)close(fd);
        turn(place);
    }
}

static void an_answer_can_be_given_later(void **state)
{
    struct place *place = *state;
    char text[1024] = "";
    cleanup_free char *parameter = NULL, *header = NULL;
    int fd = ask(place, "GET /page/x?a=b%20c HTTP/1.1\r\nHost: me\r\n\r\n");

    assert_string_equal(exchange_path(place->exchange), "/page/x");
    parameter = exchange_parameter(place->exchange, "a");
    header = exchange_header(place->exchange, "host");
    assert_string_equal(parameter, "b c");
    assert_string_equal(header, "me");
    exchange_answer(place->exchange, 403, "text/x-test", "X-More: 1\r\n", "no\n", 3);
    read_all(place, fd, text, sizeof(text));
    assert_memory_equal(text, "HTTP/1.1 403 Forbidden\r\n", 24);
    assert_non_null(strstr(text, "\r\nX-More: 1\r\n"));
    assert_non_null(strstr(text, "\r\n\r\nno\n"));
    assert_int_equal(place->closed, 0);
    (void)close(fd);
}

static void the_handler_learns_that_a_client_is_gone(void **state)
{
    struct place *place = *state;
    int fd = ask(place, "GET /page HTTP/1.1\r\n\r\n");

    (void)close(fd);
    turn(place);
    assert_int_equal(place->closed, 1);
}

static void a_handler_that_never_answers_does_not_hold_the_connection(void **state)
{
    struct place *place = *state;
    int fd = ask(place, "GET /page HTTP/1.1\r\n\r\n");

    clock_fake_advance(&place->clock, SERVE_PATIENCE_MS);
    turn(place);
    assert_int_equal(place->closed, 1);
    (void)close(fd);
}

static void a_stream_goes_on_while_the_client_reads(void **state)
{
    struct place *place = *state;
    char text[4096] = "";
    int fd = ask(place, "GET /page HTTP/1.1\r\n\r\n");

    exchange_stream(place->exchange, "text/event-stream", "");
    assert_true(exchange_send(place->exchange, "one\n", 4));
    for (int i = 0; i < 3; i++) {
        clock_fake_advance(&place->clock, SERVE_PATIENCE_MS * 2);
        turn(place);
        assert_true(exchange_send(place->exchange, "more\n", 5));
    }
    read_all(place, fd, text, sizeof(text));
    assert_non_null(strstr(text, "\r\n\r\none\nmore\nmore\nmore\n"));
    assert_null(strstr(text, "Content-Length"));
    exchange_close(place->exchange);
    assert_int_equal(place->closed, 1);
    (void)close(fd);
}

static void a_client_that_is_too_far_behind_is_disconnected(void **state)
{
    struct place *place = *state;
    char part[8192];
    int fd = ask(place, "GET /page HTTP/1.1\r\n\r\n"), parts = 0;

    memset(part, 'x', sizeof(part));
    exchange_stream(place->exchange, "text/event-stream", "");
    is_full = true;
    while (exchange_send(place->exchange, part, sizeof(part)))
        parts++;
    assert_true(parts > 0 && parts <= EXCHANGE_BACKLOG_MAX / (int)sizeof(part));
    assert_int_equal(place->closed, 1);
    (void)close(fd);
}

static void a_client_that_reads_nothing_for_long_is_disconnected(void **state)
{
    struct place *place = *state;
    int fd = ask(place, "GET /page HTTP/1.1\r\n\r\n");

    exchange_stream(place->exchange, "text/event-stream", "");
    is_full = true;
    assert_true(exchange_send(place->exchange, "x", 1));
    clock_fake_advance(&place->clock, SERVE_PATIENCE_MS - 1);
    turn(place);
    assert_int_equal(place->closed, 0);
    clock_fake_advance(&place->clock, 1);
    turn(place);
    assert_int_equal(place->closed, 1);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_paths_below_the_prefix_are_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_can_be_given_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_handler_learns_that_a_client_is_gone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_handler_that_never_answers_does_not_hold_the_connection,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_goes_on_while_the_client_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_is_too_far_behind_is_disconnected, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_reads_nothing_for_long_is_disconnected,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
