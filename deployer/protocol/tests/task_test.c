/* SPDX-License-Identifier: Apache-2.0 */
/* The work on an item without any server: what an event, an answer or the loss of the lease leaves
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/task.h"
#include "deployer/tests/sample.h"

struct bench {
    struct clock_fake clock;
    struct deployer_config config;
    struct controller controller;
};

/* Nobody leads: nothing is ever sent. */
static void bench_init(struct bench *bench)
{
    struct error err = {0};

    *bench = (struct bench){.config = {.is_electing = true, .max_replicas = 2}};
    clock_fake_init(&bench->clock, 1000 * 1000);
    bench->controller.config = &bench->config;
    bench->controller.is_pods_synced = true;
    bench->controller.index = index_new();
    assert_int_equal(loop_new(&bench->clock.clock, &bench->controller.loop, &err), 0);
    loop_timer_init(&bench->controller.pump_timer, bench->controller.loop, controller_on_pump,
                    &bench->controller);
}

static void bench_done(struct bench *bench)
{
    struct record *record = index_find(bench->controller.index, "ns", "item");

    if (record)
        task_free(record->task);
    loop_timer_stop(&bench->controller.pump_timer);
    index_free(bench->controller.index);
    loop_free(bench->controller.loop);
}

static json_t *item_object(const char *uid, const char *version, const char *spec)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: item, namespace: ns, uid: %s, resourceVersion: '%s', "
                  "generation: %s}, spec: {type: landscaper.gardener.cloud/container, %s}, status: "
                  "{jobID: job}}",
                  uid, version, version, spec);

    return sample_doc(text);
}

static struct task *see(struct bench *bench, const char *uid, const char *version, const char *spec)
{
    cleanup_json json_t *object = item_object(uid, version, spec);
    struct record *record = NULL;

    observe_item_event(&bench->controller, KUBE_EVENT_MODIFIED, object, NULL);
    record = index_find(bench->controller.index, "ns", "item");
    assert_non_null(record);
    assert_non_null(record->task);
    return record->task;
}

static void unused(struct task *task, json_t *object, const struct error *err)
{
    (void)task;
    (void)object;
    (void)err;
    fail_msg("an answer to a request that was never sent");
}

/* Leadership may be back before anybody is told that it was lost. */
static void a_chain_that_was_refused_for_want_of_the_lease_is_tried_again(void **state)
{
    struct kube_request request = {.verb = KUBE_CREATE, .resource = KUBE_PODS};
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench);
    task = see(&bench, "a", "1", "context: c");
    assert_ptr_equal(queue_take(&bench.controller.queue), task);
    task->is_running = true;
    bench.controller.running = 1;
    task_request(task, NULL, &request, unused);
    assert_false(task->is_running);
    assert_true(task->place.is_taken);
    loop_timer_stop(&bench.controller.pump_timer);
    controller_on_pump(&bench.controller);
    assert_true(task->place.is_taken);
    assert_true(loop_timer_is_running(&bench.controller.pump_timer));
    bench_done(&bench);
}

static void an_answer_about_another_item_of_the_same_name_is_not_taken(void **state)
{
    struct bench bench;
    struct task *task = NULL;
    cleanup_json json_t *other = item_object("b", "9", "context: other");
    cleanup_json json_t *same = item_object("a", "9", "context: same");

    (void)state;
    bench_init(&bench);
    task = see(&bench, "a", "1", "context: c");
    assert_false(task_take_item(task, other));
    assert_string_equal(task->item->uid, "a");
    assert_int_equal(task->record->version, 1);
    assert_true(task_take_item(task, same));
    assert_string_equal(task->item->context, "same");
    bench_done(&bench);
}

static void what_was_read_for_another_spec_is_forgotten(void **state)
{
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench);
    task = see(&bench, "a", "1", "target: {name: t}");
    task->inputs.target_file = xstrdup("credentials");
    task->inputs.target_file_size = strlen(task->inputs.target_file);
    assert_ptr_equal(see(&bench, "a", "2", "context: c"), task);
    assert_null(task->inputs.target_file);
    bench_done(&bench);
}

static void the_lock_of_an_item_is_not_that_of_the_next_of_its_name(void **state)
{
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench);
    task = see(&bench, "a", "1", "context: c");
    task->has_lock = true;
    assert_true(see(&bench, "a", "2", "context: d")->has_lock);
    assert_false(see(&bench, "b", "3", "context: d")->has_lock);
    bench_done(&bench);
}

static void nothing_is_remembered_of_an_unknown_item_when_its_last_pod_goes(void **state)
{
    struct bench bench;
    cleanup_json json_t *pod =
        sample_doc("{metadata: {name: p, uid: u, resourceVersion: '1', annotations: "
                   "{" ANNOTATION_ITEM_NAME ": item, " ANNOTATION_ITEM_NAMESPACE ": ns}}}");

    (void)state;
    bench_init(&bench);
    observe_pod_event(&bench.controller, KUBE_EVENT_ADDED, pod, NULL);
    assert_non_null(index_find(bench.controller.index, "ns", "item"));
    observe_pod_event(&bench.controller, KUBE_EVENT_DELETED, pod, NULL);
    assert_null(index_find(bench.controller.index, "ns", "item"));
    bench_done(&bench);
}

