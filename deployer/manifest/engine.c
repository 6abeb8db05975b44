/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/manifest/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/manifest/late.h"
#include "deployer/manifest/targets.h"

/* ---- Life ---- */

static void on_room(void *data)
{
    task_wake(((struct manifest_run *)data)->task);
}

static int start(struct controller *controller, struct engine **ret_engine, struct error *err)
{
    struct manifest_engine *engine = xcalloc(1, sizeof(*engine));

    (void)err;
    engine->base.controller = controller;
    engine->pool = cluster_pool_new(controller->loop, CONTROLLER_USER_AGENT);
    cluster_pool_on_unauthorized(engine->pool, manifest_on_unauthorized, engine);
    engine->tokens = token_cache_new();
    engine->gate.on_room = on_room;
    *ret_engine = &engine->base;
    return 0;
}

static void engine_free(struct engine *base)
{
    struct manifest_engine *engine = (struct manifest_engine *)base;

    while (engine->lates)
        late_untrack(engine->lates->record);
    cluster_pool_free(engine->pool);
    token_cache_free(engine->tokens);
    free(engine);
}

static bool is_enabled(const struct deployer_config *config)
{
    return config->is_manifest_enabled;
}

static bool serves(const struct deployer_config *config, const char *type)
{
    return config->is_manifest_enabled && strcmp(type, DEPLOY_ITEM_TYPE_MANIFEST) == 0;
}

/* Another process may work on the items now. */
static void lead_lost(struct engine *base)
{
    struct manifest_engine *engine = (struct manifest_engine *)base;

    while (engine->runs)
        manifest_drop(engine->runs->task);
    late_stop_all(engine);
}

static void collect(struct engine *base)
{
    late_look_all((struct manifest_engine *)base);
}

/* ---- The data of a task ---- */

static const struct cluster_pool *clusters(const struct engine *engine)
{
    return ((const struct manifest_engine *)engine)->pool;
}

static void *task_data_new(void)
{
    return xcalloc(1, sizeof(struct manifest_task));
}

static void task_data_free(void *data)
{
    struct manifest_task *known = data;

    manifest_start_done(known->start);
    targets_free(known->targets);
    late_work_free(known->late);
    manifest_run_free(known->run);
    free(known);
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a && b ? json_equal(a, b) : a == b;
}

/* Somebody else has written the list of objects: the run has to begin again with that list. */
static bool is_list_foreign(struct manifest_run *run, const struct item *item)
{
    json_t *stored = json_object_get(item->status, "providerStatus");

    if (is_same(stored, run->known_status))
        return false;
    if (!is_same(stored, run->written_status))
        return true;
    json_decref(run->known_status);
    run->known_status = json_incref(stored);
    return false;
}

static void task_data_update(struct task *task, bool is_new_order)
{
    struct manifest_run *run = manifest_task(task)->run;
    const struct item *item = task->item;

    (void)is_new_order;
    if (run && (!item || strcmp(run->job, item->job) != 0 || item_is_finished(item) ||
                run->generation != item->generation || is_list_foreign(run, item)))
        manifest_drop(task);
}

static void chain_done(struct task *task)
{
    manifest_start_done(manifest_task(task)->start);
    manifest_task(task)->start = NULL;
    targets_free(manifest_task(task)->targets);
    manifest_task(task)->targets = NULL;
    late_work_free(manifest_task(task)->late);
    manifest_task(task)->late = NULL;
}

/* ---- Actions that need no request ---- */

static void drop(struct task *task)
{
    manifest_drop(task);
    task_done(task);
}

const struct engine_class MANIFEST_ENGINE = {
    .deployer_name = MANIFEST_DEPLOYER_NAME,
    .lock_prefix = LOCK_PREFIX_MANIFEST,
    .timeout_subject = "manifest deployer",
    .start_operation = "ReconcileManifests",
    .is_config_unneeded_for_deletion = true,
    .is_status_memory = true,
    .is_export_plain = true,
    .is_enabled = is_enabled,
    .serves = serves,
    .start = start,
    .free = engine_free,
    .collect = collect,
    .lead_lost = lead_lost,
    .clusters = clusters,
    .item_seen = late_item_seen,
    .item_gone = late_item_gone,
    .untrack = late_untrack,
    .task_data_new = task_data_new,
    .task_data_free = task_data_free,
    .task_data_update = task_data_update,
    .chain_done = chain_done,
    .observe = manifest_observe,
    .is_continuous = late_is_continuous,
    .report = manifest_report,
    .explain = manifest_explain,
    .start_execution = manifest_start,
    .step = manifest_step,
    .verify = task_done,
    .end_execution = drop,
    .discard_execution = drop,
    .complete = manifest_complete,
    .follow_up = late_follow_up,
};
