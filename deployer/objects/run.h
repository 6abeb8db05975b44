/* SPDX-License-Identifier: Apache-2.0 */
/* The execution of an item that applies objects to the cluster of its Target, inside the
 * controller. Engines use it: for manifest items it is the whole execution, for helm items what
 * follows on the pod that renders the objects.
 *
 * An execution (struct manifest_run) lives in the memory of this process. What it has to remember
 * is in the provider status: before an object is applied it is recorded there, so that another
 * process can start again from the stored list at any point. */
#pragma once

#include "deployer/engine.h"
#include "deployer/objects/gate.h"
#include "deployer/objects/status.h"
#include "deployer/objects/target_access.h"
#include "deployer/objects/work.h"
#include "deployer/protocol/task.h"

/* What the items of an engine share. The engine embeds it, and returns it from its class. */
struct objects_engine {
    struct cluster_pool *pool;
    struct token_cache *tokens;
    struct gate gate;
    struct manifest_run *runs; /* all of them, a list */
};

void objects_engine_init(struct objects_engine *engine, struct controller *controller);
void objects_engine_done(struct objects_engine *engine);
/* Another process may lead now: drops all runs. */
void objects_lead_lost(struct objects_engine *engine);

struct manifest_run {
    struct manifest_run *next, **link; /* in the list of the engine */
    struct objects_engine *engine;
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

/* A part of the engine's data of a task, which the class of the engine returns. */
struct objects_task {
    struct manifest_run *run;     /* NULL: there is no execution */
    struct manifest_start *start; /* what the chain that starts one needs */
    struct targets *targets;      /* that the chain reads; or NULL */
};

static inline struct objects_task *objects_task(const struct task *task)
{
    return task->engine->class->objects_task(task);
}

static inline struct objects_engine *objects_engine(const struct task *task)
{
    return task->engine->class->objects_engine(task->engine);
}

/* Parts of the class's functions of the same names: the end of the data of a task, its item is
 * another one, the chain under way is over. */
void objects_task_done(struct objects_task *objects);
void objects_task_update(struct task *task);
void objects_chain_done(struct task *task);

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

/* ---- Parts of an engine; see deployer/engine.h ---- */

void manifest_observe(struct task *task, struct execution *ret_execution); /* observe.c */
/* The part of it about a run. */
void manifest_observe_run(const struct manifest_run *run, struct execution *e);
void manifest_report(struct task *task, enum report_kind kind, json_t *status); /* observe.c */
void manifest_explain(struct task *task, enum explanation_kind kind,
                      struct explanation *explanation); /* observe.c */
void manifest_start(struct task *task);                 /* start.c */
/* The same for a configuration that is parsed already, which is taken over. */
void manifest_start_with(struct task *task, struct manifest_config *config);
/* The same for objects of somebody else, which are taken over: they replace the list, and are
 * waited for. */
void manifest_start_observing(struct task *task, struct manifest_config *config,
                              struct inventory *objects);
void manifest_start_done(struct manifest_start *start); /* start.c; NULL is fine */
void manifest_step(struct task *task);                  /* step.c */
void manifest_complete(struct task *task);              /* step.c */
