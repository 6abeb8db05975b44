/* SPDX-License-Identifier: Apache-2.0 */
/* From where a watch goes on, and whether the server still is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/tests/watch_bench.h"

/* What shows that the server was away: an error of its own, a connection that breaks, a stream that
 * ends before it has begun. */
static char *answer_of_one_away(int way)
{
    return way == 0   ? answer_json("503 Later", "")
           : way == 1 ? xstrdup("no HTTP\r\n\r\n")
                      : answer_json("200 OK", "");
}

static void a_place_that_is_too_old_means_a_new_list(void **state)
{
    for (int is_event = 0; is_event < 2; is_event++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            /* The stream stays open: the event is the end of it all the same. */
            is_event ? answer_stream("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                                     "\"code\":410,\"message\":\"old\"}}\n")
                     : answer_json("410 Gone", "{\"message\":\"old\",\"code\":410}"),
            answer_json("200 OK", PAGE(OBJECT("b", "2"), "")),
            answer_stream(EVENT("ADDED", "c", "101")),
        };

        watch_bench_start(bench, &seen, false);
        watch_bench_run(bench, &seen, answers, 4, "( La S ( Lb S Ac");
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

static void a_place_that_the_server_does_not_know_yet_is_given_up_in_the_end(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    static const char unknown[] = "{\"message\":\"Timeout: Too large resource version: 100\"}";
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
        answer_json("504 Timeout", unknown),
        answer_json("200 OK", PAGE("", "")),
        answer_json("504 Timeout", unknown),
        answer_json("200 OK", PAGE("", "")),
        answer_json("504 Timeout", unknown),
        answer_json("200 OK", PAGE("", "")),
        answer_json("504 Timeout", unknown),
        answer_json("200 OK", PAGE("", "")),
        answer_json("504 Timeout", unknown),
        answer_json("200 OK", PAGE(OBJECT("b", "1"), "")),
        answer_stream("\n"),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, array_length(answers), "( La S B B B B ( Lb S");
}

static void a_server_that_was_away_and_is_where_it_was_is_gone_on_from(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            answer_of_one_away(way),
            answer_json("200 OK", PAGE_AT("100", OBJECT("a", "1"), "next page")),
            answer_stream(EVENT("ADDED", "b", "101")),
        };

        watch_bench_start(bench, &seen, false);
        watch_bench_run(bench, &seen, answers, 4, way == 2 ? "( La S Ab" : "( La S B Ab");
        /* One page of one object, from etcd itself: neither a version nor a selector. */
        assert_true(loopback_has(&bench->server, 2, "/pods?limit=1 HTTP"));
        assert_true(loopback_has(&bench->server, 2, "as=PartialObjectMetadataList"));
        assert_true(loopback_has(&bench->server, 3, "?watch=true&resourceVersion=100&"));
        assert_int_equal(bench->server.request_count, 4);
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

static void a_server_that_was_put_back_is_told_and_listed_anew(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            answer_of_one_away(way),
            answer_json("503 Later", ""), /* it is away for longer */
            answer_json("200 OK", PAGE_AT("99", OBJECT("a", "1"), "next page")),
            answer_json("200 OK", PAGE_AT("99", OBJECT("b", "1"), "")),
            answer_stream(EVENT("ADDED", "c", "100")),
        };

        watch_bench_start(bench, &seen, false);
        watch_bench_run(bench, &seen, answers, 6,
                        way == 2 ? "( La S B R ( Lb S Ac" : "( La S B B R ( Lb S Ac");
        assert_true(loopback_has(&bench->server, 5, "?watch=true&resourceVersion=99&"));
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

static void a_server_that_is_put_back_during_a_list_is_listed_once_more(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
        answer_json("410 Gone", "{\"message\":\"old\"}"),
        answer_json("200 OK", PAGE_AT("99", OBJECT("b", "1"), "")),
        answer_json("200 OK", PAGE_AT("99", OBJECT("b", "1"), "")),
        answer_stream(EVENT("ADDED", "c", "100")),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 5, "( La S ( Lb R ( Lb S Ac");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_place_that_is_too_old_means_a_new_list, kube_bench_setup,
                                        kube_bench_teardown),
        cmocka_unit_test_setup_teardown(
            a_place_that_the_server_does_not_know_yet_is_given_up_in_the_end, kube_bench_setup,
            kube_bench_teardown),
        cmocka_unit_test_setup_teardown(a_server_that_was_away_and_is_where_it_was_is_gone_on_from,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(a_server_that_was_put_back_is_told_and_listed_anew,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(a_server_that_is_put_back_during_a_list_is_listed_once_more,
                                        kube_bench_setup, kube_bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
