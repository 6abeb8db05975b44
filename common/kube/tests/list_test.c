/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/list.h"
#include "common/kube/tests/kube_bench.h"

#define OBJECT(name_) "{\"metadata\":{\"name\":\"" name_ "\"}}"
#define PAGE(items_, continue_)                                                                    \
    "{\"metadata\":{\"resourceVersion\":\"100\",\"continue\":\"" continue_                         \
    "\"},\"items\":[" items_ "]}"

static void count_item(void *data, const json_t *object, const struct error *err)
{
    assert_non_null(object);
    assert_null(err);
    ++*(int *)data;
}

static void note_version(void *data, const char *resource_version, const struct error *err)
{
    assert_int_equal(err->kind, ERROR_NONE);
    assert_string_equal(resource_version, "100");
    *(int *)data += 100;
}

static void a_later_page_is_retried_and_the_list_continues(void **state)
{
    struct kube_bench *bench = *state;
    int count = 0;
    const struct kube_list_options options = {.resource = KUBE_PODS,
                                              .is_metadata_only = true,
                                              .on_item = count_item,
                                              .on_done = note_version,
                                              .data = &count};
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("a"), "next")),
        answer_json("503 Later", ""),
        answer_json("200 OK", PAGE(OBJECT("b"), "")),
    };
    struct error err = {0};

    kube_bench_set_answers(bench, (const char *const *)answers, 3);
    assert_int_equal(kube_list_perform(bench->kube, &options, &err), 0);
    assert_int_equal(count, 2 + 100);
    assert_true(loopback_has(&bench->server, 2, "continue=next"));
    assert_true(loopback_has(&bench->server, 0, "as=PartialObjectMetadataList"));
    for (size_t i = 0; i < array_length(answers); i++)
        free(answers[i]);
}

static void without_on_item_only_the_version_of_the_first_page_is_read(void **state)
{
    struct kube_bench *bench = *state;
    int count = 0;
    const struct kube_list_options options = {.resource = KUBE_PODS,
                                              .page_size = 1,
                                              .is_first_page_only = true,
                                              .on_done = note_version,
                                              .data = &count};
    cleanup_free char *answer = answer_json("200 OK", PAGE(OBJECT("a"), "next"));
    const char *answers[] = {answer};
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 1);
    assert_int_equal(kube_list_perform(bench->kube, &options, &err), 0);
    assert_int_equal(count, 100);
    assert_int_equal(bench->server.request_count, 1);
    assert_true(loopback_has(&bench->server, 0, "limit=1 HTTP"));
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, kube_bench_setup, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_later_page_is_retried_and_the_list_continues),
        test(without_on_item_only_the_version_of_the_first_page_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
