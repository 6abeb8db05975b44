/* SPDX-License-Identifier: Apache-2.0 */
/* request.may_send: a call that waited for its connection, for a stream or for the socket is not
 * sent any more once it is no longer allowed. With both transports. */
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

enum { LARGE = 256 * 1024 };

/* The socket of the client takes this number of bytes; -1: all. */
static long socket_room = -1;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. The server of the tests
 * uses SSL_write(). */
int __real_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *ret_sent);
int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *ret_sent);
int __real_SSL_get_error(const SSL *ssl, int result);
int __wrap_SSL_get_error(const SSL *ssl, int result);

static bool is_full;

int __wrap_SSL_write_ex(SSL *ssl, const void *bytes, size_t size, size_t *ret_sent)
{
    is_full = socket_room == 0;
    if (is_full)
        return 0;
    if (socket_room > 0 && size > (size_t)socket_room)
        size = (size_t)socket_room;
    if (socket_room > 0)
        socket_room -= (long)size;
    return __real_SSL_write_ex(ssl, bytes, size, ret_sent);
}

int __wrap_SSL_get_error(const SSL *ssl, int result)
{
    bool was_full = is_full;

    is_full = false;
    return was_full ? SSL_ERROR_WANT_WRITE : __real_SSL_get_error(ssl, result);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int setup(void **state)
{
    socket_room = -1;
    return h2_bench_setup(state);
}

static bool is_allowed(const void *data)
{
    return *(const bool *)data;
}

/* Allows as many times as the number says. */
static bool is_counted(const void *data)
{
    int *left = (int *)(uintptr_t)data;

    return (*left)-- > 0;
}

static struct h2_call *post(struct h2_bench *bench, const char *path, const char *body, size_t size,
                            const bool *allowed)
{
    struct h2_call *call = h2_call_new(bench, path);

    call->request.method = "POST";
    call->request.body = body;
    call->request.body_size = size;
    call->request.may_send = is_allowed;
    call->request.may_send_data = allowed;
    h2_call_start(call);
    return call;
}

static void assert_refused(const struct h2_call *call)
{
    h2_assert_failed(call, ERROR_CANCELLED, 0);
    assert_non_null(strstr(call->err.text, "no longer allowed"));
    assert_int_equal(h2_server_count(&call->bench->server, strrchr(call->url, '/')), 0);
}

static void it_is_asked_again_when_the_request_is_written(void **state)
{
    /* How often it is asked: when the call is given to a transport, and when it is written. A
     * server without HTTP/2 makes the call change its transport. */
    static const struct {
        bool is_http1_only;
        int asked;
    } cases[] = {{false, 2}, {true, 3}};
    struct h2_bench *bench = NULL;

    for (size_t i = 0; i < array_length(cases); i++) {
        for (int allowed = 0; allowed <= cases[i].asked; allowed++) {
            struct h2_call *call = NULL;
            int left = allowed;

            /* A new client does not know yet what the server speaks. */
            assert_int_equal(h2_bench_teardown(state), 0);
            assert_int_equal(setup(state), 0);
            bench = *state;
            h2_bench_restart(bench, (struct h2_options){.is_http1_only = cases[i].is_http1_only});
            bench->is_answering = true;
            call = h2_call_new(bench, "/guarded");
            call->request.method = "DELETE";
            call->request.may_send = is_counted;
            call->request.may_send_data = &left;
            h2_call_start(call);
            h2_run_until_done(call);
            if (allowed < cases[i].asked)
                assert_refused(call);
            else
                h2_assert_answered(call, 200, "/guarded");
            assert_int_equal(left, allowed < cases[i].asked ? -1 : 0);
            h2_assert_answered(h2_fetch(bench, "/free"), 200, "/free");
        }
    }
}

static void calls_that_wait_for_a_connection_are_refused_and_others_are_sent(void **state)
{
    static const bool http1_cases[] = {false, true};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(http1_cases); i++) {
        struct h2_call *guarded[8];
        struct h2_call *lease = NULL;
        bool allowed = true;

        h2_bench_restart(bench, (struct h2_options){.is_http1_only = http1_cases[i]});
        bench->is_answering = true;
        for (size_t j = 0; j < array_length(guarded); j++)
            guarded[j] = post(bench, "/guarded", "{}", 2, &allowed);
        lease = h2_get(bench, "/lease");
        h2_run_until_open(bench, &bench->server, 1);
        allowed = false;
        for (size_t j = 0; j < array_length(guarded); j++) {
            h2_run_until_done(guarded[j]);
            assert_refused(guarded[j]);
        }
        h2_run_until_done(lease);
        h2_assert_answered(lease, 200, "/lease");
    }
}

