/* SPDX-License-Identifier: Apache-2.0 */
/* The Kubernetes client is replaced (linker --wrap) and the clock is the test's own, so that hours
 * pass in no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/watch.h"
#include "wait/pod_watch.h"

#define POD(uid_, state_)                                                                          \
    "{\"metadata\":{\"uid\":\"" uid_ "\",\"creationTimestamp\":\"2024-01-02T03:04:05Z\"},"         \
    "\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":" state_ "}]}}"
#define RUNNING "{\"running\":{}}"
#define ENDED "{\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"}}"

static struct fake {
    struct clock_fake clock;
    struct loop *loop;
    struct kube_watch_options watch; /* on_event NULL: no watch */
    char field_selector[80];
    int watches, gets;
    uint64_t last_get_ms, gap_ms;
    struct kube_request get; /* on_done NULL: none in progress */
    /* Arguments of the last call of on_seen. */
    int seen;
    struct main_end end;
    struct pod_facts facts;
} fake;

int __wrap_kube_watch_start(struct kube *kube, const struct kube_watch_options *options,
                            struct kube_watch **ret_watch, struct error *err);
void __wrap_kube_watch_stop(struct kube_watch *watch);
int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err);
void __wrap_kube_cancel(struct kube_call *call);
struct loop *__wrap_kube_loop(struct kube *kube);

int __wrap_kube_watch_start(struct kube *kube, const struct kube_watch_options *options,
                            struct kube_watch **ret_watch, struct error *err)
{
    (void)kube;
    (void)err;
    fake.watch = *options;
    (void)snprintf(fake.field_selector, sizeof(fake.field_selector), "%s", options->field_selector);
    fake.watches++;
    *ret_watch = (struct kube_watch *)&fake.watch;
    return 0;
}

void __wrap_kube_watch_stop(struct kube_watch *watch)
{
    if (watch)
        fake.watch.on_event = NULL;
}

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err)
{
    uint64_t now_ms = clock_monotonic_ms(&fake.clock.clock);

    (void)kube;
    (void)err;
    assert_int_equal(request->verb, KUBE_GET);
    assert_string_equal(request->name, "pod-1");
    assert_string_equal(request->namespace_name, "host");
    fake.get = *request;
    fake.gets++;
    fake.gap_ms = now_ms - fake.last_get_ms;
    fake.last_get_ms = now_ms;
    *ret_call = (struct kube_call *)&fake.get;
    return 0;
}

void __wrap_kube_cancel(struct kube_call *call)
{
    if (call)
        fake.get.on_done = NULL;
}

struct loop *__wrap_kube_loop(struct kube *kube)
{
    (void)kube;
    return fake.loop;
}

static void on_seen(void *data, const struct main_end *end, const struct pod_facts *facts)
{
    assert_ptr_equal(data, &fake);
    fake.seen++;
    fake.end = *end;
    fake.facts = *facts;
}

static int set_up_with_uid(void **state, const char *uid)
{
    struct error err = {0};
    struct pod_watch *watch = NULL;
    const struct pod_watch_options options = {.pod_name = "pod-1",
                                              .pod_namespace = "host",
                                              .pod_uid = uid,
                                              .on_seen = on_seen,
                                              .data = &fake};

    fake = (struct fake){0};
    clock_fake_init(&fake.clock, 1700000000000);
    if (loop_new(&fake.clock.clock, &fake.loop, &err) < 0 ||
        pod_watch_start(NULL, &options, &watch, &err) < 0)
        return -1;
    *state = watch;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with_uid(state, NULL);
}

static int set_up_with_known_uid(void **state)
{
    return set_up_with_uid(state, "own");
}

static int tear_down(void **state)
{
    pod_watch_free(*state);
    loop_free(fake.loop);
    return 0;
}

static void send_event(enum kube_event event, const char *pod)
{
    cleanup_json json_t *object = json_loads(pod, 0, NULL);
    struct error none = {0};

    assert_non_null(object);
    assert_non_null(fake.watch.on_event);
    fake.watch.on_event(fake.watch.data, event, object, &none);
}

