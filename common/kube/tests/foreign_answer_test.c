/* SPDX-License-Identifier: Apache-2.0 */
/* Responses that do not come from the API server: login pages, truncated JSON, other protocols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/list.h"
#include "common/kube/tests/kube_bench.h"

static const char *const foreign[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n<html>Please log in.</html>",
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"kind\":",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n}",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\nSSH-2.0-OpenSSH_9.2\r\nSSH-2.0-OpenSSH_9.2\r\n",
};

static struct kube_request get_pod(void)
{
    return (struct kube_request){
        .verb = KUBE_GET, .resource = {"", "v1", "pods"}, .namespace_name = "a", .name = "b"};
}

static void a_response_of_a_proxy_is_a_temporary_error(void **state)
{
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < array_length(foreign); i++) {
        struct kube_request request = get_pod();
        struct error err = {0};

        request.is_not_retried = true;
        request.is_unread = i % 2 == 0; /* ignored, but must come from the API server */
        kube_bench_set_answers(bench, &foreign[i], 1);
        assert_int_equal(kube_perform(bench->kube, &request, NULL, &err), -1);
        if (err.kind != ERROR_TEMPORARY)
            fail_msg("answer %zu: %s", i, err.text);
        assert_null(strstr(err.text, "log in")); /* the body is not shown */
    }
}

static void the_request_is_retried(void **state)
{
    struct kube_bench *bench = *state;
    const char *answers[] = {foreign[0], foreign[1],
                             "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}"};
    const struct kube_request request = get_pod();
    cleanup_json json_t *object = NULL;
    struct error err = {0};

    kube_bench_set_answers(bench, answers, array_length(answers));
    assert_int_equal(kube_perform(bench->kube, &request, &object, &err), 0);
    assert_int_equal(doc_integer_or(object, "a", 0), 1);
    assert_int_equal(bench->server.request_count, 3);
}

static void count_item(void *data, const json_t *object, const struct error *err)
{
    (void)data;
    (void)err;
    assert_non_null(object);
}

static void note_end(void *data, const char *resource_version, const struct error *err)
{
    const char **ret_version = data;

    if (err->kind != ERROR_NONE)
        fail_msg("%s", err->text);
    *ret_version = resource_version;
    assert_string_equal(resource_version, "7");
}

static void a_response_of_a_proxy_is_not_an_empty_list(void **state)
{
    struct kube_bench *bench = *state;
    const char *answers[] = {
        foreign[0],
        foreign[1],
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 47\r\n\r\n"
        "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}",
    };
    const char *version = NULL;
    struct kube_list *list = NULL;
    struct error err = {0};
    const struct kube_list_options options = {
        .resource = {"", "v1", "secrets"},
        .namespace_name = "a",
        .on_item = count_item,
        .on_done = note_end,
        .data = &version,
    };

    kube_bench_set_answers(bench, answers, array_length(answers));
    assert_int_equal(kube_list_start(bench->kube, &options, &list, &err), 0);
    while (!version)
        kube_bench_run_once(bench);
    assert_int_equal(bench->server.request_count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_response_of_a_proxy_is_a_temporary_error,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(the_request_is_retried, kube_bench_setup,
                                        kube_bench_teardown),
        cmocka_unit_test_setup_teardown(a_response_of_a_proxy_is_not_an_empty_list,
                                        kube_bench_setup, kube_bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
