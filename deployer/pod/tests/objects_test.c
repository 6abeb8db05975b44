/* SPDX-License-Identifier: Apache-2.0 */
/* The small pure parts: differences of status, locks, garbage. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/controller/gc_judge.h"
#include "deployer/controller/least.h"
#include "deployer/controller/lock.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/report.h"
#include "deployer/controller/setup.h"
#include "deployer/controller/task.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_json(text, strlen(text), 1 << 20, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

/* ---- Differences ---- */

/* What an API server does with a merge patch. */
static void apply(json_t *target, const json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value)
    {
        json_t *old = json_object_get(target, key);

        if (json_is_null(value))
            (void)json_object_del(target, key);
        else if (json_is_object(value) && json_is_object(old))
            apply(old, value);
        else
            (void)json_object_set(target, key, value);
    }
}

static void a_difference_is_the_smallest_patch_that_leads_there(void **state)
{
    static const struct {
        const char *before, *after, *patch;
    } cases[] = {
        {"{}", "{}", "{}"},
        {"{\"a\":1}", "{\"a\":1}", "{}"},
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}"},
        {"{\"a\":1}", "{}", "{\"a\":null}"},
        {"{}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}", "{\"a\":{\"c\":null}}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":3,\"c\":2}}", "{\"a\":{\"b\":3}}"},
        {"{\"a\":[1,2]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":5}", "{\"a\":5}"},
        {"{\"a\":5}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *before = parse(cases[i].before);
        cleanup_json json_t *after = parse(cases[i].after);
        cleanup_json json_t *wanted = parse(cases[i].patch);
        cleanup_json json_t *patch = report_difference(before, after);

        assert_true(json_equal(patch, wanted));
        apply(before, patch);
        assert_true(json_equal(before, after));
    }
}

/* ---- The least ---- */

static const char *const DETAILS =
    "\"deployer\":{\"name\":\"n\"},\"conditions\":[{\"type\":\"InitContainer\"}],"
    "\"providerStatus\":{\"podStatus\":{}},\"firstError\":{\"reason\":\"A\"},\"lastErrors\":[{}]";

static void assert_no_details(const json_t *least)
{
    static const char *const names[] = {"deployer", "conditions", "providerStatus", "firstError",
                                        "lastErrors"};

    for (size_t i = 0; i < array_length(names); i++)
        assert_null(doc_member(least, names[i]));
}

static void the_least_of_a_status_ends_the_job_and_says_what_to_do(void **state)
{
    cleanup_free char *text = xasprintf(
        "{\"jobID\":\"j2\",\"jobIDFinished\":\"j1\",\"phase\":\"Progressing\",\"dependents\":1,"
        "\"transitionTimes\":{\"initTime\":\"i\"},\"lastError\":{\"reason\":\"OOMKilled\"},%s}",
        DETAILS);
    cleanup_json json_t *wanted = parse(text);
    cleanup_json json_t *least = least_status(wanted, PHASE_FAILED, 0);

    (void)state;
    assert_string_equal(doc_text(least, "phase"), PHASE_FAILED);
    assert_string_equal(doc_text(least, "jobIDFinished"), "j2");
    assert_string_equal(doc_text(least, "transitionTimes.initTime"), "i");
    assert_non_null(doc_text(least, "transitionTimes.finishedTime"));
    assert_int_equal(doc_integer_or(least, "dependents", 0), 1);
    assert_string_equal(doc_text(least, "lastError.message"),
                        "the item is too large for its status: make it 1 KiB smaller; left out: "
                        "OOMKilled");
    assert_true(status_is_unrecoverable(doc_member(least, "lastError")));
    assert_no_details(least);
}

static void the_least_of_a_success_is_a_success(void **state)
{
    cleanup_free char *text =
        xasprintf("{\"jobID\":\"j2\",\"jobIDFinished\":\"j2\",\"phase\":\"Succeeded\","
                  "\"exportRef\":{\"name\":\"e\"},%s}",
                  DETAILS);
    cleanup_json json_t *wanted = parse(text);
    cleanup_json json_t *least = least_status(wanted, PHASE_FAILED, 0);

    (void)state;
    assert_string_equal(doc_text(least, "phase"), PHASE_SUCCEEDED);
    assert_string_equal(doc_text(least, "exportRef.name"), "e");
    assert_null(doc_member(least, "lastError"));
    assert_no_details(least);
}

/* ---- Locks ---- */

static void a_lock_is_taken_only_from_nobody_and_from_the_dead(void **state)
{
    static const struct {
        const char *object;
        enum lock_verdict verdict;
    } cases[] = {
        {NULL, LOCK_CREATE},
        {"{\"spec\":{\"podName\":\"me\"}}", LOCK_OURS},
        {"{\"spec\":{\"podName\":\"\"}}", LOCK_TAKE},
        {"{\"spec\":{}}", LOCK_TAKE},
        {"{\"spec\":{\"podName\":\"other\"}}", LOCK_ASK_POD},
        {"{\"spec\":{\"podName\":\"nopodname\"}}", LOCK_SOMEBODYS},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = cases[i].object ? parse(cases[i].object) : NULL;

        assert_int_equal(lock_judge(object, "me"), cases[i].verdict);
    }
}

