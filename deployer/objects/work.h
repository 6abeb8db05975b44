/* SPDX-License-Identifier: Apache-2.0 */
/* The work on a manifest item, whoever asks for it: the engine of the controller, or
 * `longshore run`. It goes through its stages one after the other. The owner starts each of them,
 * stores the list of objects where it has to be stored, and decides whether a stage that failed is
 * repeated. */
#pragma once

#include "common/apply/apply.h"
#include "common/apply/checks.h"
#include "common/apply/cluster.h"
#include "common/apply/exports.h"
#include "common/apply/late_patch.h"
#include "common/apply/plan.h"
#include "common/apply/removal.h"
#include "deployer/objects/configuration.h"
#include "deployer/objects/owner.h"

/* In this order. A stage that fails can be repeated alone. */
enum manifest_stage {
    STAGE_PLAN,    /* find the kinds of the objects */
    STAGE_RECORD,  /* the owner stores the list of objects, then sets STAGE_APPLY */
    STAGE_APPLY,   /* apply the objects; STAGE_RECORD again if recorded ones are gone */
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

/* Called from the loop, or from inside manifest_work_begin() and manifest_work_start(). */
struct manifest_work_events {
    /* The stage is over: work->stage is the next one, or work->error says why it failed, or
     * work->failure why the work cannot succeed. */
    void (*on_over)(void *data);
    void (*on_planned)(void *data); /* before the plan becomes part of the list; NULL: nothing */
    /* A recorded object is gone (REMOVAL_DELETE) or is left alone, and has left the list. */
    void (*on_removed)(void *data, const struct object_ref *ref, enum removal_verdict verdict);
};

/* To be initialised with {0}; the owner sets the first part. */
struct manifest_work {
    const struct manifest_work_events *events;
    void *data; /* of the events */
    kube_may_send_fn *may_send;
    const void *may_send_data;
    bool is_delete;
    bool is_observed; /* the objects of the list are somebody else's: they are only waited for */
    struct manifest_config *config; /* belongs to the work */
    struct cluster *cluster;        /* a reference */
    struct second_cluster *seconds; /* belong to the work */
    size_t second_count;
    struct manifest_owner owner;
    struct inventory inventory; /* what is recorded, or is about to be */

    enum manifest_stage stage;
    bool is_active;       /* the operation of the stage is under way */
    struct error error;   /* why the operation failed; the owner clears it */
    struct error failure; /* why the work cannot succeed; ERROR_NONE: it can */
    json_t *values;       /* of the exports; or NULL */

    struct inventory orphans; /* what is removed */
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
    struct late_patch *patches;
    bool *is_patched; /* parallel to plan->objects */
};

/* Cancels what is under way and frees everything but the work itself. */
void manifest_work_done(struct manifest_work *work);
/* Begins with the first stage; may find the plan at once. The next stage of a deletion is
 * STAGE_REMOVE, which the owner starts. */
void manifest_work_begin(struct manifest_work *work);
/* Starts the operation of the stage, which is neither STAGE_PLAN nor STAGE_RECORD nor STAGE_DONE.
 * A stage that has nothing to do is over at once. */
void manifest_work_start(struct manifest_work *work);
/* What the work waits for, for people. Belongs to the caller; NULL: nothing in particular. */
char *manifest_work_describe(const struct manifest_work *work);
/* The options with which the plan is applied, without on_done. */
struct apply_options manifest_work_apply_options(const struct manifest_work *work);
/* What is recorded, but not part of the plan. */
struct inventory manifest_work_orphans(const struct manifest_work *work);

/* ---- Inside the work: work.c, work_removal.c ---- */

/* The operation of the stage has succeeded: the next one follows. */
void manifest_work_stage_done(struct manifest_work *work, enum manifest_stage next);
/* It has failed. */
void manifest_work_stage_failed(struct manifest_work *work, const struct error *err);
void manifest_work_start_orphans(struct manifest_work *work);
void manifest_work_start_removal(struct manifest_work *work);

/* ---- Second clusters: second_clusters.c ---- */

/* The cluster of a second target; NULL gives NULL: the item's own. */
struct cluster *manifest_find_cluster(const struct second_cluster *seconds, size_t count,
                                      const char *target);
/* The clusters of custom checks, and of their value_from, and of exports, by the names of their
 * Targets; arrays that belong to the caller. */
struct cluster **manifest_check_clusters(struct manifest_config *config,
                                         const struct second_cluster *seconds, size_t count);
struct cluster **manifest_export_clusters(const struct manifest_config *config,
                                          const struct second_cluster *seconds, size_t count);
void manifest_seconds_free(struct second_cluster *seconds, size_t count);
