/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/client_internal.h"
#include "common/kube/list.h"
#include "common/kube/tests/watch_bench.h"
#include "common/kube/watch.h"

static void lists_page_by_page_then_streams_from_there(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("a", "1") "," OBJECT("b", "2"), "next page")),
        answer_json("200 OK", PAGE(OBJECT("c", "3"), "")),
        answer_stream(EVENT("ADDED", "d", "101") EVENT("MODIFIED", "d", "102")
                          EVENT("BOOKMARK", "", "103") EVENT("DELETED", "d", "104")),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 3, "( La Lb Lc S Ad Md Dd");
    assert_true(loopback_has(&bench->server, 0, "/pods?limit=500&labelSelector=x%3Dy HTTP"));
    assert_true(loopback_has(&bench->server, 1, "&continue=next%20page HTTP"));
    assert_true(loopback_has(&bench->server, 2, "?watch=true&resourceVersion=100&"));
    assert_true(loopback_has(&bench->server, 2, "allowWatchBookmarks=true"));
    assert_true(loopback_has(&bench->server, 2, "labelSelector=x%3Dy"));
    assert_int_equal(bench->server.request_count, 3);
}

static void resumes_after_the_last_event_or_bookmark(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE("", "")),
        answer_json("200 OK", EVENT("ADDED", "a", "101")),
        answer_json("200 OK", EVENT("BOOKMARK", "", "150")),
        answer_stream(EVENT("ADDED", "b", "151")),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 4, "( S Aa Ab");
    assert_true(loopback_has(&bench->server, 2, "resourceVersion=101&"));
    assert_true(loopback_has(&bench->server, 3, "resourceVersion=150&"));
}

/* With a clock moved by the test. */
static void idle_time_counts_from_the_last_successful_response(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    cleanup_free char *list = answer_json("200 OK", PAGE("", ""));
    cleanup_free char *refusal = answer_json("403 Forbidden", "");
    cleanup_free char *bookmark = answer_stream(EVENT("BOOKMARK", "", "103"));
    const char *answers[] = {refusal, list, ""};

    assert_int_equal(kube_watch_idle_ms(NULL), 0);
    kube_bench_set_answers(bench, answers, array_length(answers));
    watch_bench_start(bench, &seen, false);
    while (strcmp(seen.text, "( B") != 0)
        kube_bench_run_once(bench);
    clock_fake_advance(&bench->clock, 7000);
    assert_int_equal(kube_watch_idle_ms(seen.watch), 7000);
    while (strcmp(seen.text, "( B ( S") != 0)
        kube_bench_run_once(bench);
    assert_int_equal(kube_watch_idle_ms(seen.watch), 0);
    while (bench->server.request_count < array_length(answers))
        kube_bench_run_once(bench);
    clock_fake_advance(&bench->clock, 60000);
    kube_bench_run_idle(bench);
    assert_int_equal(kube_watch_idle_ms(seen.watch), 60000);
    loopback_send(bench->last_connection, bookmark);
    kube_bench_run_idle(bench);
    assert_int_equal(kube_watch_idle_ms(seen.watch), 0);
    assert_string_equal(seen.text, "( B ( S");
    kube_watch_stop(seen.watch);
}

static void known_versions_cause_no_event_except_deletions(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("known", "101"), "")),
        answer_json("200 OK", EVENT("MODIFIED", "known", "101")),
        answer_stream(EVENT("MODIFIED", "known", "102") EVENT("DELETED", "known", "101")),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 3, "( Lknown S Mknown Dknown");
    assert_true(loopback_has(&bench->server, 2, "resourceVersion=101&"));
}

static void errors_are_reported_and_retried(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("403 Forbidden", "{\"message\":\"no\"}"),
        answer_json("200 OK", PAGE(OBJECT("a", "1"), "")),
        answer_json("500 Oh", "{\"message\":\"oh\"}"),
        answer_json("200 OK", PAGE("", "")), /* check of the revision */
        answer_json("200 OK",
                    "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"hm\"}}\n"),
        answer_json("200 OK", PAGE("", "")),
        answer_stream(EVENT("ADDED", "b", "101") "nonsense\n" EVENT("ADDED", "c", "102")),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, array_length(answers), "( B ( La S B B Ab B Ac");
    assert_true(loopback_has(&bench->server, 6, "resourceVersion=100&"));
    assert_non_null(strstr(seen.err.text, "watch pods: "));
}

static void a_list_that_breaks_is_reported_and_repeated(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE(OBJECT("a", "1"), "") "trailing nonsense"),
        answer_json("200 OK", PAGE(OBJECT("b", "2"), "next")),
        answer_json("410 Gone", "{\"message\":\"too slow\"}"),
        answer_json("200 OK", PAGE(OBJECT("c", "3"), "")),
        answer_stream("\n"),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 5, "( La B ( Lb B ( Lc S");
}

static void a_list_without_a_version_is_repeated(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", "{\"items\":[]}"),
        answer_json("200 OK", PAGE("", "")),
        answer_stream("\n"),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, array_length(answers), "( S");
}

static void watch_only_starts_with_existing_objects(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", EVENT("ADDED", "a", "50")),
        answer_json("410 Gone", "{\"message\":\"old\"}"),
        answer_stream(EVENT("ADDED", "a", "60")),
    };

    watch_bench_start(bench, &seen, true);
    watch_bench_run(bench, &seen, answers, 3, "Aa Aa");
    assert_true(loopback_has(&bench->server, 0, "resourceVersion=0&"));
    assert_false(loopback_has(&bench->server, 0, "allowWatchBookmarks"));
    assert_true(loopback_has(&bench->server, 1, "resourceVersion=50&"));
    assert_true(loopback_has(&bench->server, 2, "resourceVersion=0&"));
}

