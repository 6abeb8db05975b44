/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/controller.h"

#include "common/base/log.h"
#include "deployer/controller/gc.h"
#include "deployer/controller/task.h"
#include "deployer/pod/docker_files.h"

int64_t controller_now_unix_ms(const struct controller *controller)
{
    return clock_unix_ms(loop_clock(controller->loop));
}

bool controller_may_write(const struct controller *controller)
{
    return !controller->config->is_electing ||
           (controller->lease && lease_is_held(controller->lease));
}

bool controller_may_send(const void *data)
{
    return controller_may_write(data);
}

/* Without the pods nobody knows what runs already; items are taken up as they are listed. */
static bool is_ready(const struct controller *controller)
{
    return controller->is_pods_synced && !controller->is_draining &&
           controller_may_write(controller);
}

static bool has_room(const struct controller *controller)
{
    size_t asleep = kube_asleep(controller->host);

    if (controller->landscaper != controller->host)
        asleep += kube_asleep(controller->landscaper);
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
    /* A request that falls asleep tells nobody, and a lease that was too old for a moment neither.
     */
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

static void tell_docker_config(void *data, const struct docker_config_trouble *trouble)
{
    (void)data;
    log_error("a registry credential can't be used", log_text("file", trouble->file),
              log_text("entry", trouble->entry ? trouble->entry : ""),
              log_text("error", trouble->why));
}

json_t *controller_docker_configs(struct controller *controller)
{
    const json_t *configs = docker_files_now(controller->docker_files, tell_docker_config, NULL);

    return json_copy((json_t *)(uintptr_t)configs);
}
