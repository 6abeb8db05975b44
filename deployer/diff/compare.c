/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/compare.h"

#include <string.h>

#include "common/apply/removal_preview.h"
#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/diff/rows.h"
#include "deployer/objects/work.h"

struct comparison {
    struct loop *loop;
    struct cluster_pool *pool;
    struct manifest_work work;
    struct loop_timer next;
    struct apply *apply;
    struct apply_result *result;
    struct inventory orphans;
    struct removal_preview *preview;
    struct removal_forecast *forecasts;
};

void compare_records_done(struct compare_records *records)
{
    inventory_done(&records->inventory);
    free(records->cluster);
    *records = (struct compare_records){0};
}

/* ---- The document ---- */

static bool has_listed_groups(const struct manifest_config *config)
{
    for (size_t i = 0; i < config->update_group_count; i++) {
        if (config->update_groups[i].type == REMOVAL_ALL ||
            config->update_groups[i].type == REMOVAL_SELECTED)
            return true;
    }
    return false;
}

static json_t *document_of(const struct comparison *comparison)
{
    const struct manifest_work *work = &comparison->work;
    json_t *objects = json_array();
    json_t *notes = json_array();
    json_t *summary = NULL;

    for (size_t i = 0; i < work->plan->count; i++)
        rows_add_planned(objects, &work->plan->objects[i], &comparison->result->objects[i]);
    for (size_t i = 0; i < comparison->orphans.count; i++)
        rows_add_orphan(objects, &comparison->orphans.entries[i], &comparison->forecasts[i]);
    if (comparison->orphans.count > 0 && has_listed_groups(work->config))
        (void)json_array_append_new(
            notes, json_string("deletionGroupsDuringUpdate may also remove objects that were not "
                               "applied by the item; these are not shown"));
    summary = rows_count_actions(objects);
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o}", "item", work->owner.identity, "server",
                     cluster_server(work->cluster), "result", rows_result_of(summary), "summary",
                     summary, "notes", notes, "objects", objects);
}

/* ---- The steps ---- */

static void fail(struct comparison *comparison, const struct error *err)
{
    comparison->work.error = *err;
    loop_stop(comparison->loop);
}

static void on_previewed(void *data, struct removal_forecast *forecasts)
{
    struct comparison *comparison = data;

    comparison->preview = NULL;
    comparison->forecasts = forecasts;
    loop_stop(comparison->loop);
}

static void preview_orphans(struct comparison *comparison)
{
    const struct manifest_work *work = &comparison->work;
    bool is_default = work->config->update_group_count == 0;
    const struct removal_preview_options options = {
        .cluster = work->cluster,
        .groups = is_default ? REMOVAL_DEFAULT_GROUPS : work->config->update_groups,
        .group_count =
            is_default ? array_length(REMOVAL_DEFAULT_GROUPS) : work->config->update_group_count,
        .entries = &comparison->orphans,
        .owner = work->owner.marks,
        .on_done = on_previewed,
        .data = comparison};

    comparison->orphans = manifest_work_orphans(work);
    comparison->preview = removal_preview_start(&options);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct comparison *comparison = data;

    comparison->apply = NULL;
    comparison->result = result;
    preview_orphans(comparison);
}

static void on_next(void *data)
{
    struct comparison *comparison = data;
    struct apply_options options = {0};
    struct error err = {0};

    if (comparison->work.error.kind != ERROR_NONE) {
        loop_stop(comparison->loop);
        return;
    }
    options = manifest_work_apply_options(&comparison->work);
    options.is_dry_run = true;
    options.on_done = on_applied;
    options.data = comparison;
    if (apply_start(&options, &comparison->apply, &err) < 0)
        fail(comparison, &err);
}

static void on_planned(void *data)
{
    loop_timer_start(&((struct comparison *)data)->next, 0);
}

static int perform(struct comparison *comparison, struct error *err)
{
    manifest_work_begin(&comparison->work);
    if (loop_run(comparison->loop, err) < 0)
        return -1;
    if (comparison->work.error.kind == ERROR_NONE)
        return 0;
    *err = comparison->work.error;
    return -1;
}

static int set_up(struct comparison *comparison, struct offline_manifest *manifest,
                  struct compare_records *records, struct error *err)
{
    static const struct manifest_work_events events = {.on_over = on_planned};
    struct manifest_work *work = &comparison->work;

    if (loop_new(clock_system(), &comparison->loop, err) < 0)
        return -1;
    loop_timer_init(&comparison->next, comparison->loop, on_next, comparison);
    comparison->pool = cluster_pool_new(comparison->loop, "longshore/" LONGSHORE_VERSION);
    work->events = &events;
    work->data = comparison;
    work->config = steal(&manifest->config);
    work->inventory = records->inventory;
    records->inventory = (struct inventory){0};
    manifest_owner_init(&work->owner, manifest->item->namespace_name, manifest->item->name);
    return cluster_get(comparison->pool, steal(&manifest->access), &work->cluster, err);
}

static void take_down(struct comparison *comparison)
{
    loop_timer_stop(&comparison->next);
    apply_cancel(comparison->apply);
    removal_preview_cancel(comparison->preview);
    removal_forecasts_free(comparison->forecasts, comparison->orphans.count);
    apply_result_free(comparison->result);
    manifest_work_done(&comparison->work);
    inventory_done(&comparison->orphans);
    cluster_pool_free(comparison->pool);
    loop_free(comparison->loop);
}

int compare_item(struct offline_manifest *manifest, struct compare_records *records,
                 json_t **ret_document, struct error *err)
{
    struct comparison comparison = {0};
    int result = set_up(&comparison, manifest, records, err);

    if (result == 0)
        result = perform(&comparison, err);
    if (result == 0) {
        *ret_document = document_of(&comparison);
        if (records->cluster &&
            strcmp(records->cluster, cluster_hash(comparison.work.cluster)) != 0)
            (void)json_array_append_new(
                json_object_get(*ret_document, "notes"),
                json_string("the objects of the last job were applied to another cluster, or the "
                            "address or the CA of the cluster has changed since"));
    }
    take_down(&comparison);
    return result;
}
