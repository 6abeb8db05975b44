/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/act.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

typedef void act_fn(struct task *task);

static act_fn *engine_act(const struct engine_class *class, enum action action)
{
    const struct {
        enum action action;
        act_fn *act;
    } acts[] = {
        {ACTION_LOOK_BACK, class->look_back}, {ACTION_START, class->start_execution},
        {ACTION_STEP, class->step},           {ACTION_VERIFY, class->verify},
        {ACTION_END, class->end_execution},   {ACTION_DISCARD, class->discard_execution},
        {ACTION_CLEAN_RUN, class->clean_run}, {ACTION_FOLLOW_UP, class->follow_up},
    };

    for (size_t i = 0; i < array_length(acts); i++) {
        if (acts[i].action == action)
            return acts[i].act;
    }
    return NULL;
}

void act_run(struct task *task)
{
    static act_fn *const acts[ACTION_COUNT] = {
        [ACTION_LOCK] = act_lock,
        [ACTION_UNLOCK] = act_unlock,
        [ACTION_CLAIM] = act_claim,
        [ACTION_RESOLVE_TARGET] = act_resolve_target,
        [ACTION_BEGIN] = act_begin,
        [ACTION_REMOVE_ANNOTATION] = act_remove_annotation,
        [ACTION_ADD_FINALIZER] = act_add_finalizer,
        [ACTION_REPORT] = act_report,
        [ACTION_REPORT_FAULT] = act_report_fault,
        [ACTION_COMPLETE] = act_complete,
        [ACTION_FAIL] = act_fail,
        [ACTION_FINISH_AS_IS] = act_finish_as_is,
        [ACTION_CLEAN_ITEM] = act_clean_item,
    };
    act_fn *act = acts[task->chain.action];

    if (!act)
        act = engine_act(task->engine->class, task->chain.action);
    act(task);
}

bool act_is_removed(const struct error *err)
{
    return err->kind == ERROR_NONE || err->kind == ERROR_NOT_FOUND;
}

char *act_export_name(const struct task *task)
{
    const char *given = doc_text(task->item->status, "exportRef.name");

    if (task_traits(task)->is_export_plain && given && *given)
        return xstrdup(given);
    return item_export_name(task->record->namespace_name, task->record->name);
}

bool act_has_exports(const struct task *task)
{
    return task->item->has_export || task->record->is_export_possible;
}

void act_remove_exports(struct task *task, task_next_fn *next)
{
    cleanup_free char *name = act_export_name(task);
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = name,
                                   .grace_seconds = -1,
                                   .is_unread = true};

    task_request(task, task->controller->landscaper, &request, next);
}

const char *action_name(enum action action)
{
    /* Values of a metric's label: they stay as they are. */
    static const char *const names[ACTION_COUNT] = {
        [ACTION_NONE] = "none",
        [ACTION_WAIT] = "wait",
        [ACTION_LOCK] = "lock",
        [ACTION_UNLOCK] = "unlock",
        [ACTION_CLAIM] = "claim",
        [ACTION_RESOLVE_TARGET] = "resolve_target",
        [ACTION_FOLLOW_UP] = "follow_up",
        [ACTION_LOOK_BACK] = "look_back",
        [ACTION_BEGIN] = "begin",
        [ACTION_REMOVE_ANNOTATION] = "drop_note",
        [ACTION_ADD_FINALIZER] = "add_finalizer",
        [ACTION_START] = "start",
        [ACTION_STEP] = "step",
        [ACTION_REPORT] = "report",
        [ACTION_REPORT_FAULT] = "report_fault",
        [ACTION_VERIFY] = "verify_pod",
        [ACTION_END] = "end_pod",
        [ACTION_DISCARD] = "discard_pod",
        [ACTION_CLEAN_RUN] = "clean_run",
        [ACTION_COMPLETE] = "complete",
        [ACTION_FAIL] = "fail",
        [ACTION_FINISH_AS_IS] = "finish_as_is",
        [ACTION_CLEAN_ITEM] = "clean_item",
    };

    return (size_t)action < array_length(names) && names[action] ? names[action] : "unknown";
}
