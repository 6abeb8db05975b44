/* SPDX-License-Identifier: Apache-2.0 */
/* How watch events on pods change the index, and how the pods of a task are interpreted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deployer/pod/engine.h"
#include "deployer/pod/gc.h"
#include "deployer/protocol/tests/bench.h"

static void see_pod(struct pod_engine *engine, enum kube_event event, const char *name,
                    const char *version)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: %s, uid: uid-%s, resourceVersion: '%s', annotations: "
                  "{" ANNOTATION_ITEM_NAME ": item, " ANNOTATION_ITEM_NAMESPACE ": ns}}}",
                  name, name, version);
    cleanup_json json_t *object = sample_doc(text);

    pods_on_event(engine, event, object, NULL);
}

static void send_event(struct pod_engine *engine, enum kube_event event)
{
    bench_tell(engine, pods_on_event, event);
}

static void a_pod_of_an_aborted_list_that_is_missing_in_the_next_is_gone(void **state)
{
    struct pod_engine engine = {0};
    struct bench bench;

    (void)state;
    bench_init(&bench, &POD_ENGINE, &engine.base);
    engine.gc = gc_new(&engine);
    send_event(&engine, KUBE_EVENT_LISTING);
    see_pod(&engine, KUBE_EVENT_LISTED, "a", "1");
    send_event(&engine, KUBE_EVENT_BROKEN);
    send_event(&engine, KUBE_EVENT_LISTING);
    see_pod(&engine, KUBE_EVENT_LISTED, "b", "2");
    send_event(&engine, KUBE_EVENT_SYNCED);
    assert_null(record_find_pod(bench_find(&bench, "item"), "a"));
    assert_non_null(record_find_pod(bench_find(&bench, "item"), "b"));
    gc_free(engine.gc);
    bench_done(&bench);
}

static void a_pod_can_be_ended_again_after_an_etcd_restore(void **state)
{
    struct pod_engine engine = {0};
    struct bench bench;
    struct pod_entry *entry = NULL;

    (void)state;
    bench_init(&bench, &POD_ENGINE, &engine.base);
    see_pod(&engine, KUBE_EVENT_ADDED, "p", "100");
    entry = record_find_pod(bench_find(&bench, "item"), "p");
    entry->is_ended = true;
    see_pod(&engine, KUBE_EVENT_MODIFIED, "p", "50");
    assert_int_equal(entry->version, 100);
    engine.is_synced = true;
    send_event(&engine, KUBE_EVENT_REWOUND);
    assert_false(engine.is_synced); /* no decisions before the next list */
    see_pod(&engine, KUBE_EVENT_LISTED, "p", "50");
    assert_int_equal(entry->version, 50);
    assert_false(entry->is_ended);
    bench_done(&bench);
}

static void the_record_of_an_unknown_item_is_freed_with_its_last_pod(void **state)
{
    struct pod_engine engine = {0};
    struct bench bench;

    (void)state;
    bench_init(&bench, &POD_ENGINE, &engine.base);
    see_pod(&engine, KUBE_EVENT_ADDED, "p", "1");
    assert_non_null(bench_find(&bench, "item"));
    see_pod(&engine, KUBE_EVENT_DELETED, "p", "1");
    assert_null(bench_find(&bench, "item"));
    bench_done(&bench);
}

/* Started at the bench's 1000 s, with a timeout of ten seconds. */
static struct task *see_begun(struct bench *bench)
{
    cleanup_json json_t *object = sample_doc(
        "{metadata: {name: item, namespace: ns, uid: a, resourceVersion: '1', generation: 1}, "
        "spec: "
        "{type: " DEPLOY_ITEM_TYPE_CONTAINER ", timeout: 10s}, status: {jobID: job, phase: "
        "Progressing, transitionTimes: {initTime: '1970-01-01T00:16:40Z'}}}");

    observe_item_event(&bench->source, KUBE_EVENT_MODIFIED, object, NULL);
    return bench_find(bench, "item")->task;
}

#define UNSCHEDULABLE "conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]"
#define PULLED_IN_VAIN(list_, name_)                                                               \
    list_ ": [{name: " name_ ", state: {waiting: {reason: ErrImagePull}}}]"

static const struct {
    const char *status;
    bool is_new, has_grace;
} problems[] = {
    {UNSCHEDULABLE, true, false},
    {PULLED_IN_VAIN("initContainerStatuses", "init"), true, true},
    {PULLED_IN_VAIN("initContainerStatuses", "init"), false, true},
    {PULLED_IN_VAIN("initContainerStatuses", "istio-init"), true, true},
    {PULLED_IN_VAIN("containerStatuses", "main"), true, true},
    {"containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerError}}}]", false,
     true},
    {UNSCHEDULABLE, true, false},
};

static void each_problem_gets_a_full_grace_period(void **state)
{
    enum { GRACE_MS = 60 * 1000, STEP_MS = 1000 };
    struct pod_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;
    struct pod_entry *entry = NULL;
    int64_t since = 0;

    (void)state;
    bench_init(&bench, &POD_ENGINE, &engine.base);
    bench.config.is_container_enabled = true;
    bench.config.image_grace_ms = GRACE_MS;
    task = see_begun(&bench);
    entry = record_add_pod(task->record, "pod");
    for (size_t i = 0; i < array_length(problems); i++) {
        cleanup_free char *text = xasprintf("{status: {phase: Pending, %s}}", problems[i].status);
        cleanup_pod_verdict struct pod_verdict verdict = {0};

        clock_fake_advance(&bench.clock, STEP_MS);
        json_decref(entry->pod);
        entry->pod = sample_doc(text);
        if (problems[i].is_new)
            since = task_now_unix_ms(task);
        pod_entry_judge(entry, task, &verdict);
        assert_int_equal(verdict.outcome, POD_STUCK);
        assert_int_equal(verdict.give_up_unix_ms, problems[i].has_grace ? since + GRACE_MS : -1);
    }
    bench_done(&bench);
}

static void pods_belong_to_their_record(void **state)
{
    struct engine engine = {.class = &POD_ENGINE};
    struct engine *const engines[] = {&engine};
    struct index *index = index_new(engines);
    struct record *record = index_add(index, "n", "x");
    struct pod_entry *one = record_add_pod(record, "one"), *two = record_add_pod(record, "two");

    (void)state;
    one->pod = json_object();
    assert_ptr_equal(record_add_pod(record, "one"), one);
    assert_ptr_equal(record_find_pod(record, "two"), two);
    record_remove_pod(record, one);
    assert_null(record_find_pod(record, "one"));
    assert_ptr_equal(record_pods(record), two);
    index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_of_an_aborted_list_that_is_missing_in_the_next_is_gone),
        cmocka_unit_test(a_pod_can_be_ended_again_after_an_etcd_restore),
        cmocka_unit_test(the_record_of_an_unknown_item_is_freed_with_its_last_pod),
        cmocka_unit_test(each_problem_gets_a_full_grace_period),
        cmocka_unit_test(pods_belong_to_their_record),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
