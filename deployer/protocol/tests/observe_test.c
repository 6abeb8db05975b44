/* SPDX-License-Identifier: Apache-2.0 */
/* What the watches tell, and what is left in the index: no server, and nobody leads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/gc.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/task.h"
#include "deployer/tests/sample.h"

struct bench {
    struct clock_fake clock;
    struct deployer_config config;
    char identity[8];
    struct controller controller;
};

static void bench_init(struct bench *bench)
{
    struct error err = {0};

    *bench = (struct bench){.config = {.is_electing = true}, .identity = "test"};
    bench->config.identity = bench->identity;
    clock_fake_init(&bench->clock, 1000 * 1000);
    bench->controller.config = &bench->config;
    bench->controller.index = index_new();
    assert_int_equal(loop_new(&bench->clock.clock, &bench->controller.loop, &err), 0);
    loop_timer_init(&bench->controller.pump_timer, bench->controller.loop, controller_on_pump,
                    &bench->controller);
    bench->controller.gc = gc_new(&bench->controller);
}

static void free_task(void *data, struct record *record)
{
    (void)data;
    task_free(record->task);
}

static void bench_done(struct bench *bench)
{
    index_each(bench->controller.index, free_task, NULL);
    gc_free(bench->controller.gc);
    loop_timer_stop(&bench->controller.pump_timer);
    index_free(bench->controller.index);
    loop_free(bench->controller.loop);
}

static void tell_item(struct bench *bench, enum kube_event event, const char *name,
                      const char *version)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: %s, namespace: ns, uid: uid-%s, resourceVersion: '%s'}, spec: "
                  "{type: landscaper.gardener.cloud/container, context: c%s}, status: {jobID: j}}",
                  name, name, version, version);
    cleanup_json json_t *object = sample_doc(text);

    observe_item_event(&bench->controller, event, object, NULL);
}

static void tell_pod(struct bench *bench, enum kube_event event, const char *name,
                     const char *version)
{
    cleanup_free char *text =
        xasprintf("{metadata: {name: %s, uid: uid-%s, resourceVersion: '%s', annotations: "
                  "{" ANNOTATION_ITEM_NAME ": item, " ANNOTATION_ITEM_NAMESPACE ": ns}}}",
                  name, name, version);
    cleanup_json json_t *object = sample_doc(text);

    observe_pod_event(&bench->controller, event, object, NULL);
}

static void tell(struct bench *bench, kube_watch_fn *observe, enum kube_event event)
{
    struct error err = {0};

    (void)error_set(&err, ERROR_TEMPORARY, "broken");
    observe(&bench->controller, event, NULL, event == KUBE_EVENT_BROKEN ? &err : NULL);
}

static struct record *find(const struct bench *bench, const char *name)
{
    return index_find(bench->controller.index, "ns", name);
}

static bool is_known(const struct bench *bench, const char *name)
{
    return find(bench, name) && find(bench, name)->is_known;
}

static void an_item_of_a_list_that_broke_off_and_not_of_the_next_is_gone(void **state)
{
    struct bench bench;

    (void)state;
    bench_init(&bench);
    tell(&bench, observe_item_event, KUBE_EVENT_LISTING);
    tell_item(&bench, KUBE_EVENT_LISTED, "a", "1");
    tell(&bench, observe_item_event, KUBE_EVENT_BROKEN);
    tell(&bench, observe_item_event, KUBE_EVENT_LISTING);
    tell_item(&bench, KUBE_EVENT_LISTED, "b", "2");
    tell(&bench, observe_item_event, KUBE_EVENT_SYNCED);
    assert_false(is_known(&bench, "a"));
    assert_true(find(&bench, "a")->task->is_gone_sure);
    assert_true(is_known(&bench, "b"));
    /* What a stream tells of is not in doubt before the next list. */
    tell_item(&bench, KUBE_EVENT_ADDED, "c", "3");
    assert_true(is_known(&bench, "c"));
    tell(&bench, observe_item_event, KUBE_EVENT_LISTING);
    tell(&bench, observe_item_event, KUBE_EVENT_SYNCED);
    assert_int_equal(index_count(bench.controller.index), 0);
    bench_done(&bench);
}

static void a_pod_of_a_list_that_broke_off_and_not_of_the_next_is_gone(void **state)
{
    struct bench bench;

    (void)state;
    bench_init(&bench);
    tell(&bench, observe_pod_event, KUBE_EVENT_LISTING);
    tell_pod(&bench, KUBE_EVENT_LISTED, "a", "1");
    tell(&bench, observe_pod_event, KUBE_EVENT_BROKEN);
    tell(&bench, observe_pod_event, KUBE_EVENT_LISTING);
    tell_pod(&bench, KUBE_EVENT_LISTED, "b", "2");
    tell(&bench, observe_pod_event, KUBE_EVENT_SYNCED);
    assert_null(record_find_pod(find(&bench, "item"), "a"));
    assert_non_null(record_find_pod(find(&bench, "item"), "b"));
    bench_done(&bench);
}

static void what_a_server_tells_that_was_put_back_is_not_too_old(void **state)
{
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench);
    tell_item(&bench, KUBE_EVENT_ADDED, "item", "100");
    task = find(&bench, "item")->task;
    tell_item(&bench, KUBE_EVENT_MODIFIED, "item", "50");
    assert_string_equal(task->item->context, "c100");
    assert_true(observe_item_is_known(&bench.controller, "ns", "item", "100"));
    task->is_pod_absence_sure = true;
    bench.controller.is_items_synced = true;
    tell(&bench, observe_item_event, KUBE_EVENT_REWOUND);
    assert_false(bench.controller.is_items_synced); /* nothing is collected before the list */
    assert_false(task->is_pod_absence_sure);
    /* The version is given out for the second time, to something else. */
    assert_false(observe_item_is_known(&bench.controller, "ns", "item", "100"));
    tell_item(&bench, KUBE_EVENT_LISTED, "item", "50");
    assert_string_equal(task->item->context, "c50");
    assert_true(observe_item_is_known(&bench.controller, "ns", "item", "50"));
    bench_done(&bench);
}

static void a_pod_whose_end_was_undone_can_be_ended_again(void **state)
{
    struct bench bench;
    struct pod_entry *entry = NULL;

    (void)state;
    bench_init(&bench);
    tell_pod(&bench, KUBE_EVENT_ADDED, "p", "100");
    entry = record_find_pod(find(&bench, "item"), "p");
    entry->is_ended = true;
    tell_pod(&bench, KUBE_EVENT_MODIFIED, "p", "50");
    assert_int_equal(entry->version, 100);
    bench.controller.is_pods_synced = true;
    tell(&bench, observe_pod_event, KUBE_EVENT_REWOUND);
    assert_false(bench.controller.is_pods_synced); /* nor is anything decided */
    tell_pod(&bench, KUBE_EVENT_LISTED, "p", "50");
    assert_int_equal(entry->version, 50);
    assert_false(entry->is_ended);
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_of_a_list_that_broke_off_and_not_of_the_next_is_gone),
        cmocka_unit_test(a_pod_of_a_list_that_broke_off_and_not_of_the_next_is_gone),
        cmocka_unit_test(what_a_server_tells_that_was_put_back_is_not_too_old),
        cmocka_unit_test(a_pod_whose_end_was_undone_can_be_ended_again),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
