/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting for multiplexed calls: certificates, fallback to HTTP/1.1, errors. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

static char *url_of(const struct h2_server *server, const char *path)
{
    return xasprintf("https://127.0.0.1:%d%s", server->port, path);
}

static void an_untrusted_certificate_fails_all_waiting_calls(void **state)
{
    static const struct {
        const char *alt_name, *server_name;
        bool is_trusted, is_insecure;
        enum error_kind kind;
    } cases[] = {
        {NULL, NULL, false, false, ERROR_DENIED},
        {NULL, "elsewhere.example", true, false, ERROR_DENIED},
        {"DNS:elsewhere.example", NULL, true, false, ERROR_DENIED},
        {"IP:127.0.0.2", NULL, true, false, ERROR_DENIED},
        {"DNS:elsewhere.example", "elsewhere.example", true, false, ERROR_NONE},
        {NULL, NULL, false, true, ERROR_NONE},
    };
    struct h2_bench *bench = *state;

    h2_bench_start_other(bench, (struct h2_options){0});
    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct http_tls tls = {.server_name = cases[i].server_name,
                               .is_insecure = cases[i].is_insecure};
        struct h2_call *calls[3] = {0};
        cleanup_free char *url = NULL;

        h2_bench_restart(bench, (struct h2_options){.alt_name = cases[i].alt_name});
        tls.ca_pem = cases[i].is_trusted ? bench->server.ca_pem : bench->other.ca_pem;
        url = url_of(&bench->server, "/path?s3cret");
        for (size_t j = 0; j < array_length(calls); j++) {
            calls[j] = h2_call_new_at(bench, &tls, url);
            calls[j]->request.bearer = "t0ken";
            h2_call_start(calls[j]);
        }
        for (size_t j = 0; j < array_length(calls); j++) {
            h2_run_until_done(calls[j]);
            h2_assert_failed(calls[j], cases[i].kind, 0);
            assert_null(strstr(calls[j]->err.text, "s3cret"));
        }
        assert_int_equal(bench->server.request_count, cases[i].kind == ERROR_NONE ? 3 : 0);
        /* struct http_tls is borrowed until the client is freed. */
        http_client_free(bench->client);
        bench->client = NULL;
        assert_int_equal(http_client_new(bench->loop, "test/1", &bench->client, &(struct error){0}),
                         0);
    }
}

static void connection_refused_fails_all_waiting_calls(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *calls[3] = {0};
    cleanup_free char *url = NULL;

    h2_bench_start_other(bench, (struct h2_options){0});
    h2_server_done(&bench->other);
    url = url_of(&bench->other, "/path?s3cret");
    for (size_t i = 0; i < array_length(calls); i++) {
        calls[i] = h2_call_new_at(bench, &bench->tls, url);
        calls[i]->request.bearer = "t0ken";
        h2_call_start(calls[i]);
    }
    for (size_t i = 0; i < array_length(calls); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_failed(calls[i], ERROR_TEMPORARY, ECONNREFUSED);
        assert_int_equal(calls[i]->status, 0);
        assert_non_null(strstr(calls[i]->err.text, "GET \"https://127.0.0.1:"));
        assert_non_null(strstr(calls[i]->err.text, "/path\""));
        assert_null(strstr(calls[i]->err.text, "s3cret"));
        assert_null(strstr(calls[i]->err.text, "t0ken"));
    }
}

static void a_slow_handshake_is_a_timeout(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *calls[3] = {0};

    h2_bench_restart(bench, (struct h2_options){.is_deaf = true});
    for (size_t i = 0; i < array_length(calls); i++) {
        calls[i] = h2_call_new(bench, "/path?s3cret");
        calls[i]->request.connect_timeout_ms = 60;
        h2_call_start(calls[i]);
    }
    for (size_t i = 0; i < array_length(calls); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_failed(calls[i], ERROR_TEMPORARY, ETIMEDOUT);
        assert_null(strstr(calls[i]->err.text, "s3cret"));
    }
}

static void a_call_may_time_out_while_others_still_wait_for_the_connection(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *patient = NULL;
    struct h2_call *hasty = NULL;

    h2_bench_restart(bench, (struct h2_options){.is_deaf = true});
    patient = h2_get(bench, "/patient");
    hasty = h2_call_new(bench, "/hasty");
    hasty->request.total_timeout_ms = 40;
    h2_call_start(hasty);
    h2_run_until_done(hasty);
    h2_assert_failed(hasty, ERROR_TEMPORARY, ETIMEDOUT);
    assert_int_equal(patient->done_count, 0);
    h2_call_cancel(patient);
}

static void falls_back_to_http1(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;
    struct h2_call *calls[4] = {0};
    size_t connection_count = 0;

    h2_bench_restart(bench, (struct h2_options){.is_http1_only = true});
    bench->is_answering = true;
    call = h2_call_new(bench, "/first?query");
    call->request.method = "POST";
    call->request.body = "body";
    call->request.body_size = 4;
    call->request.bearer = "t0ken";
    h2_call_start(call);
    h2_run_until_done(call);
    h2_assert_answered(call, 200, "/first?query");
    assert_int_equal(bench->server.request_count, 1);
    assert_int_equal(bench->server.requests[0]->stream_id, 0);
    assert_string_equal(bench->server.requests[0]->body.data, "body");
    assert_string_equal(h2_request_header(bench->server.requests[0], "Authorization"),
                        "Bearer t0ken");
    connection_count = bench->server.connection_count;
    assert_true(connection_count <= 2);
    h2_assert_answered(h2_fetch(bench, "/second"), 200, "/second");
    assert_int_equal(bench->server.connection_count,
                     connection_count); /* HTTP/2 is not tried again */
    for (size_t i = 0; i < array_length(calls); i++)
        calls[i] = h2_get(bench, "/crowd");
    for (size_t i = 0; i < array_length(calls); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_answered(calls[i], 200, "/crowd");
    }
}

