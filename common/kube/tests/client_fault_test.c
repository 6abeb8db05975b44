/* SPDX-License-Identifier: Apache-2.0 */
/* Errors before a request is sent: configuration, token, names, libcurl, the loop. The error names
 * the request, and nothing leaks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/descriptors.h"
#include "common/base/tests/fault.h"
#include "common/kube/client_internal.h"
#include "common/kube/config_internal.h"
#include "common/kube/list.h"
#include "common/kube/log_stream.h"
#include "common/kube/tests/kube_bench.h"
#include "common/kube/watch.h"

static void ignore_item(void *data, const json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    (void)err;
}

static int get(struct kube *kube, const char *namespace_name, struct error *err)
{
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = KUBE_PODS,
                                         .namespace_name = namespace_name,
                                         .name = "b",
                                         .is_not_retried = true};

    return kube_perform(kube, &request, NULL, err);
}

static int list(struct kube *kube, const char *namespace_name, struct error *err)
{
    const struct kube_list_options options = {.resource = KUBE_PODS,
                                              .namespace_name = namespace_name,
                                              .is_not_retried = true,
                                              .on_item = ignore_item};

    return kube_list_perform(kube, &options, err);
}

static int ignore_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)size;
    (void)err;
    return 0;
}

static int read_log(struct kube *kube, const char *namespace_name, struct error *err)
{
    const struct kube_log_options options = {.namespace_name = namespace_name,
                                             .pod = "b",
                                             .container = "main",
                                             .tail_lines = -1,
                                             .on_bytes = ignore_bytes};

    return kube_log_perform(kube, &options, err);
}

static const struct {
    int (*perform)(struct kube *kube, const char *namespace_name, struct error *err);
    const char *what, *busy, *answer;
} ways[] = {
    {get, "get pods \"a/b\": ", "kube_perform() called from inside a callback",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"},
    {list, "list pods in \"a\": ", "kube_list_perform() called from inside a callback",
     "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n"
     "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]  }"},
    {read_log, "read the log of container \"main\" of pod \"a/b\": ",
     "kube_log_perform() called from inside a callback",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx\n"},
};

static void must_fail(struct kube *kube, size_t way, const char *namespace_name,
                      enum error_kind kind, const char *expected)
{
    unsigned descriptors = open_descriptors();
    struct error err = {0};

    assert_int_equal(ways[way].perform(kube, namespace_name, &err), -1);
    if (err.kind != kind || !strstr(err.text, expected))
        fail_msg("'%s' (%s) does not contain '%s'", err.text, error_kind_name(err.kind), expected);
    assert_int_equal(open_descriptors(), descriptors);
    assert_false(kube_is_busy(kube));
}

/* The client still works after the error. */
static void must_work(struct kube_bench *bench, size_t way)
{
    const char *answers[] = {ways[way].answer};
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 1);
    if (ways[way].perform(bench->kube, "a", &err) < 0)
        fail_msg("%s", err.text);
    bench->answer_count = 0;
}

static void errors_of_libcurl_name_the_request(void **state)
{
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < array_length(ways); i++) {
        size_t requests = bench->server.request_count;

        fault_arm("curl_easy_setopt", 1, 0);
        must_fail(bench->kube, i, "a", ERROR_INTERNAL, ways[i].what);
        assert_true(fault_disarm());
        assert_int_equal(bench->server.request_count, requests);
        must_work(bench, i);
    }
}

struct seen {
    int broken_count, other_count;
    struct error err;
};

static void note_event(void *data, enum kube_event event, const json_t *object,
                       const struct error *err)
{
    struct seen *seen = data;

    (void)object;
    if (event == KUBE_EVENT_BROKEN) {
        seen->broken_count++;
        seen->err = *err;
    } else {
        seen->other_count++;
    }
}

static void a_watch_reports_errors_of_libcurl_and_retries(void **state)
{
    struct kube_bench *bench = *state;
    cleanup_free char *answer = answer_stream("{\"type\":\"ADDED\",\"object\":{}}\n");
    const char *answers[] = {answer};
    struct seen seen = {0};
    const struct kube_watch_options options = {.resource = KUBE_PODS,
                                               .is_watch_only = true,
                                               .retry_first_ms = 1,
                                               .retry_max_ms = 1,
                                               .on_event = note_event,
                                               .data = &seen};
    struct kube_watch *watch = NULL;
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 1);
    assert_int_equal(kube_watch_start(bench->kube, &options, &watch, &err), 0);
    fault_arm("curl_easy_setopt", 1, 0);
    while (!seen.other_count)
        kube_bench_run_once(bench);
    assert_true(fault_disarm());
    assert_int_equal(seen.broken_count, 1);
    assert_int_equal(seen.err.kind, ERROR_INTERNAL);
    assert_int_equal(strncmp(seen.err.text, "watch pods: ", 12), 0);
    kube_watch_stop(watch);
}

