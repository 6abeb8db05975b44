/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by local_apply.c (the stages, signals, timers, the list of objects) and
 * local_apply_report.c. */
#pragma once

#include "common/base/loop.h"
#include "common/net/retry.h"
#include "deployer/objects/work.h"
#include "deployer/run/local_apply.h"
#include "deployer/run/result.h"
#include "deployer/run/show.h"
#include "deployer/run/workspace.h"

struct local_apply {
    const struct run_options *options;
    struct offline_manifest *manifest;
    json_t *result;
    struct loop *loop;
    struct show *show;
    struct workspace *workspace;
    struct cluster_pool *pool;
    struct manifest_work work;
    struct loop_timer timeout, tick, next;
    struct retry retry;
    enum manifest_stage shown; /* the stage whose step is in progress */
    bool is_shown;
    bool has_list;    /* of an earlier run */
    bool is_recorded; /* the list contains everything that this run may have made */
    bool is_over;
    size_t removed, left;
    json_t *removals;          /* rows of the result */
    enum result_reason reason; /* if it failed */
    struct error failure;      /* ERROR_NONE: it succeeded */
};

/* A step is what is shown of a stage. Nothing happens if it was begun, or ended, already. */
void local_apply_begin_step(struct local_apply *run, enum manifest_stage stage);
void local_apply_end_step(struct local_apply *run);
/* Sets every field of the result. */
void local_apply_complete_result(struct local_apply *run);