static void a_lock_object_is_as_the_go_deployer_writes_it(void **state)
{
    cleanup_json json_t *object = lock_object(NULL, "ns", "item", "uid-1", "pod-1", 0);
    cleanup_json json_t *old = parse("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}");
    cleanup_json json_t *changed = lock_object(old, "ns", "item", "uid-1", "", 0);

    (void)state;
    assert_string_equal(doc_text(object, "metadata.name"), "container-uid-1");
    assert_string_equal(doc_text(object, "spec.podName"), "pod-1");
    assert_string_equal(doc_text(object, "spec.kind"), "DeployItem");
    assert_string_equal(doc_text(object, "spec.prefix"), "container");
    assert_string_equal(doc_text(object, "spec.lastUpdateTime"), "1970-01-01T00:00:00Z");
    assert_string_equal(doc_text(changed, "metadata.resourceVersion"), "7");
    assert_string_equal(doc_text(changed, "spec.podName"), "");
}

/* ---- Pods and garbage ---- */

static void a_pod_is_over_when_nothing_in_it_can_run(void **state)
{
    static const struct {
        const char *pod;
        bool is_over;
    } cases[] = {
        {"{\"status\":{\"phase\":\"Succeeded\"}}", true},
        {"{\"status\":{\"phase\":\"Failed\"}}", true},
        {"{\"status\":{\"phase\":\"Running\"}}", false},
        {"{\"status\":{\"phase\":\"Pending\"}}", false},
        {"{}", false},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Pending\"}}", true},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":300},"
         "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}",
         false},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":0},"
         "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}",
         true},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = parse(cases[i].pod);

        assert_int_equal(pod_is_over(pod), cases[i].is_over);
    }
}

