/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/task.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/observe.h"

/* ---- Life ---- */

static void on_timer(void *data)
{
    task_wake(data);
}

static struct task *task_new(struct controller *controller, struct record *record)
{
    struct task *task = xcalloc(1, sizeof(*task));

    task->controller = controller;
    task->record = record;
    loop_timer_init(&task->timer, controller->loop, on_timer, task);
    retry_init(&task->retry, CONTROLLER_RETRY_FIRST_MS, CONTROLLER_RETRY_MAX_MS);
    retry_init(&task->hold, CONTROLLER_RETRY_FIRST_MS, CONTROLLER_RETRY_MAX_MS);
    record->task = task;
    controller->open_jobs++;
    return task;
}

void task_inputs_done(struct task *task)
{
    struct task_inputs *inputs = &task->inputs;

    json_decref(inputs->target_object);
    wipe_free(inputs->target_file);
    json_decref(inputs->context);
    json_decref(inputs->ocm_config_map);
    json_decref(inputs->docker_configs);
    json_decref(inputs->pull_secrets);
    state_set_done(&inputs->state);
    run_spec_free(inputs->run);
    pod_objects_done(&inputs->objects);
    free(inputs->access_mark);
    *inputs = (struct task_inputs){0};
}

/* What only the chain under way needed. */
static void chain_done(struct task *task)
{
    kube_cancel(task->call);
    kube_list_cancel(task->list);
    task->call = NULL;
    task->list = NULL;
    hidden_done(&task->hidden);
    state_reading_free(task->state_reading);
    task->state_reading = NULL;
    json_decref(task->log);
    json_decref(task->lock);
    json_decref(task->ending);
    json_decref(task->wanted);
    task->log = task->lock = task->ending = task->wanted = NULL;
    free(task->log_tail);
    free(task->pod_name);
    free(task->former_id);
    task->log_tail = task->pod_name = task->former_id = NULL;
    task->is_event_due = task->is_changed = task->is_last = task->is_least = false;
    task->step = 0;
    if (task->is_running)
        task->controller->running--;
    task->is_running = false;
}

void task_set_held(struct task *task, bool is_held)
{
    if (task->is_held == is_held)
        return;
    task->is_held = is_held;
    task->controller->held_items += is_held ? 1 : (size_t)-1;
}

void task_free(struct task *task)
{
    if (!task)
        return;
    task_set_held(task, false);
    queue_remove(&task->controller->queue, task);
    chain_done(task);
    loop_timer_stop(&task->timer);
    task_inputs_done(task);
    task_clear_fault(task);
    item_free(task->item);
    object_names_done(&task->names);
    free(task->names_job);
    free(task->access_mark);
    task->record->task = NULL;
    task->controller->open_jobs--;
    free(task);
}

/* Nothing is left to be done: the record alone remembers the item. */
static void task_retire(struct task *task)
{
    struct controller *controller = task->controller;
    struct record *record = task->record;

    task_free(task);
    if (!record->is_known && !record->pods)
        index_remove(controller->index, record);
}

/* ---- Being told ---- */

void task_wake(struct task *task)
{
    struct controller *controller = task->controller;

    if (task->is_running || task->place.is_taken)
        return;
    loop_timer_stop(&task->timer);
    task->queued_ms = loop_now_ms(controller->loop);
    queue_add(&controller->queue, task, task->record->pods ? QUEUE_BEGUN : QUEUE_NEW);
    controller_pump(controller);
}

