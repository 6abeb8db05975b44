/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture: a controller without servers. Tests pass events to it; it is not the leader, so it sends
 * nothing. Its engine is provided by the test and not started. */
#pragma once

#include <stdlib.h>

#include "common/base/memory.h"
#include "deployer/protocol/observe.h"
#include "deployer/protocol/task.h"
#include "deployer/tests/sample.h"

struct bench {
    struct clock_fake clock;
    struct deployer_config config;
    char identity[8];
    struct controller controller;
    struct item_source source;
};

static inline void bench_init(struct bench *bench, const struct engine_class *class,
                              struct engine *engine)
{
    struct controller *controller = &bench->controller;
    struct error err = {0};

    *bench = (struct bench){.identity = "test", .source = {.controller = controller, .epoch = 1}};
    controller->sources = &bench->source;
    controller->source_count = 1;
    bench->config.identity = bench->identity;
    clock_fake_init(&bench->clock, 1000 * 1000);
    controller->config = &bench->config;
    controller->is_electing = controller->is_locking = true;
    controller->engines[0] = engine;
    controller->engine_count = 1;
    controller->index = index_new(controller->engines);
    engine->class = class;
    engine->controller = controller;
    if (loop_new(&bench->clock.clock, &controller->loop, &err) < 0)
        abort();
    loop_timer_init(&controller->pump_timer, controller->loop, controller_on_pump, controller);
}

static inline void bench_free_task(void *data, struct record *record)
{
    (void)data;
    task_free(record->task);
}

static inline void bench_done(struct bench *bench)
{
    index_each(bench->controller.index, bench_free_task, NULL);
    loop_timer_stop(&bench->controller.pump_timer);
    index_free(bench->controller.index);
    loop_free(bench->controller.loop);
}

static inline struct record *bench_find(const struct bench *bench, const char *name)
{
    return index_find(bench->controller.index, "ns", name);
}

/* Passes the watch event of an item "name" in the namespace "ns" to the controller. */
static inline void bench_see_item(struct bench *bench, enum kube_event event, const char *name,
                                  const char *uid, const char *version, const char *spec)
{
    cleanup_free char *text = xasprintf(
        "{metadata: {name: %s, namespace: ns, uid: %s, resourceVersion: '%s', "
        "generation: %s}, spec: {type: " DEPLOY_ITEM_TYPE_CONTAINER ", %s}, status: {jobID: job}}",
        name, uid, version, version, spec);
    cleanup_json json_t *object = sample_doc(text);

    observe_item_event(&bench->source, event, object, NULL);
}

/* Passes an event without an object. */
static inline void bench_tell(void *data, kube_watch_fn *watch, enum kube_event event)
{
    struct error err = {0};

    (void)error_set(&err, ERROR_TEMPORARY, "broken");
    watch(data, event, NULL, event == KUBE_EVENT_BROKEN ? &err : NULL);
}
