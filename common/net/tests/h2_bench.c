/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/tests/h2_bench.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"

/* How long a test waits before it fails. Ticks are counted instead of milliseconds, so that a
 * stopped or overloaded machine causes no failure. */
enum { TICKS_MAX = 3000, TICK_MS = 10 };

static void on_whole(void *data, struct h2_request *request)
{
    struct h2_bench *bench = data;

    if (bench->is_answering)
        h2_answer(request, 200, "", request->path);
    else if (bench->on_whole)
        bench->on_whole(bench, request);
}

static void on_head(void *data, struct h2_request *request)
{
    struct h2_bench *bench = data;

    if (bench->on_head)
        bench->on_head(bench, request);
}

static void start_server(struct h2_bench *bench, struct h2_server *server,
                         struct h2_options options, struct http_tls *tls)
{
    options.on_whole = on_whole;
    options.on_head = on_head;
    options.data = bench;
    h2_server_start(server, bench->loop, &options);
    *tls = (struct http_tls){.ca_pem = server->ca_pem};
}

void h2_bench_restart(struct h2_bench *bench, struct h2_options options)
{
    h2_server_done(&bench->server);
    start_server(bench, &bench->server, options, &bench->tls);
}

void h2_bench_start_other(struct h2_bench *bench, struct h2_options options)
{
    start_server(bench, &bench->other, options, &bench->other_tls);
}

static void on_tick(void *data)
{
    struct h2_bench *bench = data;

    bench->tick_count++;
    loop_timer_start(&bench->ticks, TICK_MS);
}

