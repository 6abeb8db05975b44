/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that remove objects: what left the list, and everything on deletion. */
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/objects/work.h"

static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct manifest_work *work = data;

    work->events->on_removed(work->data, ref, verdict);
    inventory_remove(&work->inventory, ref);
}

static void on_done(void *data)
{
    struct manifest_work *work = data;

    work->removal = NULL;
    inventory_sort(&work->inventory);
    manifest_work_stage_done(work, work->is_delete ? STAGE_DONE : STAGE_CHECKS);
}

/* entries must not change while the removal is under way; work->inventory does. */
static void start(struct manifest_work *work, const struct removal_group *groups, size_t count,
                  const struct inventory *entries)
{
    bool is_default = count == 0;
    struct removal_options options = {.cluster = work->cluster,
                                      .groups = is_default ? REMOVAL_DEFAULT_GROUPS : groups,
                                      .group_count =
                                          is_default ? array_length(REMOVAL_DEFAULT_GROUPS) : count,
                                      .entries = entries,
                                      .owner = work->owner.marks,
                                      .field_manager = MANIFEST_DEPLOYER_NAME,
                                      .may_send = work->may_send,
                                      .may_send_data = work->may_send_data,
                                      .on_removed = on_removed,
                                      .on_done = on_done,
                                      .data = work};
    struct error err = {0};

    free(work->group_clusters);
    work->group_clusters = xcalloc(options.group_count, sizeof(struct cluster *));
    for (size_t i = 0; i < options.group_count; i++)
        work->group_clusters[i] =
            manifest_find_cluster(work->seconds, work->second_count, options.groups[i].target_name);
    options.group_clusters = work->group_clusters;
    work->is_active = true;
    if (removal_start(&options, &work->removal, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

void manifest_work_start_orphans(struct manifest_work *work)
{
    start(work, work->config->update_groups, work->config->update_group_count, &work->orphans);
}

void manifest_work_start_removal(struct manifest_work *work)
{
    inventory_done(&work->orphans);
    work->orphans = inventory_copy(&work->inventory);
    start(work, work->config->groups, work->config->group_count, &work->orphans);
}
