/* SPDX-License-Identifier: Apache-2.0 */
/* How watch events on items change the index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deployer/protocol/tests/bench.h"
#include "deployer/protocol/tests/fake_engine.h"

static void see(struct bench *bench, enum kube_event event, const char *name, const char *version)
{
    cleanup_free char *uid = xasprintf("uid-%s", name);
    cleanup_free char *spec = xasprintf("context: c%s", version);

    bench_see_item(bench, event, name, uid, version, spec);
}

static void tell(struct bench *bench, enum kube_event event)
{
    bench_tell(&bench->source, observe_item_event, event);
}

static bool is_known(const struct bench *bench, const char *name)
{
    return bench_find(bench, name) && bench_find(bench, name)->is_known;
}

static void an_item_of_an_aborted_list_that_is_missing_in_the_next_is_gone(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    tell(&bench, KUBE_EVENT_LISTING);
    see(&bench, KUBE_EVENT_LISTED, "a", "1");
    tell(&bench, KUBE_EVENT_BROKEN);
    tell(&bench, KUBE_EVENT_LISTING);
    see(&bench, KUBE_EVENT_LISTED, "b", "2");
    tell(&bench, KUBE_EVENT_SYNCED);
    assert_false(is_known(&bench, "a"));
    assert_true(bench_find(&bench, "a")->task->known.is_gone_sure);
    assert_true(is_known(&bench, "b"));
    /* An item from the stream is kept until the next list. */
    see(&bench, KUBE_EVENT_ADDED, "c", "3");
    assert_true(is_known(&bench, "c"));
    tell(&bench, KUBE_EVENT_LISTING);
    tell(&bench, KUBE_EVENT_SYNCED);
    assert_int_equal(index_count(bench.controller.index), 0);
    bench_done(&bench);
}

/* Their lists begin and end at any time. */
static void the_list_of_one_namespace_says_nothing_about_items_of_another(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct item_source sources[2];

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    sources[0] = (struct item_source){.controller = &bench.controller, .namespace_name = "ns"};
    sources[1] = (struct item_source){.controller = &bench.controller, .namespace_name = "other"};
    bench.controller.sources = sources;
    bench.controller.source_count = array_length(sources);
    bench.source = sources[0]; /* of see() and tell() */
    tell(&bench, KUBE_EVENT_LISTING);
    see(&bench, KUBE_EVENT_LISTED, "a", "1");
    bench_tell(&sources[1], observe_item_event, KUBE_EVENT_LISTING);
    bench_tell(&sources[1], observe_item_event, KUBE_EVENT_SYNCED);
    assert_true(is_known(&bench, "a"));
    assert_false(bench.controller.is_items_synced);
    sources[0] = bench.source;
    bench_tell(&sources[0], observe_item_event, KUBE_EVENT_SYNCED);
    assert_true(is_known(&bench, "a"));
    assert_true(bench.controller.is_items_synced);
    /* After a restore the list of this namespace is missing again. */
    bench_tell(&sources[1], observe_item_event, KUBE_EVENT_REWOUND);
    assert_false(bench.controller.is_items_synced);
    bench_tell(&sources[0], observe_item_event, KUBE_EVENT_LISTING);
    bench_tell(&sources[0], observe_item_event, KUBE_EVENT_SYNCED);
    assert_false(is_known(&bench, "a"));
    assert_false(bench.controller.is_items_synced);
    bench_done(&bench);
}

static void an_older_version_is_accepted_after_an_etcd_restore(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    struct task *task = NULL;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    see(&bench, KUBE_EVENT_ADDED, "item", "100");
    task = bench_find(&bench, "item")->task;
    see(&bench, KUBE_EVENT_MODIFIED, "item", "50");
    assert_string_equal(task->item->context, "c100");
    assert_true(observe_item_is_known(&bench.source, "ns", "item", "100"));
    task->known.target = TARGET_KNOWN;
    bench.controller.is_items_synced = true;
    tell(&bench, KUBE_EVENT_REWOUND);
    assert_false(bench.controller.is_items_synced); /* no garbage collection before the next list */
    assert_int_equal(task->known.target, TARGET_UNKNOWN);
    /* The same version can be another content now. */
    assert_false(observe_item_is_known(&bench.source, "ns", "item", "100"));
    see(&bench, KUBE_EVENT_LISTED, "item", "50");
    assert_string_equal(task->item->context, "c50");
    assert_true(observe_item_is_known(&bench.source, "ns", "item", "50"));
    bench_done(&bench);
}

static void an_item_of_a_type_that_no_engine_serves_is_ignored(void **state)
{
    struct fake_engine engine = {0};
    struct bench bench;
    cleanup_json json_t *object = sample_doc(
        "{metadata: {name: other, namespace: ns, uid: u}, spec: {type: x}, status: {jobID: j}}");

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    observe_item_event(&bench.source, KUBE_EVENT_ADDED, object, NULL);
    assert_null(bench_find(&bench, "other"));
    bench_done(&bench);
}

/* Its type was changed: the engine that tracks its execution has to end it. */
static void an_item_of_another_type_is_gone_for_the_engine_that_tracks_its_execution(void **state)
{
    struct fake_engine engine = {0};
    struct engine other = {.number = 1};
    struct bench bench;

    (void)state;
    bench_init(&bench, &FAKE_ENGINE, &engine.base);
    other.class = &FAKE_ENGINE;
    other.controller = &bench.controller;
    bench.controller.engines[1] = &other;
    see(&bench, KUBE_EVENT_ADDED, "item", "1");
    fake_track(bench_find(&bench, "item"), "job", false);
    bench_find(&bench, "item")->engine = other.number;
    see(&bench, KUBE_EVENT_MODIFIED, "item", "2");
    assert_false(is_known(&bench, "item"));
    assert_true(bench_find(&bench, "item")->task->known.is_gone_sure);
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_of_an_aborted_list_that_is_missing_in_the_next_is_gone),
        cmocka_unit_test(the_list_of_one_namespace_says_nothing_about_items_of_another),
        cmocka_unit_test(an_older_version_is_accepted_after_an_etcd_restore),
        cmocka_unit_test(an_item_of_a_type_that_no_engine_serves_is_ignored),
        cmocka_unit_test(an_item_of_another_type_is_gone_for_the_engine_that_tracks_its_execution),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
