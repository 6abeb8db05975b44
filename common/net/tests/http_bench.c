/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/tests/http_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"

static void on_request(void *data, struct loopback_connection *connection, const char *request)
{
    struct bench *bench = data;

    (void)request;
    bench->last_connection = connection;
    if (bench->answer)
        loopback_send(connection, bench->answer);
    if (bench->is_closed_after)
        loopback_close(connection);
}

int bench_setup(void **state)
{
    struct bench *bench = xcalloc(1, sizeof(*bench));
    struct error err = {0};

    /* The tests must not use a proxy of the machine. */
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    assert_int_equal(loop_new(clock_system(), &bench->loop, &err), 0);
    assert_int_equal(http_client_new(bench->loop, "test/1", &bench->client, &err), 0);
    loopback_start(&bench->server, bench->loop, on_request, bench);
    loopback_start(&bench->other, bench->loop, on_request, bench);
    *state = bench;
    return 0;
}

int bench_teardown(void **state)
{
    struct bench *bench = *state;

    http_client_free(bench->client);
    loopback_done(&bench->server);
    loopback_done(&bench->other);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

char *bench_url(const struct loopback *server, const char *path)
{
    return xasprintf("http://127.0.0.1:%d%s", server->port, path);
}

void bench_on_done(void *data, const struct http_response *response, const struct error *err)
{
    struct got *got = data;

    got->done_count++;
    got->status = response->status;
    got->err = *err;
    free(got->body);
    got->body = xstrndup(response->body->data ? response->body->data : "", response->body->size);
    if (got->header_name)
        got->header = xstrdup_or_null(http_response_header(response, got->header_name));
    if (got->cancelled)
        http_cancel(*got->cancelled);
}

int bench_on_data(void *data, const struct http_response *response, const char *bytes, size_t size,
                  struct error *err)
{
    struct got *got = data;

    got->data_count++;
    got->status = response->status;
    if (got->cancelled) {
        http_cancel(*got->cancelled);
        got->cancelled = NULL;
    }
    return buffer_append(&got->data, bytes, size, err);
}

struct http_request bench_request(struct bench *bench, struct got *got, const char *url)
{
    got->bench = bench;
    buffer_init(&got->data, 1 << 24);
    return (struct http_request){
        .method = "GET",
        .url = url,
        .is_plain_http_allowed = true,
        .total_timeout_ms = 20000,
        .on_done = bench_on_done,
        .data = got,
    };
}

void bench_start(const struct http_request *request, struct got *got)
{
    struct error err = {0};

    if (http_start(got->bench->client, request, &got->call, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(got->done_count, 0);
}

static void run_once(struct bench *bench, int wait_ms)
{
    struct error err = {0};

    if (loop_run_once(bench->loop, wait_ms, &err) < 0)
        fail_msg("%s", err.text);
}

void bench_run_until_done(struct bench *bench, const struct got *got)
{
    while (!got->done_count)
        run_once(bench, -1);
}

void bench_run_until(struct bench *bench, const bool *is_true)
{
    while (!*is_true)
        run_once(bench, -1);
}

void bench_run_until_count(struct bench *bench, const size_t *count, size_t wanted)
{
    while (*count < wanted)
        run_once(bench, -1);
}

void bench_run_idle(struct bench *bench)
{
    for (int i = 0; i < 20; i++)
        run_once(bench, 1);
}

void bench_fetch(const struct http_request *request, struct got *got)
{
    bench_start(request, got);
    bench_run_until_done(got->bench, got);
    assert_int_equal(got->done_count, 1);
}

void got_done(struct got *got)
{
    free(got->body);
    free(got->header);
    buffer_done(&got->data);
}