static void no_request_is_left_after_an_error_of_the_loop(void **state)
{
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < array_length(ways); i++) {
        size_t requests = bench->server.request_count;

        fault_arm("epoll_wait", 1, EBADF);
        must_fail(bench->kube, i, "a", ERROR_INTERNAL, "wait for events: Bad file descriptor");
        assert_true(fault_disarm());
        kube_bench_run_idle(bench);
        assert_int_equal(bench->server.request_count, requests);
        must_work(bench, i);
    }
}

static void invalid_names_are_refused(void **state)
{
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < array_length(ways); i++)
        must_fail(bench->kube, i, "..", ERROR_INVALID, "\"..\"");
}

static void errors_of_the_server_are_reported(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 403 No\r\nContent-Length: 19\r\n\r\n{\"message\":\"no way\"}"};
    struct kube_bench *bench = *state;

    kube_bench_set_answers(bench, answers, 1);
    for (size_t i = 0; i < array_length(ways); i++) {
        struct error err = {0};

        assert_int_equal(ways[i].perform(bench->kube, "a", &err), -1);
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_non_null(strstr(err.text, ways[i].what));
    }
}

struct inside {
    struct kube *kube;
    struct error errs[array_length(ways)];
    bool is_done;
};

static void perform_inside(void *data, const json_t *object, const struct error *err)
{
    struct inside *inside = data;

    assert_non_null(object);
    assert_null(err);
    for (size_t i = 0; i < array_length(ways); i++)
        assert_int_equal(ways[i].perform(inside->kube, "a", &inside->errs[i]), -1);
    inside->is_done = true;
}

/* on_item runs inside a callback of libcurl. */
static void kube_perform_is_refused_inside_a_callback(void **state)
{
    struct kube_bench *bench = *state;
    cleanup_free char *answer =
        answer_json("200 OK", "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{}]}");
    const char *answers[] = {answer};
    struct inside inside = {.kube = bench->kube};
    const struct kube_list_options options = {
        .resource = KUBE_PODS, .on_item = perform_inside, .data = &inside};
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 1);
    assert_int_equal(kube_list_perform(bench->kube, &options, &err), 0);
    assert_true(inside.is_done);
    for (size_t i = 0; i < array_length(ways); i++) {
        assert_int_equal(inside.errs[i].kind, ERROR_INTERNAL);
        assert_string_equal(inside.errs[i].text, ways[i].busy);
    }
}

/* ---- clients with other configurations ---- */

static struct kube_config *config_of(const char *server, const char *token_file)
{
    struct kube_config *config = xcalloc(1, sizeof(*config));

    config->server = xstrdup(server);
    config->token_file = xstrdup_or_null(token_file);
    return config;
}

static void an_invalid_configuration_is_refused(void **state)
{
    struct kube_bench *bench = *state;
    struct kube_config *config = config_of("ftp://a", NULL);
    struct kube *kube = NULL;
    struct error err = {0};

    assert_int_equal(kube_new(bench->loop, bench->http, config, &kube, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "the server is not an https:// or http:// URL");
    assert_null(kube);
    kube_config_free(config);
}

/* Not NOT_FOUND, which would mean a missing pod. */
static void an_unreadable_token_is_access_denied(void **state)
{
    struct kube_bench *bench = *state;
    struct kube *kube = NULL;
    struct error err = {0};

    assert_int_equal(
        kube_new(bench->loop, bench->http, config_of("https://127.0.0.1:1", "/none"), &kube, &err),
        0);
    for (size_t i = 0; i < array_length(ways); i++) {
        must_fail(kube, i, "a", ERROR_DENIED, "\"/none\"");
        must_fail(kube, i, "a", ERROR_DENIED, ways[i].what);
    }
    kube_free(kube);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, kube_bench_setup, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(errors_of_libcurl_name_the_request),
        test(a_watch_reports_errors_of_libcurl_and_retries),
        test(no_request_is_left_after_an_error_of_the_loop),
        test(invalid_names_are_refused),
        test(errors_of_the_server_are_reported),
        test(kube_perform_is_refused_inside_a_callback),
        test(an_invalid_configuration_is_refused),
        test(an_unreadable_token_is_access_denied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
