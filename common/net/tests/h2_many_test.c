/* SPDX-License-Identifier: Apache-2.0 */
/* What connections to many servers need: limits, resumed sessions, detection of dead servers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/http_nghttp2.h"
#include "common/net/tests/h2_bench.h"
#include "common/net/tests/h2_server_internal.h"

static struct h2_call *start_watch(struct h2_bench *bench)
{
    struct h2_call *watch = h2_call_new(bench, "/watch");

    watch->request.total_timeout_ms = 0;
    watch->request.on_data = h2_on_data;
    h2_call_start(watch);
    h2_begin(h2_run_until_request(bench, "/watch"), 200, "");
    h2_run_idle(bench);
    return watch;
}

static void advance_s(struct h2_bench *bench, int seconds, int step_s)
{
    for (int i = 0; i < seconds; i += step_s) {
        clock_fake_advance(&bench->clock, (uint64_t)step_s * 1000);
        h2_run_idle(bench);
    }
}

static void a_server_that_does_not_answer_is_given_up_within_a_minute(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *watch = start_watch(bench);

    h2_freeze(bench->server.connections);
    advance_s(bench, 40, 1);
    assert_int_equal(watch->done_count, 0);
    advance_s(bench, 20, 1);
    h2_assert_failed(watch, ERROR_TEMPORARY, ETIMEDOUT);
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_int_equal(bench->server.connection_count, 2);
}

static void a_quiet_connection_to_a_server_that_answers_stays_open(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *watch = start_watch(bench);
    struct h2_request *request = h2_server_find(&bench->server, "/watch");

    advance_s(bench, 150, 5);
    h2_send(request, "x", 1);
    h2_run_until_bytes(watch, 1);
    assert_int_equal(watch->done_count, 0);
    assert_int_equal(bench->server.connection_count, 1);
}

/* As after SIGSTOP: much time passes at once, while the answer waits in the socket. */
static void a_pause_of_the_process_does_not_cost_the_connection(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *watch = start_watch(bench);

    for (int i = 0; i < 3; i++) {
        clock_fake_advance(&bench->clock, 3600 * 1000);
        h2_run_idle(bench);
    }
    assert_int_equal(watch->done_count, 0);
    assert_int_equal(bench->server.connection_count, 1);
}

static bool is_resumed(const struct h2_bench *bench)
{
    return SSL_session_reused(bench->server.connections->ssl);
}

static void a_session_is_resumed_only_for_the_same_settings(void **state)
{
    struct h2_bench *bench = *state;
    struct http_tls twin = bench->tls;
    struct h2_call *call = NULL;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    assert_false(is_resumed(bench));
    for (int i = 0; i < 3; i++) {
        h2_close(bench->server.connections);
        h2_run_idle(bench);
        h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
        assert_true(is_resumed(bench));
    }
    call = h2_call_new_at(bench, &twin, bench->calls[0]->url);
    h2_call_start(call);
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "/");
    assert_false(is_resumed(bench));
}

static void a_forgotten_connection_is_closed_with_its_last_call(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *waiting = h2_get(bench, "/waiting");
    struct h2_request *request = h2_run_until_request(bench, "/waiting");

    http_forget(bench->client, &bench->tls, waiting->url);
    http_forget(bench->client, &bench->tls, waiting->url);
    http_forget(bench->client, NULL, "http://127.0.0.1/");
    h2_run_idle(bench);
    assert_int_equal(bench->server.open_count, 1);
    h2_answer(request, 200, "", "fine");
    h2_run_until_done(waiting);
    h2_assert_answered(waiting, 200, "fine");
    h2_run_until_open(bench, &bench->server, 0);
    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_false(is_resumed(bench));
}

/* After kube_free() the settings are gone, even if the connection is still being made. */
static void settings_can_be_freed_while_connecting(void **state)
{
    struct h2_bench *bench = *state;
    struct http_tls *tls = xmemdup(&bench->tls, sizeof(*tls));
    cleanup_free char *url = xasprintf("https://127.0.0.1:%d/", bench->server.port);
    struct h2_call *call = h2_call_new_at(bench, tls, url);
    struct error err = {0};

    h2_call_start(call);
    assert_int_equal(loop_run_once(bench->loop, 0, &err), 0);
    h2_call_cancel(call);
    http_forget(bench->client, tls, url);
    free(tls);
    h2_run_idle(bench);
    assert_int_equal(bench->client->nghttp2->connecting_count, 0);
    assert_null(bench->client->nghttp2->connections);
}

static void start_calls(struct h2_bench *bench, struct http_tls *settings, size_t count)
{
    cleanup_free char *url = xasprintf("https://127.0.0.1:%d/", bench->server.port);

    for (size_t i = 0; i < count; i++) {
        struct h2_call *call = NULL;

        settings[i] = bench->tls;
        call = h2_call_new_at(bench, &settings[i], url);
        call->request.connect_timeout_ms = 50 * 1000;
        h2_call_start(call);
    }
}

static size_t count_done(const struct h2_bench *bench)
{
    size_t count = 0;

    for (size_t i = 0; i < bench->call_count; i++)
        count += (size_t)bench->calls[i]->done_count;
    return count;
}

