/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/task.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/protocol/act.h"

_Static_assert((int)ACTION_COUNT <= (int)METRICS_ACTIONS_MAX, "metrics count all actions");

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
    task->engine = controller->engines[record->engine];
    if (task->engine->class->task_data_new)
        task->data = task->engine->class->task_data_new();
    loop_timer_init(&task->timer, controller->loop, on_timer, task);
    retry_init(&task->known.retry, CONTROLLER_RETRY_FIRST_MS, CONTROLLER_RETRY_MAX_MS);
    retry_init(&task->known.back_off, CONTROLLER_RETRY_FIRST_MS, CONTROLLER_RETRY_MAX_MS);
    record->task = task;
    controller->task_count++;
    return task;
}

void task_drop_target(struct task *task)
{
    struct task_target *target = &task->known.target_read;

    json_decref(target->object);
    if (target->content)
        explicit_bzero(target->content, target->content_size);
    free(target->content);
    *target = (struct task_target){0};
}

/* Frees what only the chain under way needed. */
static void chain_done(struct task *task)
{
    struct chain *chain = &task->chain;

    kube_cancel(chain->call);
    kube_list_cancel(chain->list);
    json_decref(chain->exports);
    json_decref(chain->lock);
    json_decref(chain->final_status);
    json_decref(chain->wanted);
    if (task->engine->class->chain_done)
        task->engine->class->chain_done(task);
    if (chain->is_running)
        task->controller->running--;
    *chain = (struct chain){0};
}

void task_set_owner_unknown(struct task *task, bool is_unknown)
{
    if (task->known.is_owner_unknown == is_unknown)
        return;
    task->known.is_owner_unknown = is_unknown;
    task->controller->unknown_owner_items += is_unknown ? 1 : (size_t)-1;
}

void task_free(struct task *task)
{
    if (!task)
        return;
    task_set_owner_unknown(task, false);
    queue_remove(&task->controller->queue, task);
    chain_done(task);
    loop_timer_stop(&task->timer);
    task_drop_target(task);
    task_clear_fault(task);
    if (task->engine->class->task_data_free)
        task->engine->class->task_data_free(task->data);
    item_free(task->item);
    task->record->task = NULL;
    task->controller->task_count--;
    free(task);
}

/* Nothing is left to do: only the record remembers the item. */
static void task_retire(struct task *task)
{
    struct controller *controller = task->controller;
    struct record *record = task->record;

    task_free(task);
    (void)index_drop_unused(controller->index, record);
}

/* ---- Events ---- */

static enum queue_lane lane_of(const struct task *task)
{
    if (task->engine->class->follow_up && task->record->is_finished)
        return QUEUE_FOLLOW_UP;
    return task->record->tracked || task->execution.claim == EXECUTION_OF_JOB ? QUEUE_BEGUN
                                                                              : QUEUE_NEW;
}

/* Tells the engine of a version of the item. Returns whether the item needs a task even if its job
 * is finished. */
static bool show_item(struct controller *controller, struct record *record, const struct item *item)
{
    struct engine *engine = controller->engines[record->engine];

    if (controller->listener)
        controller->listener->seen(controller->listener->data, item);
    return engine->class->item_seen ? engine->class->item_seen(engine, record, item)
                                    : record->tracked != NULL;
}

void task_wake(struct task *task)
{
    struct controller *controller = task->controller;

    if (task->chain.is_running || task->place.is_taken)
        return;
    loop_timer_stop(&task->timer);
    task->queued_ms = loop_now_ms(controller->loop);
    queue_add(&controller->queue, task, lane_of(task));
    controller_pump(controller);
}

void task_wake_record(struct controller *controller, struct record *record)
{
    /* An open item without a task is another deployer's. Before all items are listed it is unknown
     * whether an item is gone. */
    if (record->task)
        task_wake(record->task);
    else if (record->tracked && record->is_known && record->is_finished)
        task_offer(controller, record, NULL);
}

