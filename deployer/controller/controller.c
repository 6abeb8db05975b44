/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/controller.h"

#include "common/base/log.h"
#include "deployer/controller/gc.h"
#include "deployer/controller/task.h"

int64_t controller_now_unix_ms(const struct controller *controller)
{
    return clock_unix_ms(loop_clock(controller->loop));
}

bool controller_may_write(const struct controller *controller)
{
    return !controller->config->is_electing ||
           (controller->lease && lease_is_held(controller->lease));
}

/* Without the pods nobody knows what runs already; items are taken up as they are listed. */
static bool is_ready(const struct controller *controller)
{
    return controller->is_pods_synced && !controller->is_draining &&
           controller_may_write(controller);
}

static struct task *take_first(struct controller *controller)
{
    struct task *task = controller->queue_first;

    controller->queue_first = task->queue_next;
    if (!controller->queue_first)
        controller->queue_last = NULL;
    controller->queue_length--;
    task->is_queued = false;
    return task;
}

void controller_on_pump(void *data)
{
    struct controller *controller = data;

    while (controller->queue_first && controller->running < CONTROLLER_RUNNING_MAX &&
           is_ready(controller)) {
        struct task *task = take_first(controller);

        metrics_count_queue(&controller->metrics, loop_now_ms(controller->loop) - task->queued_ms);
        task_decide(task);
    }
    if (controller->is_draining && controller->running == 0)
        loop_stop(controller->loop);
}

void controller_pump(struct controller *controller)
{
    if (!loop_timer_is_running(&controller->pump_timer))
        loop_timer_start(&controller->pump_timer, 0);
}

static void touch(void *data, struct record *record)
{
    struct controller *controller = data;

    if (record->task)
        task_wake(record->task);
    else if (record->pods && record->is_known && record->is_finished)
        task_offer(controller, record, NULL);
}

void controller_touch_all(struct controller *controller)
{
    index_each(controller->index, touch, controller);
    controller_pump(controller);
    if (controller->gc)
        gc_prompt(controller->gc);
}