static void break_watch(int http_status, enum error_kind kind)
{
    struct error err = {.kind = kind, .http_status = http_status, .text = "broken"};

    assert_non_null(fake.watch.on_event);
    fake.watch.on_event(fake.watch.data, KUBE_EVENT_BROKEN, NULL, &err);
}

static void answer_get(const char *pod, enum error_kind kind)
{
    cleanup_json json_t *object = pod ? json_loads(pod, 0, NULL) : NULL;
    struct error err = {.kind = kind, .text = "refused"};
    kube_done_fn *on_done = fake.get.on_done;

    assert_non_null(on_done);
    fake.get.on_done = NULL;
    on_done(fake.get.data, object, &err);
}

static void pass_time(uint64_t ms)
{
    struct error err = {0};

    clock_fake_advance(&fake.clock, ms);
    assert_int_equal(loop_run_once(fake.loop, 0, &err), 0);
}

static void one_watch_on_the_own_pod_reports_the_end(void **state)
{
    (void)state;
    assert_string_equal(fake.field_selector, "metadata.name=pod-1");
    assert_string_equal(fake.watch.namespace_name, "host");
    assert_true(fake.watch.is_watch_only);
    send_event(KUBE_EVENT_ADDED, POD("u", "{\"waiting\":{}}"));
    send_event(KUBE_EVENT_MODIFIED, POD("u", RUNNING));
    assert_int_equal(fake.end.kind, MAIN_RUNNING);
    send_event(KUBE_EVENT_MODIFIED, POD("u", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
    assert_string_equal(fake.end.reason, "Completed");
    assert_string_equal(fake.facts.uid, "u");
    assert_int_equal(fake.facts.created_unix_seconds, 1704164645);
    assert_null(fake.watch.on_event); /* the watch was stopped */
    assert_int_equal(fake.seen, 3);
    assert_int_equal(fake.watches, 1);
    assert_int_equal(fake.gets, 0);
}

static void a_main_that_is_not_started_yet_is_still_watched(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_ADDED, POD("u", "{\"waiting\":{\"reason\":\"ErrImagePull\"}}},"
                                          "{\"name\":\"wait\",\"state\":{\"running\":{}}"));
    assert_int_equal(fake.end.kind, MAIN_NOT_STARTED);
    assert_string_equal(fake.end.reason, "ErrImagePull");
    assert_non_null(fake.watch.on_event); /* its image may still be pulled */
    send_event(KUBE_EVENT_MODIFIED, POD("u", RUNNING));
    assert_int_equal(fake.end.kind, MAIN_RUNNING);
    send_event(KUBE_EVENT_MODIFIED, POD("u", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
}

/* The Go program gives up after 1277 s. */
static void a_main_that_runs_for_a_week_needs_no_further_request(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_ADDED, POD("u", RUNNING));
    for (int hour = 0; hour < 7 * 24; hour++)
        pass_time(3600000);
    assert_int_equal(fake.end.kind, MAIN_RUNNING);
    assert_int_equal(fake.gets, 0);
    assert_int_equal(fake.watches, 1);
    send_event(KUBE_EVENT_MODIFIED, POD("u", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
}

static void errors_of_the_watch_do_not_end_the_wait(void **state)
{
    (void)state;
    break_watch(0, ERROR_TEMPORARY);
    break_watch(500, ERROR_TEMPORARY);
    break_watch(401, ERROR_DENIED); /* a token that is about to be replaced */
    break_watch(410, ERROR_GONE);
    assert_int_equal(fake.seen, 0);
    assert_int_equal(fake.gets, 0);
    send_event(KUBE_EVENT_ADDED, POD("u", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
}

static void a_forbidden_watch_is_replaced_by_polling(void **state)
{
    uint64_t longest_ms = 0;

    (void)state;
    break_watch(403, ERROR_DENIED);
    assert_null(fake.watch.on_event);
    assert_int_equal(fake.gets, 1);
    answer_get(POD("u", RUNNING), ERROR_NONE);
    pass_time(999);
    assert_int_equal(fake.gets, 1);
    pass_time(1);
    assert_int_equal(fake.gets, 2);
    /* Two hours; the Go program gives up after 1277 s. */
    for (int i = 0; i < 7200 * 4; i++) {
        if (fake.get.on_done)
            answer_get(POD("u", RUNNING), ERROR_NONE);
        pass_time(250);
        longest_ms = fake.gap_ms > longest_ms ? fake.gap_ms : longest_ms;
    }
    assert_int_equal(fake.end.kind, MAIN_RUNNING);
    assert_in_range(longest_ms, 4900, 5250);
    assert_in_range(fake.gets, 7200 / 6, 7200 / 5 + 20);
    if (!fake.get.on_done)
        pass_time(5000);
    answer_get(POD("u", ENDED), ERROR_NONE);
    assert_int_equal(fake.end.kind, MAIN_ENDED);
    pass_time(100000);
    assert_null(fake.get.on_done);
}

static void polling_continues_after_an_hour_of_failures(void **state)
{
    (void)state;
    break_watch(403, ERROR_DENIED);
    for (int i = 0; i < 720; i++) {
        answer_get(NULL, i % 2 ? ERROR_TEMPORARY : ERROR_DENIED);
        pass_time(5000);
    }
    assert_int_equal(fake.seen, 0);
    answer_get(POD("u", ENDED), ERROR_NONE);
    assert_int_equal(fake.end.kind, MAIN_ENDED);
}

static void a_pod_that_is_not_found_is_lost(void **state)
{
    (void)state;
    break_watch(403, ERROR_DENIED);
    answer_get(NULL, ERROR_NOT_FOUND);
    assert_int_equal(fake.end.kind, MAIN_LOST);
    pass_time(100000);
    assert_int_equal(fake.gets, 1);
}

static void a_deleted_pod_without_an_exit_code_is_lost(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_DELETED, POD("u", RUNNING));
    assert_int_equal(fake.end.kind, MAIN_LOST);
    assert_null(fake.watch.on_event);
}

static void the_last_status_of_a_deleted_pod_is_used(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_DELETED, POD("u", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
    assert_int_equal(fake.seen, 1);
}

static void a_later_pod_of_the_same_name_is_not_ours(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_ADDED, POD("old", RUNNING));
    send_event(KUBE_EVENT_ADDED, POD("new", ENDED));
    assert_int_equal(fake.end.kind, MAIN_LOST);
    assert_string_equal(fake.facts.uid, "");
}

static void an_earlier_pod_from_a_stale_cache_is_ignored(void **state)
{
    (void)state;
    send_event(KUBE_EVENT_ADDED, POD("before", ENDED));
    send_event(KUBE_EVENT_DELETED, POD("before", ENDED));
    assert_int_equal(fake.seen, 0);
    send_event(KUBE_EVENT_ADDED, POD("own", RUNNING));
    assert_int_equal(fake.end.kind, MAIN_RUNNING);
    send_event(KUBE_EVENT_MODIFIED, POD("own", ENDED));
    assert_int_equal(fake.end.kind, MAIN_ENDED);
    assert_string_equal(fake.facts.uid, "own");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_watch_on_the_own_pod_reports_the_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_main_that_is_not_started_yet_is_still_watched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_main_that_runs_for_a_week_needs_no_further_request,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_of_the_watch_do_not_end_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forbidden_watch_is_replaced_by_polling, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(polling_continues_after_an_hour_of_failures, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_pod_that_is_not_found_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_deleted_pod_without_an_exit_code_is_lost, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_last_status_of_a_deleted_pod_is_used, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_later_pod_of_the_same_name_is_not_ours, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_earlier_pod_from_a_stale_cache_is_ignored,
                                        set_up_with_known_uid, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