static void a_pod_has_stopped_when_all_its_containers_have(void **state)
{
    static const char ended[] = "{\"state\":{\"terminated\":{\"exitCode\":1}}}";
    static const struct {
        const char *first, *second;
        bool has_stopped;
    } cases[] = {
        {ended, ended, true},
        {ended, "{\"state\":{\"running\":{}}}", false},
        {"{\"state\":{\"waiting\":{}}}", ended, false},
        {ended, "{}", false},
        {ended, NULL, false},
        {NULL, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text =
            xasprintf("{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[%s%s%s]}}",
                      cases[i].first ? cases[i].first : "", cases[i].second ? "," : "",
                      cases[i].second ? cases[i].second : "");
        cleanup_json json_t *pod = parse(text);

        assert_int_equal(pod_has_stopped(pod), cases[i].has_stopped);
    }
}

#define FINALIZED "\"finalizers\":[\"" FINALIZER_POD "\"]"
#define OLD_POD                                                                                    \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\"," FINALIZED                     \
    "},\"status\":{\"phase\":\"Succeeded\"}}"
#define NEW_POD                                                                                    \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-02T00:00:00Z\"," FINALIZED                     \
    "},\"status\":{\"phase\":\"Succeeded\"}}"
#define BARE_POD                                                                                   \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-03T00:00:00Z\"},"                              \
    "\"status\":{\"phase\":\"Succeeded\"}}"
#define HELD_POD                                                                                   \
    "{\"metadata\":{\"deletionTimestamp\":\"2026-01-03T00:00:00Z\",\"finalizers\":[\"theirs\"]},"  \
    "\"status\":{\"phase\":\"Succeeded\"}}"
#define RUNNING_POD "{\"metadata\":{" FINALIZED "},\"status\":{\"phase\":\"Running\"}}"

static void garbage_among_pods_is_what_nobody_will_look_at_again(void **state)
{
    static const struct {
        const char *name, *pod, *other; /* other is a second pod of the item, or NULL */
        bool is_known, is_finished, is_ours, is_kept;
        enum gc_pod verdict;
    } cases[] = {
        {"GC8 older of two", OLD_POD, NEW_POD, true, true, true, false, GC_POD_REMOVE},
        {"GC8 newer of two", NEW_POD, OLD_POD, true, true, true, false, GC_POD_KEEP},
        {"GC10 the only one", OLD_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"GC12 the latest", NEW_POD, OLD_POD, true, true, true, false, GC_POD_KEEP},
        {"GC13 no finalizer", BARE_POD, NULL, true, true, true, false, GC_POD_REMOVE},
        {"held by another's finalizer", HELD_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"keepPod", BARE_POD, NULL, true, true, true, true, GC_POD_KEEP},
        {"running", RUNNING_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"item has work", OLD_POD, NEW_POD, true, false, true, false, GC_POD_KEEP},
        {"item unknown", OLD_POD, NULL, false, false, true, false, GC_POD_ASK},
        {"item unknown, runs", RUNNING_POD, NULL, false, false, true, false, GC_POD_ASK},
        {"whose is it", OLD_POD, NULL, false, false, false, false, GC_POD_KEEP},
        {"whose is it, runs", RUNNING_POD, NULL, false, false, false, false, GC_POD_KEEP},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct index *index = index_new();
        struct record *record = index_add(index, "n", "x");
        struct pod_entry *entry = record_add_pod(record, "one");
        enum gc_pod verdict = GC_POD_KEEP;

        entry->pod = parse(cases[i].pod);
        if (cases[i].other)
            record_add_pod(record, "two")->pod = parse(cases[i].other);
        record->is_known = cases[i].is_known;
        record->is_finished = cases[i].is_finished;
        verdict = gc_judge_pod(record, entry, cases[i].is_ours, cases[i].is_kept);
        if (verdict != cases[i].verdict)
            fail_msg("%s: %d", cases[i].name, verdict);
        index_free(index);
    }
}

static void inputs_are_garbage_when_their_item_has_nothing_to_run(void **state)
{
    cleanup_json json_t *input = parse(
        "{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:10Z\",\"labels\":{\"" LABEL_ROLE
        "\":\"" LABEL_ROLE_RUN "\"}}}");
    cleanup_json json_t *other =
        parse("{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:10Z\"}}");
    struct index *index = index_new();
    struct record *record = index_add(index, "n", "x");

    (void)state;
    record->is_known = record->is_finished = true;
    assert_true(gc_is_old_input(input, record, 11000));
    assert_false(gc_is_old_input(input, record, 9000));
    assert_false(gc_is_old_input(other, record, 11000));
    record->is_finished = false;
    assert_false(gc_is_old_input(input, record, 11000));
    record->is_finished = true;
    record_add_pod(record, "p")->pod = json_object();
    assert_false(gc_is_old_input(input, record, 11000));
    index_free(index);
}

/* ---- Addresses ---- */

static void addresses_to_listen_on_are_read_or_refused(void **state)
{
    static const struct {
        const char *text, *host;
        int port; /* -1: refused */
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080},
        {":8080", "", 8080},
        {"8080", "", 8080},
        {"[::1]:9", "::1", 9},
        {"off", "", 0},
        {"0", "", 0},
        {"host:", NULL, -1},
        {"", NULL, -1},
        {"1.2.3.4:99999", NULL, -1},
        {"x:-1", NULL, -1},
        {"x: 1", NULL, -1},
        {"x:8a", NULL, -1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *host = NULL;
        uint16_t port = 0;
        struct error err = {0};
        int result = address_parse(cases[i].text, &host, &port, &err);

        assert_int_equal(result, cases[i].port < 0 ? -1 : 0);
        if (result < 0)
            continue;
        assert_string_equal(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

/* ---- Signals ---- */

static void signals_wait_for_the_loop_from_the_first_moment(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
    char program[] = "longshore", wrong[] = "--no-such-option";
    char *arguments[] = {program, wrong, NULL};
    sigset_t before, now;

    (void)state;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
    /* It gets no further than its options. */
    assert_int_equal(controller_main(2, arguments), EXIT_USAGE);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, &now), 0);
    for (size_t i = 0; i < array_length(signals); i++) {
        assert_int_equal(sigismember(&before, signals[i]), 0);
        assert_int_equal(sigismember(&now, signals[i]), 1);
    }
}

/* ---- Time ---- */

static void a_job_is_judged_by_the_time_that_passed_whatever_the_clock_says(void **state)
{
    static const int64_t day_ms = 24 * 3600 * 1000;
    struct clock_fake clock;
    struct controller controller = {0};
    struct task task = {.controller = &controller, .since_unix_ms = 50 * day_ms};
    struct error err = {0};

    (void)state;
    clock_fake_init(&clock, task.since_unix_ms);
    assert_int_equal(loop_new(&clock.clock, &controller.loop, &err), 0);
    task.since_ms = loop_now_ms(controller.loop);
    for (int64_t day = -2; day <= 2; day++) {
        int64_t before = task_now_unix_ms(&task);

        clock_fake_advance(&clock, 1000);
        clock.unix_now_ms += day * day_ms;
        assert_int_equal(task_now_unix_ms(&task) - before, 1000);
    }
    loop_free(controller.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_the_smallest_patch_that_leads_there),
        cmocka_unit_test(the_least_of_a_status_ends_the_job_and_says_what_to_do),
        cmocka_unit_test(the_least_of_a_success_is_a_success),
        cmocka_unit_test(a_lock_is_taken_only_from_nobody_and_from_the_dead),
        cmocka_unit_test(a_lock_object_is_as_the_go_deployer_writes_it),
        cmocka_unit_test(a_pod_is_over_when_nothing_in_it_can_run),
        cmocka_unit_test(a_pod_has_stopped_when_all_its_containers_have),
        cmocka_unit_test(garbage_among_pods_is_what_nobody_will_look_at_again),
        cmocka_unit_test(inputs_are_garbage_when_their_item_has_nothing_to_run),
        cmocka_unit_test(signals_wait_for_the_loop_from_the_first_moment),
        cmocka_unit_test(addresses_to_listen_on_are_read_or_refused),
        cmocka_unit_test(a_job_is_judged_by_the_time_that_passed_whatever_the_clock_says),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