static void calls_that_wait_for_a_stream_are_refused_for_good(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *running = NULL;
    struct h2_call *waiting = NULL;
    struct h2_request *request = NULL;
    bool allowed = true;

    h2_bench_restart(bench, (struct h2_options){.streams_max = 1});
    running = post(bench, "/running", "{}", 2, &allowed);
    request = h2_run_until_request(bench, "/running");
    waiting = post(bench, "/waiting", "{}", 2, &allowed);
    h2_run_idle(bench);
    assert_int_equal(waiting->done_count, 0);
    allowed = false;
    h2_answer(request, 200, "", "done");
    h2_run_until_done(waiting);
    allowed = true;
    h2_run_idle(bench);
    assert_refused(waiting);
    /* The other one was sent while it was allowed. */
    h2_assert_answered(running, 200, "done");
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/after"), 200, "/after");
    assert_int_equal(bench->server.connection_count, 1);
}

static void freeze(void *data, struct h2_request *request)
{
    (void)data;
    h2_freeze(request->connection);
}

static void the_rest_of_a_body_is_not_sent(void **state)
{
    struct h2_bench *bench = *state;
    cleanup_free char *body = xcalloc(1, LARGE);
    struct h2_call *call = NULL;
    bool allowed = true;

    bench->on_head = freeze;
    call = post(bench, "/large", body, LARGE, &allowed);
    h2_run_idle(bench);
    assert_int_equal(call->done_count, 0);
    allowed = false;
    (void)h2_get(bench, "/other"); /* wakes the connection */
    h2_run_until_done(call);
    assert_refused(call);
}

/* The request is in the buffer of the connection, wholly or in part. */
static void a_request_that_waits_for_the_socket_is_not_sent(void **state)
{
    static const struct {
        long room;
        bool is_cancelled;
    } cases[] = {{0, false}, {0, true}, {30, false}, {30, true}};
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = NULL;
        struct h2_call *next = NULL;
        bool allowed = true;

        h2_assert_answered(h2_fetch(bench, "/before"), 200, "/before");
        socket_room = cases[i].room;
        call = post(bench, "/guarded", "{}", 2, &allowed);
        h2_run_idle(bench);
        assert_int_equal(call->done_count, 0);
        allowed = false;
        if (cases[i].is_cancelled)
            h2_call_cancel(call);
        socket_room = -1;
        next = h2_get(bench, "/next");
        h2_run_until_done(next);
        h2_run_idle(bench);
        assert_int_equal(h2_server_count(&bench->server, "/guarded"), 0);
        if (cases[i].is_cancelled)
            h2_assert_answered(next, 200, "/next");
        else
            assert_refused(call);
    }
}

static void a_call_that_is_cancelled_while_it_is_allowed_does_not_cost_the_connection(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;
    bool allowed = true;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/before"), 200, "/before");
    socket_room = 0;
    call = post(bench, "/guarded", "{}", 2, &allowed);
    h2_run_idle(bench);
    h2_call_cancel(call);
    socket_room = -1;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 1);
}

#define test(function_) cmocka_unit_test_setup_teardown(function_, setup, h2_bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(it_is_asked_again_when_the_request_is_written),
        test(calls_that_wait_for_a_connection_are_refused_and_others_are_sent),
        test(calls_that_wait_for_a_stream_are_refused_for_good),
        test(the_rest_of_a_body_is_not_sent),
        test(a_request_that_waits_for_the_socket_is_not_sent),
        test(a_call_that_is_cancelled_while_it_is_allowed_does_not_cost_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