void task_restart_later(struct task *task)
{
    if (task->chain.is_running)
        task->chain.is_changed = true;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether a chain that was decided on with item a can go on with item b. */
static bool is_same_order(const struct item *a, const struct item *b)
{
    return is_same_text(a->uid, b->uid) && is_same_text(a->job, b->job) &&
           is_same_text(a->job_finished, b->job_finished) && a->generation == b->generation &&
           a->is_deleting == b->is_deleting && a->is_force_cleanup == b->is_force_cleanup &&
           a->is_delete_without_uninstall == b->is_delete_without_uninstall &&
           is_same_text(a->operation, b->operation);
}

static void update_data(struct task *task, bool is_new_order)
{
    if (task->engine->class->task_data_update)
        task->engine->class->task_data_update(task, is_new_order);
}

/* A new job or another spec: what was learnt for the one before does not count. */
static void forget(struct task *task)
{
    struct knowledge *known = &task->known;

    known->target = TARGET_UNKNOWN;
    known->is_gone_sure = known->is_cleaned = false;
    known->lock_retry_unix_ms = known->retry_unix_ms = known->back_off_unix_ms = 0;
    known->reported_unix_ms = 0;
    retry_reset(&known->retry);
    retry_reset(&known->back_off);
    task_clear_fault(task);
    task_drop_target(task);
}

void task_start_over(struct task *task)
{
    forget(task);
    update_data(task, true);
    task_restart_later(task);
    task_wake(task);
}

static void start_clock(struct task *task)
{
    task->known.since_unix_ms = controller_now_unix_ms(task->controller);
    task->known.since_ms = loop_now_ms(task->controller->loop);
}

int64_t task_now_unix_ms(const struct task *task)
{
    return task->known.since_unix_ms +
           (int64_t)(loop_now_ms(task->controller->loop) - task->known.since_ms);
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
}

/* Another process has begun this job, or the job before it ended early: its exports may have been
 * written before its status could say so. */
static bool can_have_unknown_export(const struct item *item)
{
    return job_has_begun(item) ||
           (status_is_final(item->phase) && strcmp(item->phase, PHASE_SUCCEEDED) != 0);
}

void task_offer(struct controller *controller, struct record *record, struct item *item)
{
    struct task *task = record->task;
    bool is_new_order = !task || !item || !task->item || !is_same_order(task->item, item);
    bool is_needed = record->tracked;

    if (item) {
        record->has_job = *item->job != '\0';
        record->is_finished = item_is_finished(item);
        is_needed = show_item(controller, record, item);
    }
    if (!task && (!item || record->is_finished) && !is_needed) {
        item_free(item);
        (void)index_drop_unused(controller->index, record);
        return;
    }
    if (!task) {
        task = task_new(controller, record);
        record->is_export_possible |= item && can_have_unknown_export(item);
    }
    if (is_new_order) {
        if (!item || !task->item || strcmp(task->item->job, item->job) != 0)
            start_clock(task);
        forget(task);
        task_restart_later(task);
    }
    set_item(task, item);
    update_data(task, is_new_order);
    task_wake(task);
}

bool task_take_item(struct task *task, const json_t *object)
{
    struct item *item = NULL;
    struct error err = {0};

    if (item_parse(object, &item, &err) < 0) {
        log_error("response is not a DeployItem", log_text("error", err.text));
        return true;
    }
    if (!is_same_text(item->uid, task->record->uid)) {
        item_free(item);
        return false;
    }
    /* The watch may have delivered something newer already. */
    if (object_version(object) < task->record->version || !task->record->is_known) {
        item_free(item);
        return true;
    }
    task->record->version = object_version(object);
    set_item(task, item);
    (void)show_item(task->controller, task->record, item);
    update_data(task, false);
    return true;
}

/* ---- The chain ---- */

/* Another process leads now; or we do again already, so decide once more. */
static void abandon(struct task *task)
{
    chain_done(task);
    task_wake(task);
}

static void on_answer(void *data, json_t *object, const struct error *err)
{
    struct task *task = data;

    task->chain.call = NULL;
    if (err->kind == ERROR_CANCELLED) {
        abandon(task);
        return;
    }
    /* The watch often delivers our own last write before the answer arrives. */
    if (task->chain.is_changed && !task->chain.is_last) {
        task_done(task);
        return;
    }
    task->chain.next(task, object, err);
}

static bool is_write(enum kube_verb verb)
{
    return verb != KUBE_GET && verb != KUBE_LIST && verb != KUBE_DISCOVER && verb != KUBE_VERSION;
}

void task_request(struct task *task, struct kube *kube, struct kube_request *request,
                  task_next_fn *next)
{
    struct error err = {0};

    /* The only place where this is checked, so that no write can forget it; and again before each
     * try. */
    if (is_write(request->verb)) {
        if (!controller_may_write(task->controller)) {
            abandon(task);
            return;
        }
        request->may_send = controller_may_send;
        request->may_send_data = task->controller;
    }
    if (request->verb != KUBE_DELETE)
        request->grace_seconds = -1;
    /* An item that is too deeply nested to be parsed is failed, cleaned up or left alone like any
     * other. */
    request->is_reducible =
        request->resource.plural && strcmp(request->resource.plural, KUBE_DEPLOY_ITEMS.plural) == 0;
    request->on_done = on_answer;
    request->data = task;
    task->chain.next = next;
    if (kube_start(kube, request, &task->chain.call, &err) < 0) {
        task->chain.call = NULL;
        next(task, NULL, &err);
    }
}

void task_done(struct task *task)
{
    struct controller *controller = task->controller;

    metrics_count_action(&controller->metrics, task->chain.action, true,
                         loop_now_ms(controller->loop) - task->chain.begun_ms);
    chain_done(task);
    retry_reset(&task->known.back_off);
    task_wake(task);
}

static void log_failure(const struct task *task, const char *what, const struct error *err,
                        uint32_t delay_ms)
{
    log_error(what, log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item ? task->item->job : ""),
              log_text("action", action_name(task->chain.action)), log_text("error", err->text),
              log_number("retryMs", delay_ms));
}

