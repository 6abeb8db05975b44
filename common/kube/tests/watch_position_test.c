/* SPDX-License-Identifier: Apache-2.0 */
/* The resourceVersion from which a watch resumes, and the detection of etcd restores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/tests/watch_bench.h"

/* Signs of an outage: an error status, a broken connection, a stream that ends at once. */
static char *outage_answer(int way)
{
    return way == 0   ? answer_json("503 Later", "")
           : way == 1 ? xstrdup("no HTTP\r\n\r\n")
                      : answer_json("200 OK", "");
}

static void lists_again_after_410(void **state)
{
    for (int is_event = 0; is_event < 2; is_event++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            /* The server leaves the stream open after the ERROR event. */
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

static void lists_again_after_several_too_large_resource_versions(void **state)
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

static void resumes_after_an_outage_if_the_revision_is_unchanged(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            outage_answer(way),
            answer_json("200 OK", PAGE_AT("100", OBJECT("a", "1"), "next page")),
            answer_stream(EVENT("ADDED", "b", "101")),
        };

        watch_bench_start(bench, &seen, false);
        watch_bench_run(bench, &seen, answers, 4, way == 2 ? "( La S Ab" : "( La S B Ab");
        /* One object, read from etcd: no resourceVersion, no selector. */
        assert_true(loopback_has(&bench->server, 2, "/pods?limit=1 HTTP"));
        assert_true(loopback_has(&bench->server, 2, "as=PartialObjectMetadataList"));
        assert_true(loopback_has(&bench->server, 3, "?watch=true&resourceVersion=100&"));
        assert_int_equal(bench->server.request_count, 4);
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

static void reports_an_etcd_restore_and_lists_again(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
            outage_answer(way),
            answer_json("503 Later", ""), /* the outage continues */
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

static void an_etcd_restore_before_a_list_is_detected_by_its_version(void **state)
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

/* A watch that never lists cannot ask the server for its revision. After an etcd restore the server
 * would accept the old resourceVersion and send nothing until etcd reaches it again. */
static void watch_only_restarts_from_the_cache_after_an_outage(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct kube_bench *bench = *state;
        struct seen seen = {0};
        char *answers[] = {
            answer_json("200 OK", EVENT("ADDED", "a", "100")),
            outage_answer(way),
            answer_stream(EVENT("ADDED", "a", "99")),
        };

        watch_bench_start(bench, &seen, true);
        watch_bench_run(bench, &seen, answers, 3, way == 2 ? "Aa Aa" : "Aa B Aa");
        assert_true(loopback_has(&bench->server, 1, "resourceVersion=100&"));
        assert_true(loopback_has(&bench->server, 2, "resourceVersion=0&"));
        assert_int_equal(bench->server.request_count, 3);
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

/* A stream from the server's cache has no bookmarks and so may be idle. */
static void watch_only_resumes_after_an_idle_stream(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    cleanup_free char *first = answer_stream(EVENT("ADDED", "a", "100"));
    const char *answers[] = {first, first, ""};

    kube_bench_set_answers(bench, answers, array_length(answers));
    watch_bench_start(bench, &seen, true);
    for (size_t i = 1; i <= array_length(answers); i++) {
        while (bench->server.request_count < i)
            kube_bench_run_once(bench);
        /* Longer than the stall timeout, which is checked in four steps. */
        for (int step = 0; step < 5 && bench->server.request_count == i; step++) {
            kube_bench_run_idle(bench);
            clock_fake_advance(&bench->clock, 40000);
        }
    }
    assert_true(loopback_has(&bench->server, 0, "resourceVersion=0&"));
    assert_true(loopback_has(&bench->server, 1, "resourceVersion=100&allowWatchBookmarks=true"));
    /* With bookmarks it should not have been idle: the API server may have been away. */
    assert_true(loopback_has(&bench->server, 2, "resourceVersion=0&"));
    kube_watch_stop(seen.watch);
}

/* The clock stands still, so a watch that backs off sends nothing. */
static void backs_off_before_it_lists_again_after_410(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    cleanup_free char *list = answer_json("200 OK", PAGE("", ""));
    cleanup_free char *gone = answer_json("410 Gone", "{\"message\":\"old\"}");
    const char *answers[] = {list, gone, list, gone};

    kube_bench_set_answers(bench, answers, array_length(answers));
    watch_bench_start(bench, &seen, false);
    for (size_t i = 2; i <= array_length(answers); i += 2) {
        while (bench->server.request_count < i)
            kube_bench_run_once(bench);
        kube_bench_run_idle(bench);
        assert_int_equal(bench->server.request_count, i);
        clock_fake_advance(&bench->clock, 1);
    }
    assert_string_equal(seen.text, "( S ( S");
    kube_watch_stop(seen.watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_again_after_410, kube_bench_setup,
                                        kube_bench_teardown),
        cmocka_unit_test_setup_teardown(lists_again_after_several_too_large_resource_versions,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(resumes_after_an_outage_if_the_revision_is_unchanged,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(reports_an_etcd_restore_and_lists_again, kube_bench_setup,
                                        kube_bench_teardown),
        cmocka_unit_test_setup_teardown(an_etcd_restore_before_a_list_is_detected_by_its_version,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(watch_only_restarts_from_the_cache_after_an_outage,
                                        kube_bench_setup, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(watch_only_resumes_after_an_idle_stream,
                                        kube_bench_setup_fake, kube_bench_teardown),
        cmocka_unit_test_setup_teardown(backs_off_before_it_lists_again_after_410,
                                        kube_bench_setup_fake, kube_bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