void task_restart_later(struct task *task)
{
    if (task->is_running)
        task->is_changed = true;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether a chain that was decided on with a can go on with b. */
static bool is_same_order(const struct item *a, const struct item *b)
{
    return is_same_text(a->uid, b->uid) && is_same_text(a->job, b->job) &&
           is_same_text(a->job_finished, b->job_finished) && a->generation == b->generation &&
           a->is_deleting == b->is_deleting && a->is_force_cleanup == b->is_force_cleanup &&
           a->is_delete_without_uninstall == b->is_delete_without_uninstall &&
           is_same_text(a->operation, b->operation);
}

/* A new job, or another spec: what was learnt for the one before does not count. */
static void forget(struct task *task)
{
    task->target = TARGET_UNKNOWN;
    task->history = RUN_UNKNOWN;
    task->is_pod_absence_sure = task->is_gone_sure = false;
    task->is_cleaned = task->is_log_late = false;
    task->lock_retry_unix_ms = task->retry_unix_ms = task->hold_unix_ms = 0;
    task->reported_unix_ms = 0;
    retry_reset(&task->retry);
    retry_reset(&task->hold);
    task_clear_fault(task);
    task_inputs_done(task);
}

void task_start_over(struct task *task)
{
    forget(task);
    task_restart_later(task);
    task_wake(task);
}

static void start_clock(struct task *task)
{
    task->since_unix_ms = controller_now_unix_ms(task->controller);
    task->since_ms = loop_now_ms(task->controller->loop);
}

int64_t task_now_unix_ms(const struct task *task)
{
    return task->since_unix_ms + (int64_t)(loop_now_ms(task->controller->loop) - task->since_ms);
}

static void set_names(struct task *task)
{
    const char *id = task->item ? task->item->job : "";

    if (task->names_job && strcmp(task->names_job, id) == 0)
        return;
    free(task->names_job);
    task->names_job = xstrdup(id);
    object_names_done(&task->names);
    object_names_init(&task->names, task->record->namespace_name, task->record->name, id);
}

static void set_item(struct task *task, struct item *item)
{
    struct record *record = task->record;

    item_free(task->item);
    task->item = item;
    if (item) {
        record->has_job = *item->job != '\0';
        record->is_finished = item_is_finished(item);
    }
    set_names(task);
}

void task_offer(struct controller *controller, struct record *record, struct item *item)
{
    struct task *task = record->task;
    bool is_new = !task;

    if (item) {
        record->has_job = *item->job != '\0';
        record->is_finished = item_is_finished(item);
    }
    if (!task && (!item || record->is_finished) && !record->pods) {
        item_free(item);
        if (!record->is_known)
            index_remove(controller->index, record);
        return;
    }
    if (!task)
        task = task_new(controller, record);
    if (is_new || !item || !task->item || !is_same_order(task->item, item)) {
        if (!item || !task->item || strcmp(task->item->job, item->job) != 0)
            start_clock(task);
        forget(task);
        task_restart_later(task);
    }
    set_item(task, item);
    task_wake(task);
}

bool task_take_item(struct task *task, const json_t *object)
{
    struct item *item = NULL;
    struct error err = {0};

    if (item_parse(object, &item, &err) < 0) {
        log_error("an answer holds no item", log_text("error", err.text));
        return true;
    }
    if (!is_same_text(item->uid, task->record->uid)) {
        item_free(item);
        return false;
    }
    /* The watch may have told of something newer already. */
    if (object_version(object) < task->record->version || !task->record->is_known) {
        item_free(item);
        return true;
    }
    task->record->version = object_version(object);
    set_item(task, item);
    return true;
}

/* ---- The chain ---- */

/* Another process leads now, or we do again already: it is looked at once more. */
static void give_up(struct task *task)
{
    chain_done(task);
    task_wake(task);
}

static void on_answer(void *data, json_t *object, const struct error *err)
{
    struct task *task = data;

    task->call = NULL;
    if (err->kind == ERROR_CANCELLED) {
        give_up(task);
        return;
    }
    /* The watch often tells of our own last write before the answer does. */
    if (task->is_changed && !task->is_last) {
        task_done(task);
        return;
    }
    task->next(task, object, err);
}

static bool is_write(enum kube_verb verb)
{
    return verb != KUBE_GET && verb != KUBE_LIST;
}

void task_request(struct task *task, struct kube *kube, struct kube_request *request,
                  task_next_fn *next)
{
    struct error err = {0};

    /* Asked here and nowhere else, so that no write can forget it; and again before each try. */
    if (is_write(request->verb)) {
        if (!controller_may_write(task->controller)) {
            give_up(task);
            return;
        }
        request->may_send = controller_may_send;
        request->may_send_data = task->controller;
    }
    if (request->verb != KUBE_DELETE)
        request->grace_seconds = -1;
    /* An item that can't be read is failed, cleaned up or left alone as any other. */
    request->is_reducible = strcmp(request->resource.plural, KUBE_DEPLOY_ITEMS.plural) == 0;
    request->on_done = on_answer;
    request->data = task;
    task->next = next;
    if (kube_start(kube, request, &task->call, &err) < 0) {
        task->call = NULL;
        next(task, NULL, &err);
    }
}

void task_done(struct task *task)
{
    struct controller *controller = task->controller;

    metrics_count_action(&controller->metrics, task->action, true,
                         loop_now_ms(controller->loop) - task->begun_ms);
    chain_done(task);
    retry_reset(&task->hold);
    task_wake(task);
}

static void log_trouble(const struct task *task, const char *what, const struct error *err,
                        uint32_t delay_ms)
{
    log_error(what, log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item ? task->item->job : ""),
              log_text("action", action_name(task->action)), log_text("error", err->text),
              log_number("retryMs", delay_ms));
}

