/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for manifest items: applies objects to the cluster of the item's Target.
 *
 * An execution (struct manifest_run) lives in the memory of this process. What it has to remember
 * is in the provider status: before an object is applied it is recorded there, so that another
 * process can start the job again from the stored list at any point. */
#pragma once

#include "common/apply/apply.h"
#include "common/apply/checks.h"
#include "common/apply/cluster.h"
#include "common/apply/exports.h"
#include "common/apply/late_patch.h"
#include "common/apply/plan.h"
#include "common/apply/removal.h"
#include "deployer/engine.h"
#include "deployer/manifest/configuration.h"
#include "deployer/manifest/gate.h"
#include "deployer/manifest/owner.h"
#include "deployer/manifest/status.h"
#include "deployer/manifest/target_access.h"
#include "deployer/protocol/task.h"

extern const struct engine_class MANIFEST_ENGINE;

struct manifest_engine {
    struct engine base;
    struct cluster_pool *pool;
    struct token_cache *tokens;
    struct gate gate;
    struct manifest_run *runs; /* all of them, a list */
};

/* In this order. A stage that fails is retried, and only that stage. */
enum manifest_stage {
    STAGE_PLAN,    /* find the kinds of the objects */
    STAGE_RECORD,  /* wait until the plan is stored in the status */
    STAGE_APPLY,   /* apply the objects */
    STAGE_ORPHANS, /* remove what is recorded but not planned any more */
    STAGE_CHECKS,  /* wait until everything is ready */
    STAGE_EXPORTS, /* read the exported values */
    STAGE_PATCHES, /* patchAfterDeployment */
    STAGE_REMOVE,  /* of a deletion: remove everything that is recorded */
    STAGE_DONE,
};

/* The cluster of a Target that the configuration refers to by its name. */
struct second_cluster {
    char *target;
    struct cluster *cluster;
};

struct manifest_run {
    struct manifest_run *next, **link; /* in the list of the engine */
    struct manifest_engine *engine;
    struct task *task;
    char *job;
    int64_t generation;
    bool is_delete;
    int64_t begun_unix_ms;

    struct manifest_config *config;
    struct cluster *cluster;
    struct second_cluster *seconds;
    size_t second_count;
    struct manifest_owner owner;

    struct inventory inventory; /* what is recorded, or is about to be */
    struct inventory orphans;
    json_t *known_status;   /* providerStatus of the item as this run knows it; or NULL */
    json_t *written_status; /* as it was last given to the protocol to be written; or NULL */

    enum manifest_stage stage;
    bool is_active; /* the operation of the stage is under way */
    bool is_stale;  /* is about to be replaced by one that has read the Target again */
    struct gate_place place;
    struct error error;   /* why the operation failed: to be reported and retried */
    struct error failure; /* why the job cannot succeed; ERROR_NONE: it can */

    struct planning *planning;
    struct plan *plan;
    struct apply *apply;
    struct apply_result *applied;
    struct removal *removal;
    struct checks *checks;
    struct object_ref *check_objects; /* borrowed parts of the plan */
    struct kind *check_kinds;
    json_t **check_seen;
    size_t check_count;
    struct cluster **check_clusters, **export_clusters, **group_clusters;
    struct exports *exports;
    json_t *values; /* of the exports; or NULL */
    struct late_patch *patches;
    bool *is_patched; /* parallel to plan->objects */
};

struct manifest_start; /* start.c */

/* The engine's data of a task. */
struct manifest_task {
    struct manifest_run *run;     /* NULL: there is no execution */
    struct manifest_start *start; /* what the chain that starts one needs */
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
/* What the run waits for, for people. Belongs to the caller; NULL: nothing in particular. */
char *manifest_run_describe(const struct manifest_run *run);
/* The cluster of a second target; NULL gives NULL: the item's own. */
struct cluster *manifest_run_cluster(const struct manifest_run *run, const char *target);

/* ---- Stages: stages.c, removal_stages.c ---- */

/* Starts the operation of the run's stage. Failures are in run->error. */
void manifest_stage_start(struct manifest_run *run);
/* The operation of the stage has succeeded: the next one follows. */
void manifest_stage_done(struct manifest_run *run, enum manifest_stage next);
/* It has failed. */
void manifest_stage_failed(struct manifest_run *run, const struct error *err);
void manifest_start_orphans(struct manifest_run *run);
void manifest_start_removal(struct manifest_run *run);

/* ---- Parts of the engine; see deployer/engine.h ---- */

void manifest_observe(struct task *task, struct execution *ret_execution);      /* observe.c */
void manifest_report(struct task *task, enum report_kind kind, json_t *status); /* observe.c */
void manifest_explain(struct task *task, enum explanation_kind kind,
                      struct explanation *explanation); /* observe.c */
void manifest_start(struct task *task);                 /* start.c */
void manifest_start_done(struct manifest_start *start); /* start.c; NULL is fine */
void manifest_step(struct task *task);                  /* step.c */
void manifest_complete(struct task *task);              /* step.c */