/* Connections are looked at together, and leave the list of those to look at in any order. */
static void all_servers_that_do_not_answer_are_given_up(void **state)
{
    enum { COUNT = 5, UNUSED = 2 };
    struct h2_bench *bench = *state;
    struct http_tls settings[COUNT];
    cleanup_free char *url = xasprintf("https://127.0.0.1:%d/", bench->server.port);

    for (size_t i = 0; i < COUNT; i++) {
        struct h2_call *call = NULL;

        settings[i] = bench->tls;
        call = h2_call_new_at(bench, &settings[i], url);
        call->request.total_timeout_ms = 0;
        h2_call_start(call);
    }
    while (h2_server_count(&bench->server, "/") < COUNT)
        h2_run_idle(bench);
    h2_call_cancel(bench->calls[UNUSED]);
    h2_run_idle(bench);
    for (struct h2_connection *one = bench->server.connections; one; one = one->next)
        h2_freeze(one);
    http_forget(bench->client, &settings[0], url); /* its call goes on */
    advance_s(bench, 40, 1);
    assert_int_equal(count_done(bench), 0);
    advance_s(bench, 20, 1);
    for (size_t i = 0; i < COUNT; i++) {
        if (i != UNUSED)
            h2_assert_failed(bench->calls[i], ERROR_TEMPORARY, ETIMEDOUT);
    }
    /* Nobody waits for the last one. */
    assert_non_null(bench->client->nghttp2->connections);
    assert_null(bench->client->nghttp2->connections->next);
    http_client_free(bench->client); /* before settings */
    bench->client = NULL;
}

static void only_so_many_connections_are_made_at_a_time(void **state)
{
    enum { COUNT = HTTP_CONNECTING_MAX + 40 };
    struct h2_bench *bench = *state;
    struct http_tls settings[COUNT];

    h2_bench_restart(bench, (struct h2_options){.is_deaf = true});
    start_calls(bench, settings, COUNT);
    h2_run_until_open(bench, &bench->server, HTTP_CONNECTING_MAX);
    h2_run_idle(bench);
    assert_int_equal(bench->server.connection_count, HTTP_CONNECTING_MAX);
    /* Those that wait for their turn do not time out, and one of them is not needed any more. */
    h2_call_cancel(bench->calls[COUNT - 1]);
    advance_s(bench, 25, 5);
    assert_int_equal(count_done(bench), HTTP_CONNECTING_MAX);
    assert_int_equal(bench->server.connection_count, HTTP_CONNECTING_MAX);
    advance_s(bench, 30, 5);
    h2_run_until_open(bench, &bench->server, COUNT - 1);
    assert_int_equal(bench->client->nghttp2->connecting_count, 39);
    http_client_free(bench->client); /* before settings */
    bench->client = NULL;
}

static void connections_that_were_not_used_lately_keep_no_buffers(void **state)
{
    enum { COUNT = HTTP_BUFFERED_MAX + 10 };
    struct h2_bench *bench = *state;
    struct http_tls settings[COUNT];
    struct http_nghttp2 *transport = bench->client->nghttp2;

    bench->is_answering = true;
    for (int i = 0; i < 2; i++) {
        start_calls(bench, settings, COUNT);
        for (size_t j = bench->call_count - COUNT; j < bench->call_count; j++) {
            h2_run_until_done(bench->calls[j]);
            h2_assert_answered(bench->calls[j], 200, "/");
        }
        assert_int_equal(transport->buffered_count, HTTP_BUFFERED_MAX);
    }
    assert_int_equal(bench->server.connection_count, COUNT);
    for (const struct connection *connection = transport->connections; connection;
         connection = connection->next)
        assert_true(connection->is_buffered || !connection->out.data);
    http_client_free(bench->client); /* before settings */
    bench->client = NULL;
}

/* A watch lives for hours: only what its error needs is kept of its request. */
static void the_error_of_a_long_call_names_its_url_after_it_was_sent(void **state)
{
    static const struct http_header header = {"x-large", "0123456789"};
    struct h2_bench *bench = *state;
    struct h2_call *call = h2_call_new(bench, "/watch?secret=1");
    struct h2_request *request = NULL;
    cleanup_free char *text = NULL;

    call->request.is_headless = true;
    call->request.bearer = "token";
    call->request.headers = &header;
    call->request.header_count = 1;
    call->request.on_data = h2_on_data;
    h2_call_start(call);
    request = h2_run_until_request(bench, "/watch?secret=1");
    assert_null(call->call->input);
    assert_string_equal(call->call->response.method, "GET");
    h2_begin(request, 200, "");
    h2_send(request, "12", 2);
    h2_run_until_bytes(call, 2);
    h2_reset(request, NGHTTP2_INTERNAL_ERROR);
    h2_run_until_done(call);
    h2_assert_failed(call, ERROR_TEMPORARY, 0);
    text = xasprintf("GET \"https://127.0.0.1:%d/watch\": ", bench->server.port);
    assert_non_null(strstr(call->err.text, text));
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
#define test_fake(name_)                                                                           \
    cmocka_unit_test_setup_teardown(name_, h2_bench_setup_fake, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test_fake(a_server_that_does_not_answer_is_given_up_within_a_minute),
        test_fake(a_quiet_connection_to_a_server_that_answers_stays_open),
        test_fake(a_pause_of_the_process_does_not_cost_the_connection),
        test(a_session_is_resumed_only_for_the_same_settings),
        test(a_forgotten_connection_is_closed_with_its_last_call),
        test(settings_can_be_freed_while_connecting),
        test_fake(all_servers_that_do_not_answer_are_given_up),
        test_fake(only_so_many_connections_are_made_at_a_time),
        test(connections_that_were_not_used_lately_keep_no_buffers),
        test(the_error_of_a_long_call_names_its_url_after_it_was_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
