/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for manifest items: applies objects to the cluster of the item's Target.
 *
 * An execution (struct manifest_run) lives in the memory of this process. What it has to remember
 * is in the provider status: before an object is applied it is recorded there, so that another
 * process can start the job again from the stored list at any point. */
#pragma once

#include "deployer/engine.h"
#include "deployer/manifest/gate.h"
#include "deployer/manifest/status.h"
#include "deployer/manifest/target_access.h"
#include "deployer/manifest/work.h"
#include "deployer/protocol/task.h"

extern const struct engine_class MANIFEST_ENGINE;

struct manifest_engine {
    struct engine base;
    struct cluster_pool *pool;
    struct token_cache *tokens;
    struct gate gate;
    struct manifest_run *runs; /* all of them, a list */
    struct late_item *lates;   /* items that are watched after their jobs, a list */
    size_t late_count;
};

struct manifest_run {
    struct manifest_run *next, **link; /* in the list of the engine */
    struct manifest_engine *engine;
    struct task *task;
    char *job;
    int64_t generation;
    int64_t begun_unix_ms;
    struct manifest_work work;
    json_t *late;           /* of the stored status: kept as it is; or NULL */
    json_t *known_status;   /* providerStatus of the item as this run knows it; or NULL */
    json_t *written_status; /* as it was last given to the protocol to be written; or NULL */
    bool is_stale;          /* is about to be replaced by one that has read the Target again */
    struct gate_place place;
};

struct manifest_start; /* start.c */

/* The engine's data of a task. */
struct manifest_task {
    struct manifest_run *run;     /* NULL: there is no execution */
    struct manifest_start *start; /* what the chain that starts one needs */
    struct targets *targets;      /* that the chain reads; or NULL */
    struct late_work *late;       /* what the chain of a follow-up needs; or NULL */
};

static inline struct manifest_task *manifest_task(const struct task *task)
{
    return task->data;
}

static inline struct manifest_engine *manifest_engine(const struct task *task)
{
    return (struct manifest_engine *)task->engine;
}

/* ---- Runs: run.c ---- */

/* Cancels what is under way and frees the run. NULL is fine. */
void manifest_run_free(struct manifest_run *run);
/* Frees the run of the task, if there is one. */
void manifest_drop(struct task *task);
/* The run does nothing any more. It stays until the next execution of the job begins, because it
 * knows which of the recorded objects cannot exist. */
void manifest_retire(struct task *task);
/* The run of the task that is not stale, or NULL. */
struct manifest_run *manifest_current_run(const struct task *task);
/* Begins with its first stage; may find the plan at once. */
void manifest_run_begin(struct manifest_run *run);

/* A cluster does not accept the credentials of runs any more: a run that waits fails its stage, so
 * that it reads its Target, or requests a token, again. data is the engine. */
cluster_unauthorized_fn manifest_on_unauthorized; /* run.c */

/* ---- Parts of the engine; see deployer/engine.h ---- */

void manifest_observe(struct task *task, struct execution *ret_execution);      /* observe.c */
void manifest_report(struct task *task, enum report_kind kind, json_t *status); /* observe.c */
void manifest_explain(struct task *task, enum explanation_kind kind,
                      struct explanation *explanation); /* observe.c */
void manifest_start(struct task *task);                 /* start.c */
void manifest_start_done(struct manifest_start *start); /* start.c; NULL is fine */
void manifest_step(struct task *task);                  /* step.c */
void manifest_complete(struct task *task);              /* step.c */