int64_t task_deadline_unix_ms(const struct task *task)
{
    return task_phase_of(task->item) == JOB_IDLE ? -1 : item_deadline_unix_ms(task->item);
}

/* The back-off, but for one more try when the job's time is over: that is told in time if it can
 * be told at all. */
static uint32_t hold_ms(struct task *task, const struct error *err)
{
    uint32_t delay_ms = retry_next_ms(&task->hold, err);
    int64_t deadline = task->item ? task_deadline_unix_ms(task) : -1;
    int64_t left_ms = deadline - task_now_unix_ms(task);

    if (deadline < 0 || left_ms <= 0 || left_ms >= delay_ms)
        return delay_ms;
    return left_ms > err->retry_after_ms ? (uint32_t)left_ms : err->retry_after_ms;
}

void task_hold(struct task *task, const char *what, const struct error *err)
{
    struct controller *controller = task->controller;
    uint32_t delay_ms = hold_ms(task, err);

    log_trouble(task, what, err, delay_ms);
    metrics_count_action(&controller->metrics, task->action, false,
                         loop_now_ms(controller->loop) - task->begun_ms);
    task->hold_unix_ms = task_now_unix_ms(task) + delay_ms;
    chain_done(task);
    task_wake(task);
}

void task_clear_fault(struct task *task)
{
    free(task->fault.operation);
    free(task->fault.reason);
    free(task->fault.message);
    task->fault = (struct task_fault){.state = FAULT_NONE};
}

static bool is_lasting(enum error_kind kind)
{
    return kind == ERROR_INVALID || kind == ERROR_TOO_LARGE;
}

void task_set_fault(struct task *task, const char *operation, const char *reason,
                    const struct error *err, const char *code)
{
    struct controller *controller = task->controller;
    struct task_fault *fault = &task->fault;
    bool is_known = fault->state != FAULT_NONE && is_same_text(fault->operation, operation) &&
                    is_same_text(fault->reason, reason) && is_same_text(fault->message, err->text);
    uint32_t delay_ms = retry_next_ms(&task->retry, err);

    if (!is_known) {
        task_clear_fault(task);
        fault->operation = xstrdup(operation);
        fault->reason = xstrdup(reason);
        fault->message = xstrdup(err->text);
    }
    fault->code = code;
    if (!code && is_lasting(err->kind))
        fault->code = CODE_CONFIGURATION_PROBLEM;
    fault->state = fault->code ? FAULT_FINAL : is_known ? FAULT_REPORTED : FAULT_NEW;
    log_trouble(task, "the job is held up", err, delay_ms);
    metrics_count_action(&controller->metrics, task->action, false,
                         loop_now_ms(controller->loop) - task->begun_ms);
    task->retry_unix_ms = task_now_unix_ms(task) + delay_ms;
    task->target = TARGET_UNKNOWN;
    task_inputs_done(task);
    chain_done(task);
    task_wake(task);
}

/* ---- Deciding ---- */

static void sleep_until(struct task *task, int64_t wake_unix_ms)
{
    int64_t delay_ms = wake_unix_ms - task_now_unix_ms(task);

    if (wake_unix_ms < 0)
        return;
    loop_timer_start(&task->timer, delay_ms > 1 ? (uint64_t)delay_ms : 1);
}

void task_decide(struct task *task)
{
    struct controller *controller = task->controller;
    struct observed observed = {0};
    struct decision decision = {0};

    observe_task(task, &observed);
    decision = decide(&observed, task_now_unix_ms(task));
    if (decision.action == ACTION_NONE) {
        task_retire(task);
        return;
    }
    if (decision.action == ACTION_WAIT) {
        sleep_until(task, decision.wake_unix_ms);
        return;
    }
    log_debug("action", log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item ? task->item->job : ""),
              log_text("action", action_name(decision.action)));
    task->action = decision.action;
    task->cause = decision.cause;
    task->begun_ms = loop_now_ms(controller->loop);
    task->is_running = true;
    task->is_changed = false;
    controller->running++;
    act_run(task);
}
