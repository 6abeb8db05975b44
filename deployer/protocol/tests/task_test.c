/* SPDX-License-Identifier: Apache-2.0 */
/* The work on an item without servers: effects of an event, a response or the loss of the lease. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deployer/protocol/tests/bench.h"
#include "deployer/protocol/tests/fake_engine.h"

static struct task *see(struct bench *bench, const char *uid, const char *version, const char *spec)
{
    bench_see_item(bench, KUBE_EVENT_MODIFIED, "item", uid, version, spec);
    assert_non_null(bench_find(bench, "item"));
    assert_non_null(bench_find(bench, "item")->task);
    return bench_find(bench, "item")->task;
}

static json_t *object_of(const char *uid, const char *version, const char *spec)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: item, namespace: ns, uid: %s, resourceVersion: '%s'}, spec: "
                  "{type: " DEPLOY_ITEM_TYPE_CONTAINER ", %s}, status: {jobID: job}}",
                  uid, version, spec);

    return sample_doc(text);
}

static void unused(struct task *task, json_t *object, const struct error *err)
{
    (void)task;
    (void)object;
    (void)err;
    fail_msg("an answer to a request that was never sent");
}

/* Leadership may be regained before its loss is reported. */
static void a_chain_that_was_refused_without_the_lease_is_retried(void **state)
{
    struct kube_request request = {.verb = KUBE_CREATE, .resource = KUBE_PODS};
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see(&bench, "a", "1", "context: c");
    assert_ptr_equal(queue_take(&bench.controller.queue), task);
    task->chain.is_running = true;
    bench.controller.running = 1;
    task_request(task, NULL, &request, unused);
    assert_false(task->chain.is_running);
    assert_true(task->place.is_taken);
    loop_timer_stop(&bench.controller.pump_timer);
    controller_on_pump(&bench.controller);
    assert_true(task->place.is_taken);
    assert_true(loop_timer_is_running(&bench.controller.pump_timer));
    bench_done(&bench);
}

static void a_response_for_another_item_of_the_same_name_is_ignored(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;
    cleanup_json json_t *other = object_of("b", "9", "context: other");
    cleanup_json json_t *same = object_of("a", "9", "context: same");

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see(&bench, "a", "1", "context: c");
    assert_false(task_take_item(task, other));
    assert_string_equal(task->item->uid, "a");
    assert_int_equal(task->record->version, 1);
    assert_true(task_take_item(task, same));
    assert_string_equal(task->item->context, "same");
    bench_done(&bench);
}

static void inputs_read_for_another_spec_are_discarded(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see(&bench, "a", "1", "target: {name: t}");
    task->known.target_read.content = xstrdup("credentials");
    task->known.target_read.content_size = strlen("credentials");
    assert_ptr_equal(see(&bench, "a", "2", "context: c"), task);
    assert_null(task->known.target_read.content);
    bench_done(&bench);
}

static void a_lock_does_not_apply_to_a_later_item_of_the_same_name(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see(&bench, "a", "1", "context: c");
    task->known.has_lock = true;
    assert_true(see(&bench, "a", "2", "context: d")->known.has_lock);
    assert_false(see(&bench, "b", "3", "context: d")->known.has_lock);
    bench_done(&bench);
}

/* Started at the bench's 1000 s, with a timeout of ten seconds. */
static const char begun_item[] =
    "{metadata: {name: item, namespace: ns, uid: a, resourceVersion: '1', generation: 1}, spec: "
    "{type: landscaper.gardener.cloud/container, timeout: 10s}, status: {jobID: job, phase: "
    "Progressing, transitionTimes: {initTime: '1970-01-01T00:16:40Z'}}}";

static struct task *see_begun(struct bench *bench)
{
    cleanup_json json_t *object = sample_doc(begun_item);

    observe_item_event(&bench->source, KUBE_EVENT_MODIFIED, object, NULL);
    return index_find(bench->controller.index, "ns", "item")->task;
}

static void hold(struct task *task, uint32_t retry_after_ms)
{
    struct error err = {.kind = ERROR_TEMPORARY, .retry_after_ms = retry_after_ms};

    task->known.back_off.attempts = 30;
    task_back_off(task, "a test", &err);
}

static void a_failed_write_is_retried_at_the_deadline_of_the_job(void **state)
{
    enum { TIMEOUT_MS = 10 * 1000, LONGER_MS = 60 * 1000 };
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;
    int64_t deadline = 0;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see_begun(&bench);
    deadline = item_deadline_unix_ms(task->item);
    assert_int_equal(deadline - task_now_unix_ms(task), TIMEOUT_MS);
    hold(task, 0);
    assert_int_equal(task->known.back_off_unix_ms, deadline);
    /* Not before the Retry-After of the server. */
    hold(task, LONGER_MS);
    assert_true(task->known.back_off_unix_ms >= task_now_unix_ms(task) + LONGER_MS);
    /* After the deadline the back-off is not shortened. */
    clock_fake_advance(&bench.clock, TIMEOUT_MS);
    hold(task, 0);
    assert_true(task->known.back_off_unix_ms > deadline + CONTROLLER_RETRY_MAX_MS / 2);
    bench_done(&bench);
}

static struct task *see_blocked(struct bench *bench, const char *reason)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: item, namespace: ns, uid: a, resourceVersion: '1'}, spec: "
                  "{type: " DEPLOY_ITEM_TYPE_CONTAINER
                  ", timeout: 10s}, status: {jobID: job, phase: Init, lastError: "
                  "{reason: %s}, transitionTimes: {initTime: '1970-01-01T00:16:40Z'}}}",
                  reason);
    cleanup_json json_t *object = sample_doc(text);

    observe_item_event(&bench->source, KUBE_EVENT_MODIFIED, object, NULL);
    return bench_find(bench, "item")->task;
}

static void the_timeout_of_a_job_does_not_count_while_it_is_blocked(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;
    struct observed observed = {0};

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    task = see_blocked(&bench, "GetLandscaperContext");
    assert_int_equal(job_phase_of(task->item), JOB_INIT);
    assert_int_not_equal(task_deadline_unix_ms(task), -1);
    task = see_blocked(&bench, REASON_PREVIOUS_RUNS);
    assert_int_equal(job_phase_of(task->item), JOB_BLOCKED);
    assert_int_equal(task_deadline_unix_ms(task), -1);
    fake_track(task->record, "another", false);
    task_observe(task, &observed);
    assert_int_equal(observed.execution.claim, EXECUTION_OF_OTHER_JOB);
    assert_int_equal(observed.deadline_unix_ms, -1);
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_that_was_refused_without_the_lease_is_retried),
        cmocka_unit_test(a_response_for_another_item_of_the_same_name_is_ignored),
        cmocka_unit_test(inputs_read_for_another_spec_are_discarded),
        cmocka_unit_test(a_lock_does_not_apply_to_a_later_item_of_the_same_name),
        cmocka_unit_test(a_failed_write_is_retried_at_the_deadline_of_the_job),
        cmocka_unit_test(the_timeout_of_a_job_does_not_count_while_it_is_blocked),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
