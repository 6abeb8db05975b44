/* SPDX-License-Identifier: Apache-2.0 */
/* Pure functions: differences of status, locks, time. */
#include <setjmp.h>
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
#include "deployer/protocol/lock.h"
#include "deployer/protocol/minimal_status.h"
#include "deployer/protocol/report.h"
#include "deployer/protocol/task.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_json(text, strlen(text), 1 << 20, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

/* ---- Differences ---- */

/* Applies a merge patch as an API server does. */
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

static void a_difference_is_the_minimal_merge_patch(void **state)
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

/* ---- The minimal status ---- */

static const char *const DETAILS =
    "\"deployer\":{\"name\":\"n\"},\"conditions\":[{\"type\":\"InitContainer\"}],"
    "\"providerStatus\":{\"podStatus\":{}},\"firstError\":{\"reason\":\"A\"},\"lastErrors\":[{}]";

static void assert_no_details(const json_t *minimal)
{
    static const char *const names[] = {"deployer", "conditions", "providerStatus", "firstError",
                                        "lastErrors"};

    for (size_t i = 0; i < array_length(names); i++)
        assert_null(doc_member(minimal, names[i]));
}

static void a_minimal_status_ends_the_job_with_advice(void **state)
{
    cleanup_free char *text = xasprintf(
        "{\"jobID\":\"j2\",\"jobIDFinished\":\"j1\",\"phase\":\"Progressing\",\"dependents\":1,"
        "\"transitionTimes\":{\"initTime\":\"i\"},\"lastError\":{\"reason\":\"OOMKilled\"},%s}",
        DETAILS);
    cleanup_json json_t *wanted = parse(text);
    cleanup_json json_t *minimal = minimal_status(wanted, NULL, PHASE_FAILED, 0);

    (void)state;
    assert_string_equal(doc_text(minimal, "phase"), PHASE_FAILED);
    assert_string_equal(doc_text(minimal, "jobIDFinished"), "j2");
    assert_string_equal(doc_text(minimal, "transitionTimes.initTime"), "i");
    assert_non_null(doc_text(minimal, "transitionTimes.finishedTime"));
    assert_int_equal(doc_integer_or(minimal, "dependents", 0), 1);
    assert_string_equal(doc_text(minimal, "lastError.message"),
                        "the item is too large for its status: make it 1 KiB smaller; left out: "
                        "OOMKilled");
    assert_string_equal(json_string_value(json_array_get(doc_get(minimal, "lastError.codes"), 0)),
                        CODE_CONFIGURATION_PROBLEM);
    assert_no_details(minimal);
}

/* Of an engine for which it is the only memory of what was executed. */
static void a_minimal_status_keeps_the_stored_provider_status(void **state)
{
    cleanup_free char *text = xasprintf("{\"jobID\":\"j2\",\"phase\":\"Progressing\",%s}", DETAILS);
    cleanup_json json_t *wanted = parse(text);
    cleanup_json json_t *stored = parse("{\"managedResources\":[1]}");
    cleanup_json json_t *minimal = minimal_status(wanted, stored, PHASE_FAILED, 0);

    (void)state;
    assert_true(json_equal(doc_member(minimal, "providerStatus"), stored));
}

static void a_minimal_status_of_a_success_is_a_success(void **state)
{
    cleanup_free char *text =
        xasprintf("{\"jobID\":\"j2\",\"jobIDFinished\":\"j2\",\"phase\":\"Succeeded\","
                  "\"exportRef\":{\"name\":\"e\"},%s}",
                  DETAILS);
    cleanup_json json_t *wanted = parse(text);
    cleanup_json json_t *minimal = minimal_status(wanted, NULL, PHASE_FAILED, 0);

    (void)state;
    assert_string_equal(doc_text(minimal, "phase"), PHASE_SUCCEEDED);
    assert_string_equal(doc_text(minimal, "exportRef.name"), "e");
    assert_null(doc_member(minimal, "lastError"));
    assert_no_details(minimal);
}

/* ---- Locks ---- */

static void a_lock_is_taken_only_if_it_is_free_or_its_holder_is_gone(void **state)
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
        {"{\"spec\":{\"podName\":\"nopodname\"}}", LOCK_OF_NO_POD},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = cases[i].object ? parse(cases[i].object) : NULL;

        assert_int_equal(lock_judge(object, "me"), cases[i].verdict);
    }
}

static void a_lock_object_has_the_format_of_the_go_deployer(void **state)
{
    cleanup_json json_t *object = lock_object(NULL, "ns", "item", "uid-1", LOCK_PREFIX, "pod-1", 0);
    cleanup_json json_t *old = parse("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}");
    cleanup_json json_t *changed = lock_object(old, "ns", "item", "uid-1", LOCK_PREFIX, "", 0);

    (void)state;
    assert_string_equal(doc_text(object, "metadata.name"), "container-uid-1");
    assert_string_equal(doc_text(object, "spec.podName"), "pod-1");
    assert_string_equal(doc_text(object, "spec.kind"), "DeployItem");
    assert_string_equal(doc_text(object, "spec.prefix"), "container");
    assert_string_equal(doc_text(object, "spec.lastUpdateTime"), "1970-01-01T00:00:00Z");
    assert_string_equal(doc_text(changed, "metadata.resourceVersion"), "7");
    assert_string_equal(doc_text(changed, "spec.podName"), "");
}

/* ---- Time ---- */

static void the_timeout_of_a_job_ignores_changes_of_the_wall_clock(void **state)
{
    static const int64_t day_ms = 24 * 3600 * 1000;
    struct clock_fake clock;
    struct controller controller = {0};
    struct task task = {.controller = &controller, .known.since_unix_ms = 50 * day_ms};
    struct error err = {0};

    (void)state;
    clock_fake_init(&clock, task.known.since_unix_ms);
    assert_int_equal(loop_new(&clock.clock, &controller.loop, &err), 0);
    task.known.since_ms = loop_now_ms(controller.loop);
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
        cmocka_unit_test(a_difference_is_the_minimal_merge_patch),
        cmocka_unit_test(a_minimal_status_ends_the_job_with_advice),
        cmocka_unit_test(a_minimal_status_keeps_the_stored_provider_status),
        cmocka_unit_test(a_minimal_status_of_a_success_is_a_success),
        cmocka_unit_test(a_lock_is_taken_only_if_it_is_free_or_its_holder_is_gone),
        cmocka_unit_test(a_lock_object_has_the_format_of_the_go_deployer),
        cmocka_unit_test(the_timeout_of_a_job_ignores_changes_of_the_wall_clock),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