static int setup(void **state, bool is_fake)
{
    static const char *const proxies[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    struct h2_bench *bench = xcalloc(1, sizeof(*bench));
    struct error err = {0};

    /* The tests must not use a proxy of the machine. */
    for (size_t i = 0; i < array_length(proxies); i++)
        (void)unsetenv(proxies[i]);
    /* As our programs do: OpenSSL writes without MSG_NOSIGNAL. */
    (void)signal(SIGPIPE, SIG_IGN);
    clock_fake_init(&bench->clock, 1000000000000);
    assert_int_equal(loop_new(is_fake ? &bench->clock.clock : clock_system(), &bench->loop, &err),
                     0);
    assert_int_equal(http_client_new(bench->loop, "test/1", &bench->client, &err), 0);
    loop_timer_init(&bench->ticks, bench->loop, on_tick, bench);
    start_server(bench, &bench->server, (struct h2_options){0}, &bench->tls);
    *state = bench;
    return 0;
}

int h2_bench_setup(void **state)
{
    return setup(state, false);
}

int h2_bench_setup_fake(void **state)
{
    return setup(state, true);
}

int h2_bench_teardown(void **state)
{
    struct h2_bench *bench = *state;

    http_client_free(bench->client);
    h2_server_done(&bench->server);
    h2_server_done(&bench->other);
    loop_timer_stop(&bench->ticks);
    loop_free(bench->loop);
    for (size_t i = 0; i < bench->call_count; i++) {
        struct h2_call *call = bench->calls[i];

        free(call->url);
        free(call->body);
        free(call->header);
        buffer_done(&call->data);
        free(call);
    }
    free(bench);
    return 0;
}

static void do_to_others(struct h2_call *call)
{
    struct h2_call *cancelled = call->cancelled;
    struct h2_call *started = call->started;

    call->cancelled = NULL;
    call->started = NULL;
    if (started)
        h2_call_start(started);
    if (cancelled)
        h2_call_cancel(cancelled);
}

static void on_done(void *data, const struct http_response *response, const struct error *err)
{
    struct h2_call *call = data;

    call->done_count++;
    call->status = response->status;
    call->err = *err;
    free(call->body);
    call->body = xstrndup(response->body->data ? response->body->data : "", response->body->size);
    if (call->header_name && !call->header)
        call->header = xstrdup_or_null(http_response_header(response, call->header_name));
    do_to_others(call); /* before call->call is cleared: it may cancel itself */
    call->call = NULL;
}

int h2_on_data(void *data, const struct http_response *response, const char *bytes, size_t size,
               struct error *err)
{
    struct h2_call *call = data;

    assert_true(http_client_is_busy(call->bench->client));
    assert_int_equal(response->body->size, 0);
    call->data_count++;
    call->status = response->status;
    do_to_others(call);
    if (call->sink_error.kind != ERROR_NONE) {
        *err = call->sink_error;
        return -1;
    }
    return buffer_append(&call->data, bytes, size, err);
}

struct h2_call *h2_call_new_at(struct h2_bench *bench, const struct http_tls *tls, const char *url)
{
    struct h2_call *call = xcalloc(1, sizeof(*call));

    assert_true(bench->call_count < H2_CALLS_MAX);
    bench->calls[bench->call_count++] = call;
    call->bench = bench;
    call->url = xstrdup(url);
    buffer_init(&call->data, H2_BODY_MAX);
    call->request = (struct http_request){
        .method = "GET",
        .url = call->url,
        .tls = tls,
        .is_multiplexed = true,
        .total_timeout_ms = 20000,
        .on_done = on_done,
        .data = call,
    };
    return call;
}

struct h2_call *h2_call_new(struct h2_bench *bench, const char *path)
{
    cleanup_free char *url = xasprintf("https://127.0.0.1:%d%s", bench->server.port, path);

    return h2_call_new_at(bench, &bench->tls, url);
}

void h2_call_start(struct h2_call *call)
{
    struct error err = {0};

    if (http_start(call->bench->client, &call->request, &call->call, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(call->done_count, 0);
}

void h2_call_cancel(struct h2_call *call)
{
    http_cancel(call->call);
    call->call = NULL;
}

struct h2_call *h2_get(struct h2_bench *bench, const char *path)
{
    struct h2_call *call = h2_call_new(bench, path);

    h2_call_start(call);
    return call;
}

static void run_once(struct h2_bench *bench, int wait_ms)
{
    struct error err = {0};

    if (loop_run_once(bench->loop, wait_ms, &err) < 0)
        fail_msg("%s", err.text);
}

#define run_until(bench_, condition_)                                                              \
    do {                                                                                           \
        (bench_)->tick_count = 0;                                                                  \
        while (!(condition_)) {                                                                    \
            if ((bench_)->tick_count > TICKS_MAX)                                                  \
                fail_msg("timed out waiting for %s", #condition_);                                 \
            if (!loop_timer_is_running(&(bench_)->ticks))                                          \
                loop_timer_start(&(bench_)->ticks, TICK_MS);                                       \
            run_once((bench_), -1);                                                                \
        }                                                                                          \
        loop_timer_stop(&(bench_)->ticks);                                                         \
    } while (0)

void h2_run_until_done(struct h2_call *call)
{
    run_until(call->bench, call->done_count > 0);
    assert_int_equal(call->done_count, 1);
}

struct h2_call *h2_fetch(struct h2_bench *bench, const char *path)
{
    struct h2_call *call = h2_get(bench, path);

    h2_run_until_done(call);
    return call;
}

struct h2_request *h2_run_until_request(struct h2_bench *bench, const char *path)
{
    run_until(bench, h2_server_count(&bench->server, path) > 0);
    return h2_server_find(&bench->server, path);
}

void h2_run_until_bytes(struct h2_call *call, size_t size)
{
    run_until(call->bench, call->data.size >= size);
}

void h2_run_until_reset(struct h2_bench *bench, const struct h2_request *request)
{
    run_until(bench, request->is_reset);
}

void h2_run_until_open(struct h2_bench *bench, const struct h2_server *server, size_t count)
{
    run_until(bench, server->open_count == count);
}

void h2_run_idle(struct h2_bench *bench)
{
    for (int i = 0; i < 20; i++)
        run_once(bench, 1);
}

void h2_assert_answered(const struct h2_call *call, int status, const char *body)
{
    assert_int_equal(call->done_count, 1);
    if (call->err.kind != ERROR_NONE)
        fail_msg("%s", call->err.text);
    assert_int_equal(call->status, status);
    assert_string_equal(call->body, body);
}

void h2_assert_failed(const struct h2_call *call, enum error_kind kind, int os)
{
    assert_int_equal(call->done_count, 1);
    if (call->err.kind != kind || call->err.os != os)
        fail_msg("%s, os %d: %s", error_kind_name(call->err.kind), call->err.os, call->err.text);
}