static void an_unparsable_object_is_passed_on_with_an_error(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};
    char *answers[] = {
        answer_json("200 OK", PAGE("{\"metadata\":{\"name\":\"a\"},\"spec\":\"\\u0000\"},"
                                   "{\"no\":\"name\\u0000\"}," OBJECT("b", "2"),
                                   "")),
        answer_stream(
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"},\"x\":\"\\u0000\"}}\n"),
    };

    watch_bench_start(bench, &seen, false);
    watch_bench_run(bench, &seen, answers, 2, "( La! Lb S B Ac!");
}

/* An object with this name that exceeds the size limit. */
static char *huge_object(const char *name)
{
    cleanup_free char *bytes = xcalloc(1, KUBE_OBJECT_MAX + 1);

    memset(bytes, 'x', KUBE_OBJECT_MAX);
    return xasprintf("{\"metadata\":{\"name\":\"%s\"},\"data\":\"%s\"}", name, bytes);
}

static void an_object_that_is_too_large_is_reported_and_skipped(void **state)
{
    struct kube_bench *bench = *state;
    cleanup_free char *huge = huge_object("huge");
    cleanup_free char *page = xasprintf(PAGE("%s," OBJECT("a", "1"), ""), huge);
    cleanup_free char *lines =
        xasprintf("{\"type\":\"ADDED\",\"object\":%s}\n" EVENT("ADDED", "b", "101"), huge);
    struct seen seen = {0};
    char *answers[] = {answer_json("200 OK", page), answer_stream(lines)};

    watch_bench_start(bench, &seen, false);
    /* Reported after SYNCED for the list, at once for the stream. */
    watch_bench_run(bench, &seen, answers, 2, "( La S B B Ab");
    assert_int_equal(seen.err.kind, ERROR_TOO_LARGE);
    assert_string_equal(seen.err.text, "watch pods: event larger than 4194304 bytes skipped");
}

static void a_watch_may_be_stopped_from_inside_of_every_event(void **state)
{
    static const struct {
        char letter;
        const char *seen;
    } cases[] = {
        {'(', "("},
        {'L', "( La"},
        {'S', "( La Lb S"},
        {'A', "( La Lb S Ac"},
        {'B', "( La Lb S Ac Md Dd B"},
        {'M', "( La Lb S Ac Md"},
        {'D', "( La Lb S Ac Md Dd"},
    };

    for (size_t i = 0; i < array_length(cases); i++) {
        struct kube_bench *bench = *state;
        struct seen seen = {.stop_at = cases[i].letter};
        char *answers[] = {
            answer_json("200 OK", PAGE(OBJECT("a", "1") "," OBJECT("b", "2"), "")),
            answer_stream(EVENT("ADDED", "c", "101") EVENT("MODIFIED", "d", "102")
                              EVENT("DELETED", "d", "103") "x\n" EVENT("ADDED", "e", "104")),
        };

        watch_bench_start(bench, &seen, false);
        watch_bench_run(bench, &seen, answers, 2, cases[i].seen);
        assert_null(seen.watch);
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup(state), 0);
    }
}

static void a_watch_may_be_stopped_from_outside_at_any_time(void **state)
{
    struct kube_bench *bench = *state;
    struct seen seen = {0};

    kube_watch_stop(NULL);
    watch_bench_start(bench, &seen, false);
    kube_watch_stop(seen.watch); /* before it began */
    watch_bench_start(bench, &seen, false);
    while (bench->server.request_count < 1)
        kube_bench_run_once(bench);
    kube_watch_stop(seen.watch); /* while it lists */
    assert_string_equal(seen.text, "(");
    seen = (struct seen){0};
    watch_bench_start(bench, &seen, true);
    while (bench->server.request_count < 2)
        kube_bench_run_once(bench);
    kube_watch_stop(seen.watch); /* while it streams */
    kube_bench_run_idle(bench);
    assert_string_equal(seen.text, "");
}

static void invalid_names_are_refused_at_once(void **state)
{
    struct kube_bench *bench = *state;
    const struct kube_watch_options watch = {.resource = KUBE_PODS, .namespace_name = ".."};
    const struct kube_list_options list = {.resource = KUBE_PODS, .namespace_name = "a/b"};
    struct kube_watch *ret_watch = NULL;
    struct kube_list *ret_list = NULL;
    struct error err = {0};

    assert_int_equal(kube_watch_start(bench->kube, &watch, &ret_watch, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(kube_list_start(bench->kube, &list, &ret_list, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, kube_bench_setup, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(lists_page_by_page_then_streams_from_there),
        test(resumes_after_the_last_event_or_bookmark),
        cmocka_unit_test_setup_teardown(idle_time_counts_from_the_last_successful_response,
                                        kube_bench_setup_fake, kube_bench_teardown),
        test(known_versions_cause_no_event_except_deletions),
        test(errors_are_reported_and_retried),
        test(a_list_that_breaks_is_reported_and_repeated),
        test(a_list_without_a_version_is_repeated),
        test(watch_only_starts_with_existing_objects),
        test(an_unparsable_object_is_passed_on_with_an_error),
        test(an_object_that_is_too_large_is_reported_and_skipped),
        test(a_watch_may_be_stopped_from_inside_of_every_event),
        test(a_watch_may_be_stopped_from_outside_at_any_time),
        test(invalid_names_are_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
