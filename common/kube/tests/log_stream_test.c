/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/kube/log_stream.h"
#include "common/kube/tests/kube_bench.h"

static int keep(void *data, const char *bytes, size_t size, struct error *err)
{
    return buffer_append(data, bytes, size, err);
}

static int refuse(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)size;
    return error_set(err, ERROR_CANCELLED, "standard output is closed");
}

static int read_log(struct kube_bench *bench, const char *answer, struct kube_log_options options,
                    struct error *err)
{
    const char *const answers[] = {answer};

    options.namespace_name = "ns";
    options.pod = "p";
    options.container = "main";
    kube_bench_set_answers(bench, answers, 1);
    return kube_log_perform(bench->kube, &options, err);
}

static void the_whole_log_is_passed_on(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                 "Content-Length: 8\r\n\r\none\ntwo\n";
    struct kube_bench *bench = *state;
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, 100);
    assert_int_equal(
        read_log(bench, answer,
                 (struct kube_log_options){.tail_lines = -1, .on_bytes = keep, .data = &text},
                 &err),
        0);
    assert_string_equal(text.data, "one\ntwo\n");
    assert_true(loopback_has(&bench->server, 0,
                             "GET /api/v1/namespaces/ns/pods/p/log?container=main HTTP"));
}

static void lines_and_following_are_requested(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct kube_bench *bench = *state;
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, 100);
    assert_int_equal(
        read_log(bench, answer,
                 (struct kube_log_options){
                     .tail_lines = 7, .is_follow = true, .on_bytes = keep, .data = &text},
                 &err),
        0);
    assert_true(loopback_has(&bench->server, 0, "log?container=main&tailLines=7&follow=true HTTP"));
}

static void errors_name_the_container_and_keep_their_kind(void **state)
{
    struct kube_bench *bench = *state;
    cleanup_free char *answer =
        answer_json("400 Bad Request", "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                                       "\"Failure\",\"message\":\"container main is waiting to "
                                       "start\",\"reason\":\"BadRequest\",\"code\":400}");
    struct error err = {0};

    assert_int_equal(read_log(bench, answer,
                              (struct kube_log_options){.tail_lines = -1, .on_bytes = refuse},
                              &err),
                     -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "log of container \"main\" of pod \"ns/p\""));
    assert_non_null(strstr(err.text, "waiting to start"));
}

static void a_reader_that_refuses_ends_the_stream(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    struct kube_bench *bench = *state;
    struct error err = {0};

    assert_int_equal(read_log(bench, answer,
                              (struct kube_log_options){.tail_lines = -1, .on_bytes = refuse},
                              &err),
                     -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_non_null(strstr(err.text, "standard output is closed"));
}

static void a_name_that_cannot_be_part_of_a_path_is_an_error(void **state)
{
    struct kube_bench *bench = *state;
    const struct kube_log_options options = {.namespace_name = "ns",
                                             .pod = "../x",
                                             .container = "main",
                                             .tail_lines = -1,
                                             .on_bytes = refuse};
    struct error err = {0};

    assert_int_equal(kube_log_perform(bench->kube, &options, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, kube_bench_setup, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(the_whole_log_is_passed_on),
        test(lines_and_following_are_requested),
        test(errors_name_the_container_and_keep_their_kind),
        test(a_reader_that_refuses_ends_the_stream),
        test(a_name_that_cannot_be_part_of_a_path_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
