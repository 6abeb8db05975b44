/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an execution. */
#include "deployer/objects/run.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/targets.h"
#include "deployer/protocol/events.h"

/* ---- The end ---- */

void manifest_run_free(struct manifest_run *run)
{
    if (!run)
        return;
    gate_leave(&run->engine->gate, &run->place);
    if (run->link) {
        *run->link = run->next;
        if (run->next)
            run->next->link = run->link;
    }
    manifest_work_done(&run->work);
    json_decref(run->late);
    json_decref(run->known_status);
    json_decref(run->written_status);
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
    manifest_run_free(objects_task(task)->run);
    objects_task(task)->run = NULL;
    forget_target(task);
}

void manifest_retire(struct task *task)
{
    objects_task(task)->run->is_stale = true;
    forget_target(task);
}

struct manifest_run *manifest_current_run(const struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;

    return run && !run->is_stale ? run : NULL;
}

/* ---- Clusters ---- */

static bool uses_cluster(const struct manifest_work *work, const struct cluster *cluster)
{
    for (size_t i = 0; i < work->second_count; i++) {
        if (work->seconds[i].cluster == cluster)
            return true;
    }
    return work->cluster == cluster;
}

/* The other stages learn it from their own requests. */
static bool is_waiting(const struct manifest_work *work)
{
    return work->is_active && (work->stage == STAGE_ORPHANS || work->stage == STAGE_CHECKS ||
                               work->stage == STAGE_EXPORTS || work->stage == STAGE_REMOVE);
}

/* A cluster does not accept the credentials of runs any more: a run that waits fails its stage, so
 * that it reads its Target, or requests a token, again. */
static void on_unauthorized(void *data, struct cluster *cluster, const struct error *err)
{
    const struct objects_engine *engine = data;
    struct error cause = *err;

    (void)error_wrap(&cause, "the API server %s does not accept the credentials of the target",
                     cluster_server(cluster));
    for (struct manifest_run *run = engine->runs; run; run = run->next) {
        if (uses_cluster(&run->work, cluster) && is_waiting(&run->work))
            manifest_work_stage_failed(&run->work, &cause);
    }
}

/* ---- The beginning ---- */

/* Objects whose policy has become ignore leave the list and stay in the cluster. */
static void report_released(void *data)
{
    const struct manifest_run *run = data;
    const struct manifest_work *work = &run->work;
    size_t count = 0;

    for (size_t i = 0; i < work->plan->ignored_count; i++)
        count += inventory_find(&work->inventory, &work->plan->ignored[i]) ? 1 : 0;
    if (count > 0)
        events_send_once(run->task, "released", "ObjectsReleased",
                         "objects that were deployed by this item have the policy ignore now: they "
                         "stay in the cluster and are not managed any more");
}

/* An object that was left alone is not ours any more, which users should know. */
static void report_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    const struct manifest_run *run = data;
    const struct record *record = run->task->record;

    if (verdict == REMOVAL_REPLACED || verdict == REMOVAL_MOVED) {
        cleanup_free char *object = object_ref_text(ref);

        log_info("object left alone", log_text("deployItem", record->name),
                 log_text("namespace", record->namespace_name), log_text("object", object),
                 log_text("reason", removal_verdict_text(verdict)));
    }
}

static void on_over(void *data)
{
    struct manifest_run *run = data;
    const struct manifest_work *work = &run->work;

    gate_leave(&run->engine->gate, &run->place);
    if (work->error.kind == ERROR_NONE && work->failure.kind == ERROR_NONE) {
        task_clear_fault(run->task);
        retry_reset(&run->task->known.retry);
    }
    task_wake(run->task);
}

void manifest_run_begin(struct manifest_run *run)
{
    static const struct manifest_work_events events = {
        .on_over = on_over, .on_planned = report_released, .on_removed = report_removed};

    run->work.events = &events;
    run->work.data = run;
    run->work.may_send = controller_may_send;
    run->work.may_send_data = run->task->controller;
    run->begun_unix_ms = task_now_unix_ms(run->task);
    run->next = run->engine->runs;
    run->link = &run->engine->runs;
    if (run->next)
        run->next->link = &run->next;
    run->engine->runs = run;
    manifest_work_begin(&run->work);
}

/* ---- The engine ---- */

static void on_room(void *data)
{
    task_wake(((struct manifest_run *)data)->task);
}

void objects_engine_init(struct objects_engine *engine, struct controller *controller)
{
    engine->pool = cluster_pool_new(controller->loop, CONTROLLER_USER_AGENT);
    cluster_pool_on_unauthorized(engine->pool, on_unauthorized, engine);
    engine->tokens = token_cache_new();
    engine->gate.on_room = on_room;
}

void objects_engine_done(struct objects_engine *engine)
{
    cluster_pool_free(engine->pool);
    token_cache_free(engine->tokens);
}

void objects_lead_lost(struct objects_engine *engine)
{
    while (engine->runs)
        manifest_drop(engine->runs->task);
}

/* ---- The data of a task ---- */

void objects_task_done(struct objects_task *objects)
{
    manifest_start_done(objects->start);
    targets_free(objects->targets);
    manifest_run_free(objects->run);
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a && b ? json_equal(a, b) : a == b;
}

/* Somebody else has written the list of objects: the run has to begin again with that list. */
static bool is_list_foreign(struct manifest_run *run, const struct item *item)
{
    cleanup_json json_t *stored = manifest_status_core(doc_member(item->status, "providerStatus"));

    if (is_same(stored, run->known_status))
        return false;
    if (!is_same(stored, run->written_status))
        return true;
    json_decref(run->known_status);
    run->known_status = steal(&stored);
    return false;
}

void objects_task_update(struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;
    const struct item *item = task->item;

    if (run && (!item || strcmp(run->job, item->job) != 0 || item_is_finished(item) ||
                run->generation != item->generation || is_list_foreign(run, item)))
        manifest_drop(task);
}

void objects_chain_done(struct task *task)
{
    struct objects_task *objects = objects_task(task);

    manifest_start_done(objects->start);
    objects->start = NULL;
    targets_free(objects->targets);
    objects->targets = NULL;
}
