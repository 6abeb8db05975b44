/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an execution. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "deployer/manifest/engine.h"
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

void manifest_on_unauthorized(void *data, struct cluster *cluster, const struct error *err)
{
    const struct manifest_engine *engine = data;
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
