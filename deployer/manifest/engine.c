/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/manifest/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/manifest/late.h"

/* ---- Life ---- */

static int start(struct controller *controller, struct engine **ret_engine, struct error *err)
{
    struct manifest_engine *engine = xcalloc(1, sizeof(*engine));

    (void)err;
    engine->base.controller = controller;
    objects_engine_init(&engine->objects, controller);
    *ret_engine = &engine->base;
    return 0;
}

static void engine_free(struct engine *base)
{
    struct manifest_engine *engine = (struct manifest_engine *)base;

    while (engine->lates)
        late_untrack(engine->lates->record);
    objects_engine_done(&engine->objects);
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

    objects_lead_lost(&engine->objects);
    late_stop_all(engine);
}

static void collect(struct engine *base)
{
    late_look_all((struct manifest_engine *)base);
}

/* ---- The data of a task ---- */

static const struct cluster_pool *clusters(const struct engine *engine)
{
    return ((const struct manifest_engine *)engine)->objects.pool;
}

static void *task_data_new(void)
{
    return xcalloc(1, sizeof(struct manifest_task));
}

static void task_data_free(void *data)
{
    struct manifest_task *known = data;

    objects_task_done(&known->objects);
    late_work_free(known->late);
    free(known);
}

static void task_data_update(struct task *task, bool is_new_order)
{
    (void)is_new_order;
    objects_task_update(task);
}

static void chain_done(struct task *task)
{
    objects_chain_done(task);
    late_work_free(manifest_task(task)->late);
    manifest_task(task)->late = NULL;
}

static struct objects_engine *objects_of_engine(struct engine *engine)
{
    return &((struct manifest_engine *)engine)->objects;
}

static struct objects_task *objects_of_task(const struct task *task)
{
    return &manifest_task(task)->objects;
}

static void observe(struct task *task, struct execution *ret_execution)
{
    manifest_observe(task, ret_execution);
    ret_execution->needs_follow_up = late_is_due(task->record);
}

/* ---- Actions that need no request ---- */

static void drop(struct task *task)
{
    manifest_drop(task);
    task_done(task);
}

const struct engine_class MANIFEST_ENGINE = {
    .traits.deployer_name = MANIFEST_DEPLOYER_NAME,
    .lock_prefix = LOCK_PREFIX_MANIFEST,
    .traits.timeout_subject = "manifest deployer",
    .traits.start_operation = "ReconcileManifests",
    .traits.is_config_unneeded_for_deletion = true,
    .traits.is_status_memory = true,
    .traits.is_export_plain = true,
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
    .observe = observe,
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
    .objects_engine = objects_of_engine,
    .objects_task = objects_of_task,
};