/* Begun at the bench's 1000 s, for ten seconds. */
static const char begun_item[] =
    "{metadata: {name: item, namespace: ns, uid: a, resourceVersion: '1', generation: 1}, spec: "
    "{type: landscaper.gardener.cloud/container, timeout: 10s}, status: {jobID: job, phase: "
    "Progressing, transitionTimes: {initTime: '1970-01-01T00:16:40Z'}}}";

static struct task *see_begun(struct bench *bench)
{
    cleanup_json json_t *object = sample_doc(begun_item);

    observe_item_event(&bench->controller, KUBE_EVENT_MODIFIED, object, NULL);
    return index_find(bench->controller.index, "ns", "item")->task;
}

static void hold(struct task *task, uint32_t retry_after_ms)
{
    struct error err = {.kind = ERROR_TEMPORARY, .retry_after_ms = retry_after_ms};

    task->hold.attempts = 30;
    task_hold(task, "a test", &err);
}

static void bookkeeping_that_fails_is_tried_again_when_the_jobs_time_is_over(void **state)
{
    enum { TIMEOUT_MS = 10 * 1000, LONGER_MS = 60 * 1000 };
    struct bench bench;
    struct task *task = NULL;
    int64_t deadline = 0;

    (void)state;
    bench_init(&bench);
    task = see_begun(&bench);
    deadline = item_deadline_unix_ms(task->item);
    assert_int_equal(deadline - task_now_unix_ms(task), TIMEOUT_MS);
    hold(task, 0);
    assert_int_equal(task->hold_unix_ms, deadline);
    /* Not before a server wants it. */
    hold(task, LONGER_MS);
    assert_true(task->hold_unix_ms >= task_now_unix_ms(task) + LONGER_MS);
    /* After the deadline there is nothing to be in time for. */
    clock_fake_advance(&bench.clock, TIMEOUT_MS);
    hold(task, 0);
    assert_true(task->hold_unix_ms > deadline + CONTROLLER_RETRY_MAX_MS / 2);
    bench_done(&bench);
}

#define UNSCHEDULABLE "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]"
#define PULLED_IN_VAIN(list_, name_)                                                               \
    list_ ": [{name: " name_ ", state: {waiting: {reason: ErrImagePull}}}]"

static const struct {
    const char *status;
    bool is_counted_anew, has_grace;
} troubles[] = {
    {UNSCHEDULABLE, true, false},
    {PULLED_IN_VAIN("initContainerStatuses", "init"), true, true},
    {PULLED_IN_VAIN("initContainerStatuses", "init"), false, true},
    {PULLED_IN_VAIN("initContainerStatuses", "istio-init"), true, true},
    {PULLED_IN_VAIN("containerStatuses", "main"), true, true},
    {"containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerError}}}]", false,
     true},
    {UNSCHEDULABLE, true, false},
};

static void a_trouble_is_given_its_own_time_whatever_was_before_it(void **state)
{
    enum { GRACE_MS = 60 * 1000, STEP_MS = 1000 };
    struct bench bench;
    struct task *task = NULL;
    struct pod_entry *entry = NULL;
    int64_t since = 0;

    (void)state;
    bench_init(&bench);
    bench.config.image_grace_ms = GRACE_MS;
    task = see_begun(&bench);
    entry = record_add_pod(task->record, "pod");
    for (size_t i = 0; i < array_length(troubles); i++) {
        cleanup_free char *text = xasprintf("{status: {phase: Pending, %s}}", troubles[i].status);
        cleanup_pod_verdict struct pod_verdict verdict = {0};

        clock_fake_advance(&bench.clock, STEP_MS);
        json_decref(entry->pod);
        entry->pod = sample_doc(text);
        if (troubles[i].is_counted_anew)
            since = task_now_unix_ms(task);
        pod_entry_judge(entry, task, &verdict);
        assert_int_equal(verdict.outcome, POD_STUCK);
        assert_int_equal(verdict.give_up_unix_ms, troubles[i].has_grace ? since + GRACE_MS : -1);
    }
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_that_was_refused_for_want_of_the_lease_is_tried_again),
        cmocka_unit_test(an_answer_about_another_item_of_the_same_name_is_not_taken),
        cmocka_unit_test(what_was_read_for_another_spec_is_forgotten),
        cmocka_unit_test(the_lock_of_an_item_is_not_that_of_the_next_of_its_name),
        cmocka_unit_test(nothing_is_remembered_of_an_unknown_item_when_its_last_pod_goes),
        cmocka_unit_test(a_trouble_is_given_its_own_time_whatever_was_before_it),
        cmocka_unit_test(bookkeeping_that_fails_is_tried_again_when_the_jobs_time_is_over),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
