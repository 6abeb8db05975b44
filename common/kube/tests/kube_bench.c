/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/tests/kube_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/config_internal.h"
#include "common/kube/tests/jwt.h"

static void on_request(void *data, struct loopback_connection *connection, const char *request)
{
    struct kube_bench *bench = data;
    size_t i = bench->server.request_count - 1;

    (void)request;
    bench->last_connection = connection;
    if (bench->answer_count)
        loopback_send(connection,
                      bench->answers[i < bench->answer_count ? i : bench->answer_count - 1]);
}

static int setup(void **state, bool is_fake)
{
    struct kube_bench *bench = xcalloc(1, sizeof(*bench));
    cleanup_free char *text = NULL;
    struct kube_config *config = NULL;
    struct error err = {0};

    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    doc_setup();
    clock_fake_init(&bench->clock, 1000000000000);
    assert_int_equal(loop_new(is_fake ? &bench->clock.clock : clock_system(), &bench->loop, &err),
                     0);
    assert_int_equal(http_client_new(bench->loop, "test/1", &bench->http, &err), 0);
    loopback_start(&bench->server, bench->loop, on_request, bench);
    text = xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                     "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]}",
                     bench->server.port);
    assert_int_equal(kube_config_from_text(text, &config, &err), 0);
    assert_int_equal(kube_new(bench->loop, bench->http, config, &bench->kube, &err), 0);
    *state = bench;
    return 0;
}

int kube_bench_setup(void **state)
{
    return setup(state, false);
}

int kube_bench_setup_fake(void **state)
{
    return setup(state, true);
}

int kube_bench_teardown(void **state)
{
    struct kube_bench *bench = *state;

    kube_free(bench->kube);
    http_client_free(bench->http);
    loopback_done(&bench->server);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

void kube_bench_set_answers(struct kube_bench *bench, const char *const *answers, size_t count)
{
    bench->answers = answers;
    bench->answer_count = count;
}

void kube_bench_run_once(struct kube_bench *bench)
{
    struct error err = {0};

    if (loop_run_once(bench->loop, -1, &err) < 0)
        fail_msg("%s", err.text);
}

void kube_bench_run_idle(struct kube_bench *bench)
{
    struct error err = {0};

    for (int i = 0; i < 20; i++)
        assert_int_equal(loop_run_once(bench->loop, 1, &err), 0);
}

char *answer_json(const char *status, const char *body)
{
    return xasprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
                     "%s",
                     status, strlen(body), body);
}

char *answer_stream(const char *lines)
{
    return xasprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n",
                     strlen(lines), lines);
}

struct kube_config *kube_bench_move_to_pod(struct kube_bench *bench, const char *namespace_name)
{
    struct kube_config *config = kube_config_copy(kube_get_config(bench->kube));
    cleanup_free char *payload =
        xasprintf("{\"sub\":\"system:serviceaccount:%s:deployer\",\"kubernetes.io\":"
                  "{\"serviceaccount\":{\"name\":\"deployer\",\"uid\":\"u-1\"}}}",
                  namespace_name);
    struct error err = {0};

    kube_free(bench->kube);
    assert_int_equal(kube_new(bench->loop, bench->http, config, &bench->kube, &err), 0);
    /* Afterwards: a client refuses to send a token without TLS. */
    config->token = token_with(payload);
    config->is_in_cluster = true;
    return config;
}
