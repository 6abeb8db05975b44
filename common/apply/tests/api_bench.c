/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/api_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

/* Ends a test that waits for something that never happens, as it does for many a mutant. */
enum { HANG_SECONDS = 120 };

struct kube_config *api_bench_config(const struct api_bench *bench)
{
    cleanup_free char *text =
        xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                  "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]}",
                  bench->server.port);
    struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_from_text(text, &config, &err), 0);
    return config;
}

static int setup(void **state, bool is_fake)
{
    struct api_bench *bench = xcalloc(1, sizeof(*bench));
    struct error err = {0};

    (void)alarm(HANG_SECONDS);
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    doc_setup();
    clock_fake_init(&bench->clock, 1000000000000);
    assert_int_equal(loop_new(is_fake ? &bench->clock.clock : clock_system(), &bench->loop, &err),
                     0);
    loopback_start(&bench->server, bench->loop, api_server_on_request, bench);
    bench->objects = json_object();
    bench->history = json_array();
    bench->version = 100;
    bench->pool = cluster_pool_new(bench->loop, "test/1");
    assert_int_equal(cluster_get(bench->pool, api_bench_config(bench), &bench->cluster, &err), 0);
    *state = bench;
    return 0;
}

int api_bench_setup(void **state)
{
    return setup(state, false);
}

int api_bench_setup_fake(void **state)
{
    return setup(state, true);
}

int api_bench_teardown(void **state)
{
    struct api_bench *bench = *state;

    (void)alarm(0);
    cluster_put(bench->cluster);
    cluster_pool_free(bench->pool);
    loopback_done(&bench->server);
    loop_free(bench->loop);
    for (size_t i = 0; i < bench->rule_count; i++) {
        free(bench->rules[i].match);
        free(bench->rules[i].status);
        free(bench->rules[i].message);
    }
    for (size_t i = 0; i < bench->watcher_count; i++) {
        free(bench->watchers[i].collection);
        free(bench->watchers[i].name);
        free(bench->watchers[i].label);
    }
    json_decref(bench->objects);
    json_decref(bench->history);
    json_decref(bench->answer);
    json_decref(bench->held_answer);
    free(bench->log);
    free(bench);
    return 0;
}

void api_bench_run_once(struct api_bench *bench)
{
    struct error err = {0};

    if (loop_run_once(bench->loop, -1, &err) < 0)
        fail_msg("%s", err.text);
}

void api_bench_run(struct api_bench *bench, const bool *is_done)
{
    while (!*is_done)
        api_bench_run_once(bench);
}

void api_bench_run_idle(struct api_bench *bench)
{
    struct error err = {0};

    for (int i = 0; i < 20; i++)
        assert_int_equal(loop_run_once(bench->loop, 1, &err), 0);
}

static void append_line(struct buffer *log, const char *text)
{
    struct api_request request = api_request_parse(text);
    cleanup_free char *field = api_request_parameter(&request, "fieldSelector");
    const char *method = strstr(request.query, "watch=true") ? "WATCH"
                         : strstr(request.query, "limit=")   ? "LIST"
                         : request.is_apply                  ? "APPLY"
                                                             : request.method;
    struct error err = {0};

    must(buffer_append_text(log, &err, "%s%s %s%s%s%s", log->size ? "; " : "", method, request.path,
                            field ? "[" : "", field ? strchr(field, '=') + 1 : "",
                            field ? "]" : "") == 0);
    json_decref(request.body);
}

const char *api_bench_log(struct api_bench *bench)
{
    cleanup_buffer struct buffer log = {0};

    buffer_init(&log, 1 << 20);
    for (; bench->mark < bench->server.request_count; bench->mark++)
        append_line(&log, bench->server.requests[bench->mark]);
    free(bench->log);
    bench->log = buffer_take(&log);
    return bench->log;
}

void api_bench_forget_requests(struct api_bench *bench)
{
    while (bench->server.request_count)
        free(bench->server.requests[--bench->server.request_count]);
    bench->mark = 0;
}

size_t api_bench_count(const struct api_bench *bench, const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < bench->server.request_count; i++) {
        cleanup_free char *line =
            xstrndup(bench->server.requests[i], strcspn(bench->server.requests[i], "\r"));

        count += strstr(line, text) != NULL;
    }
    return count;
}
