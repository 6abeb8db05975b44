/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that remove objects: what left the list, and everything on deletion. */
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/manifest/engine.h"
#include "deployer/protocol/events.h"

/* An object that was left alone is not ours any more, which users should know. */
static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct manifest_run *run = data;
    struct task *task = run->task;

    if (verdict == REMOVAL_REPLACED || verdict == REMOVAL_MOVED) {
        cleanup_free char *object = object_ref_text(ref);

        log_info("object left alone", log_text("deployItem", task->record->name),
                 log_text("namespace", task->record->namespace_name), log_text("object", object),
                 log_text("reason", removal_verdict_text(verdict)));
    }
    inventory_remove(&run->inventory, ref);
}

static void on_done(void *data)
{
    struct manifest_run *run = data;

    run->removal = NULL;
    manifest_stage_done(run, run->is_delete ? STAGE_DONE : STAGE_CHECKS);
}

/* entries must not change while the removal is under way; run->inventory does. */
static void start(struct manifest_run *run, const struct removal_group *groups, size_t count,
                  const struct inventory *entries)
{
    bool is_default = count == 0;
    struct removal_options options = {.cluster = run->cluster,
                                      .groups = is_default ? REMOVAL_DEFAULT_GROUPS : groups,
                                      .group_count =
                                          is_default ? array_length(REMOVAL_DEFAULT_GROUPS) : count,
                                      .entries = entries,
                                      .owner = run->owner.marks,
                                      .field_manager = MANIFEST_DEPLOYER_NAME,
                                      .may_send = controller_may_send,
                                      .may_send_data = run->task->controller,
                                      .on_removed = on_removed,
                                      .on_done = on_done,
                                      .data = run};
    struct error err = {0};

    free(run->group_clusters);
    run->group_clusters = xcalloc(options.group_count, sizeof(struct cluster *));
    for (size_t i = 0; i < options.group_count; i++)
        run->group_clusters[i] = manifest_run_cluster(run, options.groups[i].target_name);
    options.group_clusters = run->group_clusters;
    run->is_active = true;
    if (removal_start(&options, &run->removal, &err) < 0)
        manifest_stage_failed(run, &err);
}

void manifest_start_orphans(struct manifest_run *run)
{
    start(run, run->config->update_groups, run->config->update_group_count, &run->orphans);
}

void manifest_start_removal(struct manifest_run *run)
{
    inventory_done(&run->orphans);
    run->orphans = inventory_copy(&run->inventory);
    start(run, run->config->groups, run->config->group_count, &run->orphans);
}