static void many_calls_fall_back_to_http1_at_once(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *calls[4] = {0};

    h2_bench_restart(bench, (struct h2_options){.is_http1_only = true});
    bench->is_answering = true;
    for (size_t i = 0; i < array_length(calls); i++)
        calls[i] = h2_get(bench, "/");
    for (size_t i = 0; i < array_length(calls); i++) {
        h2_run_until_done(calls[i]);
        h2_assert_answered(calls[i], 200, "/");
    }
    assert_int_equal(bench->server.request_count, array_length(calls));
}

static void a_client_certificate_is_sent_on_request(void **state)
{
    struct h2_bench *bench = *state;
    struct certificate client = {0};
    struct h2_call *call = NULL;

    certificate_make(&client, "somebody", NULL);
    h2_bench_restart(bench, (struct h2_options){.wants_certificate = true});
    bench->is_answering = true;
    bench->tls.cert_pem = client.cert_pem;
    bench->tls.key_pem = client.key_pem;
    call = h2_fetch(bench, "/");
    certificate_done(&client);
    h2_assert_answered(call, 200, "/");
    assert_string_equal(bench->server.client_subject, "/CN=somebody");
}

static void origins_and_tls_settings_do_not_share_connections(void **state)
{
    struct h2_bench *bench = *state;
    struct http_tls twin = {0};
    cleanup_free char *url = NULL;
    cleanup_free char *other_url = NULL;
    uint64_t connections = 0;
    uint64_t requests = 0;

    h2_bench_start_other(bench, (struct h2_options){0});
    bench->is_answering = true;
    twin = bench->tls;
    url = url_of(&bench->server, "/");
    other_url = url_of(&bench->other, "/");
    for (int i = 0; i < 2; i++) {
        struct h2_call *calls[] = {
            h2_call_new_at(bench, &bench->tls, url),
            h2_call_new_at(bench, &bench->other_tls, other_url),
            h2_call_new_at(bench, &twin, url),
        };

        for (size_t j = 0; j < array_length(calls); j++)
            h2_call_start(calls[j]);
        for (size_t j = 0; j < array_length(calls); j++) {
            h2_run_until_done(calls[j]);
            h2_assert_answered(calls[j], 200, "/");
        }
    }
    assert_int_equal(bench->server.connection_count, 2);
    assert_int_equal(bench->other.connection_count, 1);
    http_client_counts(bench->client, &connections, &requests);
    assert_int_equal(connections, 3);
    assert_int_equal(requests, 6);
}

static void fail_by_close(void *data, struct h2_request *request)
{
    (void)data;
    h2_close(request->connection);
}

static void fail_by_cut(void *data, struct h2_request *request)
{
    (void)data;
    h2_begin(request, 200, "content-length: 10\r\n");
    h2_send(request, "12345", 5);
    h2_close(request->connection);
}

static void fail_by_garbage(void *data, struct h2_request *request)
{
    (void)data;
    h2_send_garbage(request->connection, "HTTP/1.1 400 Bad Request\r\n\r\n");
}

static void fail_by_reset(void *data, struct h2_request *request)
{
    (void)data;
    h2_reset(request, NGHTTP2_INTERNAL_ERROR);
}

static void fail_by_length(void *data, struct h2_request *request)
{
    (void)data;
    h2_answer(request, 200, "content-length: 10\r\n", "12345");
}

static void fail_by_size(void *data, struct h2_request *request)
{
    (void)data;
    h2_answer(request, 200, "", "too much for a limit of sixteen");
}

static void fail_by_silence(void *data, struct h2_request *request)
{
    (void)data;
    h2_freeze(request->connection);
}

static void errors_name_the_call_and_contain_no_secret(void **state)
{
    static const struct {
        h2_request_fn *fail;
        uint64_t total_ms, stall_ms;
    } cases[] = {
        {fail_by_close, 20000, 0},    {fail_by_cut, 20000, 0},    {fail_by_garbage, 20000, 0},
        {fail_by_reset, 20000, 0},    {fail_by_length, 20000, 0}, {fail_by_size, 20000, 0},
        {fail_by_silence, 20000, 40}, {fail_by_silence, 40, 0},
    };
    static const struct http_header headers[] = {{"X-Secret", "s3cret"}};
    struct h2_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        struct h2_call *call = h2_call_new(bench, "/path?s3cret");

        bench->on_whole = cases[i].fail;
        call->request.bearer = "t0ken";
        call->request.headers = headers;
        call->request.header_count = array_length(headers);
        call->request.body_max = 16;
        call->request.total_timeout_ms = cases[i].total_ms;
        call->request.stall_timeout_ms = cases[i].stall_ms;
        h2_call_start(call);
        h2_run_until_done(call);
        assert_int_not_equal(call->err.kind, ERROR_NONE);
        assert_non_null(strstr(call->err.text, "GET \"https://127.0.0.1:"));
        assert_non_null(strstr(call->err.text, "/path\""));
        assert_null(strstr(call->err.text, "s3cret"));
        assert_null(strstr(call->err.text, "t0ken"));
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(an_untrusted_certificate_fails_all_waiting_calls),
        test(connection_refused_fails_all_waiting_calls),
        test(a_slow_handshake_is_a_timeout),
        test(a_call_may_time_out_while_others_still_wait_for_the_connection),
        test(falls_back_to_http1),
        test(many_calls_fall_back_to_http1_at_once),
        test(a_client_certificate_is_sent_on_request),
        test(origins_and_tls_settings_do_not_share_connections),
        test(errors_name_the_call_and_contain_no_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
