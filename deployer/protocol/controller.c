/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/controller.h"

#include "common/base/log.h"
#include "deployer/protocol/election.h"
#include "deployer/protocol/task.h"

int64_t controller_now_unix_ms(const struct controller *controller)
{
    return clock_unix_ms(loop_clock(controller->loop));
}

bool controller_may_write(const struct controller *controller)
{
    return !controller->is_electing ||
           (controller->election && election_is_won(controller->election));
}

bool controller_may_send(const void *data)
{
    return controller_may_write(data);
}

/* ---- Engines ---- */

int controller_add_engine(struct controller *controller, const struct engine_class *class,
                          struct error *err)
{
    struct engine *engine = NULL;

    if (controller->engine_count == CONTROLLER_ENGINES_MAX)
        return error_set(err, ERROR_INTERNAL, "too many engines");
    if (class->start(controller, &engine, err) < 0) {
        if (engine)
            class->free(engine);
        return -1;
    }
    engine->class = class;
    engine->controller = controller;
    engine->number = controller->engine_count;
    controller->engines[controller->engine_count++] = engine;
    return 0;
}

struct engine *controller_engine_for(const struct controller *controller, const char *type)
{
    for (size_t i = 0; i < controller->engine_count; i++) {
        struct engine *engine = controller->engines[i];

        if (engine->class->serves(controller->config, type))
            return engine;
    }
    return NULL;
}

bool controller_is_synced(const struct controller *controller)
{
    for (size_t i = 0; i < controller->engine_count; i++) {
        const struct engine *engine = controller->engines[i];

        if (engine->class->is_synced && !engine->class->is_synced(engine))
            return false;
    }
    return true;
}

/* ---- The queue ---- */

/* Before all executions are known it is unknown what is already running. Items need not all be
 * known: they are picked up while they are being listed. */
static bool is_ready(const struct controller *controller)
{
    return controller_is_synced(controller) && !controller->is_draining &&
           controller_may_write(controller);
}

static bool has_room(const struct controller *controller)
{
    size_t asleep = kube_sleeping_count(controller->host);

    if (controller->landscaper != controller->host)
        asleep += kube_sleeping_count(controller->landscaper);
    return controller->running < CONTROLLER_RUNNING_MAX &&
           controller->running < CONTROLLER_AWAKE_MAX + asleep;
}

void controller_on_pump(void *data)
{
    struct controller *controller = data;

    while (controller->queue.length > 0 && is_ready(controller) && has_room(controller)) {
        struct task *task = queue_take(&controller->queue);

        metrics_count_queue(&controller->metrics, loop_now_ms(controller->loop) - task->queued_ms);
        task_decide(task);
    }
    /* There is no event for a request that begins to wait for its retry, nor for a lease that was
     * too old for a moment. */
    if (controller->queue.length > 0 && !controller->is_draining &&
        !loop_timer_is_running(&controller->pump_timer))
        loop_timer_start(&controller->pump_timer, CONTROLLER_LOOK_AGAIN_MS);
    if (controller->is_draining && controller->running == 0)
        loop_stop(controller->loop);
}

void controller_pump(struct controller *controller)
{
    loop_timer_start(&controller->pump_timer, 0);
}

void controller_lead_lost(struct controller *controller)
{
    for (size_t i = 0; i < controller->engine_count; i++) {
        struct engine *engine = controller->engines[i];

        if (engine->class->lead_lost)
            engine->class->lead_lost(engine);
    }
}

static void touch(void *data, struct record *record)
{
    task_wake_record(data, record);
}

void controller_touch_all(struct controller *controller)
{
    index_each(controller->index, touch, controller);
    controller_pump(controller);
    for (size_t i = 0; i < controller->engine_count; i++) {
        struct engine *engine = controller->engines[i];

        if (engine->class->collect)
            engine->class->collect(engine);
    }
}
