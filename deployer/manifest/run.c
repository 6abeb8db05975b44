/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an execution. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/manifest/engine.h"
#include "deployer/protocol/events.h"

/* ---- The end ---- */

static void cancel(struct manifest_run *run)
{
    planning_cancel(run->planning);
    apply_cancel(run->apply);
    removal_cancel(run->removal);
    checks_cancel(run->checks);
    exports_cancel(run->exports);
    late_patch_cancel(run->patches);
}

void manifest_run_free(struct manifest_run *run)
{
    if (!run)
        return;
    cancel(run);
    gate_leave(&run->engine->gate, &run->place);
    if (run->link) {
        *run->link = run->next;
        if (run->next)
            run->next->link = run->link;
    }
    free(run->check_objects);
    free(run->check_kinds);
    free(run->check_seen);
    free(run->check_clusters);
    free(run->export_clusters);
    free(run->group_clusters);
    free(run->is_patched);
    apply_result_free(run->applied);
    plan_free(run->plan);
    manifest_config_free(run->config);
    inventory_done(&run->inventory);
    inventory_done(&run->orphans);
    json_decref(run->known_status);
    json_decref(run->written_status);
    json_decref(run->values);
    cluster_put(run->cluster);
    for (size_t i = 0; i < run->second_count; i++) {
        cluster_put(run->seconds[i].cluster);
        free(run->seconds[i].target);
    }
    free(run->seconds);
    manifest_owner_done(&run->owner);
    free(run->job);
    free(run);
}

/* The next execution reads it again. */
static void forget_target(struct task *task)
{
    task_drop_target(task);
    task->known.target = TARGET_UNKNOWN;
}

void manifest_drop(struct task *task)
{
    manifest_run_free(manifest_task(task)->run);
    manifest_task(task)->run = NULL;
    forget_target(task);
}

void manifest_retire(struct task *task)
{
    manifest_task(task)->run->is_stale = true;
    forget_target(task);
}

struct manifest_run *manifest_current_run(const struct task *task)
{
    struct manifest_run *run = manifest_task(task)->run;

    return run && !run->is_stale ? run : NULL;
}

/* ---- Clusters ---- */

struct cluster *manifest_run_cluster(const struct manifest_run *run, const char *target)
{
    for (size_t i = 0; target && i < run->second_count; i++) {
        if (strcmp(run->seconds[i].target, target) == 0)
            return run->seconds[i].cluster;
    }
    return NULL;
}

/* ---- The beginning ---- */

/* Objects whose policy has become ignore leave the list and stay in the cluster. */
static void report_released(const struct manifest_run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < run->plan->ignored_count; i++)
        count += inventory_find(&run->inventory, &run->plan->ignored[i]) ? 1 : 0;
    if (count > 0)
        events_send_once(run->task, "released", "ObjectsReleased",
                         "objects that were deployed by this item have the policy ignore now: they "
                         "stay in the cluster and are not managed any more");
}

static void on_planned(void *data, struct plan *plan, const struct error *err)
{
    struct manifest_run *run = data;
    struct inventory recorded = {0};

    run->planning = NULL;
    if (err && err->kind != ERROR_NONE) {
        manifest_stage_failed(run, err);
        return;
    }
    run->plan = plan;
    report_released(run);
    recorded = plan_record(plan, &run->inventory);
    inventory_done(&run->inventory);
    run->inventory = recorded;
    inventory_sort(&run->inventory);
    manifest_stage_done(run, STAGE_RECORD);
}

void manifest_run_begin(struct manifest_run *run)
{
    struct error err = {0};

    run->begun_unix_ms = task_now_unix_ms(run->task);
    run->next = run->engine->runs;
    run->link = &run->engine->runs;
    if (run->next)
        run->next->link = &run->next;
    run->engine->runs = run;
    if (run->is_delete) {
        run->stage = STAGE_REMOVE;
        return;
    }
    run->stage = STAGE_PLAN;
    run->is_active = true;
    if (plan_start(run->cluster, run->config->inputs, run->config->input_count, on_planned, run,
                   &run->planning, &err) < 0)
        manifest_stage_failed(run, &err);
}

/* ---- For people ---- */

/* Takes text over. */
static char *with_subject(const char *subject, char *text)
{
    char *whole = text ? xasprintf("%s: %s", subject, text) : xstrdup(subject);

    free(text);
    return whole;
}

char *manifest_run_describe(const struct manifest_run *run)
{
    switch (run->stage) {
    case STAGE_PLAN:
        return xasprintf("waiting for the kinds that the API server %s knows",
                         cluster_server(run->cluster));
    case STAGE_RECORD:
        return NULL;
    case STAGE_APPLY:
        if (!run->apply)
            return xasprintf("waiting for other items that are applied to %s",
                             cluster_server(run->cluster));
        return with_subject("applying objects", apply_describe(run->apply));
    case STAGE_ORPHANS:
    case STAGE_REMOVE:
        return with_subject("waiting for objects to be removed",
                            run->removal ? removal_describe(run->removal) : NULL);
    case STAGE_CHECKS:
        return with_subject("not ready", run->checks ? checks_describe(run->checks) : NULL);
    case STAGE_EXPORTS:
        return with_subject("waiting for exported values",
                            run->exports ? exports_describe(run->exports) : NULL);
    case STAGE_PATCHES:
        return with_subject("patching objects after the deployment",
                            run->patches ? late_patch_describe(run->patches) : NULL);
    case STAGE_DONE:
        break;
    }
    return NULL;
}
