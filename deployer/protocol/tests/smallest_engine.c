/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/tests/smallest_engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/protocol/act.h"

static int start(struct controller *controller, struct engine **ret_engine, struct error *err)
{
    (void)err;
    *ret_engine = xcalloc(1, sizeof(**ret_engine));
    (*ret_engine)->controller = controller;
    return 0;
}

static void engine_free(struct engine *engine)
{
    free(engine);
}

static bool serves(const struct deployer_config *config, const char *type)
{
    (void)config;
    return strcmp(type, DEPLOY_ITEM_TYPE_CONTAINER) == 0;
}

/* An execution is the name of its job: it has succeeded as soon as it exists. */
static void untrack(struct record *record)
{
    free(record->tracked);
    record->tracked = NULL;
}

static void observe(struct task *task, struct execution *e)
{
    const char *job = task->record->tracked;

    e->is_volatile = e->is_absence_sure = true;
    e->history = RUN_SOME;
    if (!job)
        return;
    e->claim =
        task->item && strcmp(job, task->item->job) == 0 ? EXECUTION_OF_JOB : EXECUTION_OF_OTHER_JOB;
    e->is_delete = task->item && task->item->is_deleting;
    e->state = EXECUTION_SUCCEEDED;
    e->is_over = true;
}

static void report(struct task *task, enum report_kind kind, json_t *status)
{
    (void)task, (void)kind, (void)status;
}

static void explain(struct task *task, enum explanation_kind kind, struct explanation *explanation)
{
    (void)task, (void)kind, (void)explanation;
}

static void start_execution(struct task *task)
{
    task->record->tracked = xstrdup(task->item->job);
    task_done(task);
}

static void discard(struct task *task)
{
    untrack(task->record);
    task_done(task);
}

static void complete(struct task *task)
{
    act_complete_with(task, NULL);
}

const struct engine_class SMALLEST_ENGINE = {
    .lock_prefix = LOCK_PREFIX,
    .traits = {"smallest", "smallest deployer", "Start", false, false, false},
    .serves = serves,
    .start = start,
    .free = engine_free,
    .untrack = untrack,
    .observe = observe,
    .report = report,
    .explain = explain,
    .start_execution = start_execution,
    .verify = task_done,
    .end_execution = discard,
    .discard_execution = discard,
    .complete = complete,
};