int64_t task_deadline_unix_ms(const struct task *task)
{
    return job_has_begun(task->item) ? item_deadline_unix_ms(task->item) : -1;
}

/* The back-off, but not beyond the job's deadline: a timeout is to be written in time, if the write
 * succeeds at all. */
static uint32_t back_off_ms(struct task *task, const struct error *err)
{
    uint32_t delay_ms = retry_next_ms(&task->known.back_off, err);
    int64_t deadline = task->item ? task_deadline_unix_ms(task) : -1;
    int64_t left_ms = deadline - task_now_unix_ms(task);

    if (deadline < 0 || left_ms <= 0 || left_ms >= delay_ms)
        return delay_ms;
    return left_ms > err->retry_after_ms ? (uint32_t)left_ms : err->retry_after_ms;
}

void task_back_off(struct task *task, const char *what, const struct error *err)
{
    struct controller *controller = task->controller;
    uint32_t delay_ms = back_off_ms(task, err);

    log_failure(task, what, err, delay_ms);
    metrics_count_action(&controller->metrics, task->chain.action, false,
                         loop_now_ms(controller->loop) - task->chain.begun_ms);
    task->known.back_off_unix_ms = task_now_unix_ms(task) + delay_ms;
    chain_done(task);
    task_wake(task);
}

void task_clear_fault(struct task *task)
{
    free(task->known.fault.operation);
    free(task->known.fault.reason);
    free(task->known.fault.message);
    task->known.fault = (struct task_fault){.state = FAULT_NONE};
}

/* Errors that a retry cannot resolve. */
static bool is_lasting(enum error_kind kind)
{
    return kind == ERROR_INVALID || kind == ERROR_TOO_LARGE;
}

void task_set_fault(struct task *task, const char *operation, const char *reason,
                    const struct error *err, const char *code)
{
    struct controller *controller = task->controller;
    struct task_fault *fault = &task->known.fault;
    bool is_known = fault->state != FAULT_NONE && is_same_text(fault->operation, operation) &&
                    is_same_text(fault->reason, reason) && is_same_text(fault->message, err->text);
    uint32_t delay_ms = retry_next_ms(&task->known.retry, err);

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
    log_failure(task, "job cannot go on, retrying", err, delay_ms);
    metrics_count_action(&controller->metrics, task->chain.action, false,
                         loop_now_ms(controller->loop) - task->chain.begun_ms);
    task->known.retry_unix_ms = task_now_unix_ms(task) + delay_ms;
    task->known.target = TARGET_UNKNOWN;
    task_drop_target(task);
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

    task_observe(task, &observed);
    decision = decide(&observed, task_now_unix_ms(task));
    metrics_count_decision(&controller->metrics, decision.rule);
    log_debug("decision", log_text("deployItem", task->record->name),
              log_text("namespace", task->record->namespace_name),
              log_text("jobID", task->item ? task->item->job : ""),
              log_text("rule", rule_name(decision.rule)),
              log_text("action", action_name(decision.action)));
    if (decision.action == ACTION_NONE) {
        task_retire(task);
        return;
    }
    if (decision.action == ACTION_WAIT) {
        sleep_until(task, decision.wake_unix_ms);
        return;
    }
    task->chain.action = decision.action;
    task->chain.cause = decision.cause;
    task->chain.begun_ms = loop_now_ms(controller->loop);
    task->chain.is_running = true;
    task->chain.is_changed = false;
    controller->running++;
    act_run(task);
}
