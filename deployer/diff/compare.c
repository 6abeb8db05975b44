/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/diff/compare.h"

#include <string.h>

#include "common/apply/removal_preview.h"
#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/diff/view.h"
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

static json_t *row_of(const struct object_ref *ref, const char *action, enum apply_policy policy)
{
    json_t *row = object_ref_json(ref);

    (void)json_object_del(row, "uid");
    doc_set_text(row, "action", action);
    doc_set_text(row, "policy", policy_name(policy));
    doc_set_new(row, "notes", json_array());
    return row;
}

static void add_note(json_t *row, const char *text)
{
    (void)json_array_append_new(json_object_get(row, "notes"), doc_new_text(text));
}

static void set_diff(json_t *row, const json_t *before, const json_t *after)
{
    cleanup_free char *diff = view_diff(before, after);

    if (*diff)
        doc_set_text(row, "diff", diff);
    else
        add_note(row, "only fields that are not shown differ, such as metadata.managedFields");
}

static void add_planned(json_t *objects, const struct plan_object *object,
                        const struct apply_object_result *result)
{
    bool is_written = result->outcome == APPLY_CREATED || result->outcome == APPLY_CHANGED;
    json_t *row = row_of(&object->ref, apply_outcome_name(result->outcome), object->policy);

    (void)json_array_append_new(objects, row);
    if (is_written)
        set_diff(row, result->before, result->object);
    if (result->outcome == APPLY_FAILED)
        doc_set_text(row, "error", result->error.text);
    if (result->outcome == APPLY_LEFT_ALONE)
        add_note(row, object->policy == POLICY_IMMUTABLE
                          ? "it exists, and its policy immutable lets nothing change it"
                          : "it belongs to somebody else, and its policy is fallback");
    if (result->is_unchecked)
        add_note(row,
                 "not checked by the server, because its kind or namespace does not exist yet; "
                 "the item creates it");
    if (result->is_taken_over)
        add_note(row, "fields that were written before by another strategy, and are not in the "
                      "manifest, are removed as well");
    if (object->patch_after && is_written)
        add_note(row, "patchAfterDeployment is included");
}

static void add_orphan(json_t *objects, const struct inventory_entry *entry,
                       const struct removal_forecast *forecast)
{
    bool is_deleted = forecast->is_taken && forecast->verdict == REMOVAL_DELETE;
    cleanup_free char *why = NULL;
    json_t *row = NULL;

    if (forecast->error.kind != ERROR_NONE) {
        row = row_of(&entry->ref, "failed", entry->policy);
        (void)json_array_append_new(objects, row);
        doc_set_text(row, "error", forecast->error.text);
        return;
    }
    if (!forecast->live)
        return; /* gone already */
    row = row_of(&entry->ref, is_deleted ? "deleted" : "leftAlone", entry->policy);
    (void)json_array_append_new(objects, row);
    if (is_deleted) {
        set_diff(row, forecast->live, NULL);
        return;
    }
    why = forecast->verdict != REMOVAL_DELETE
              ? xasprintf("it left the item, and stays: it %s",
                          removal_verdict_text(forecast->verdict))
              : xstrdup("it left the item, and stays: no group of deletionGroupsDuringUpdate "
                        "contains it");
    add_note(row, why);
}

static json_t *count_actions(const json_t *objects)
{
    json_t *summary = json_pack("{s:i,s:i,s:i,s:i,s:i,s:i}", "created", 0, "changed", 0, "deleted",
                                0, "unchanged", 0, "leftAlone", 0, "failed", 0);
    const json_t *row = NULL;
    size_t index = 0;

    json_array_foreach(objects, index, row)
    {
        const char *action = doc_text_or(row, "action", "");

        (void)json_object_set_new(summary, action,
                                  json_integer(doc_integer_or(summary, action, 0) + 1));
    }
    return summary;
}

static const char *result_of(const json_t *summary)
{
    if (doc_integer_or(summary, "failed", 0) > 0)
        return "failed";
    return doc_integer_or(summary, "created", 0) + doc_integer_or(summary, "changed", 0) +
                       doc_integer_or(summary, "deleted", 0) >
                   0
               ? "different"
               : "same";
}

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
        add_planned(objects, &work->plan->objects[i], &comparison->result->objects[i]);
    for (size_t i = 0; i < comparison->orphans.count; i++)
        add_orphan(objects, &comparison->orphans.entries[i], &comparison->forecasts[i]);
    if (comparison->orphans.count > 0 && has_listed_groups(work->config))
        (void)json_array_append_new(
            notes, json_string("deletionGroupsDuringUpdate may also remove objects that were not "
                               "applied by the item; these are not shown"));
    summary = count_actions(objects);
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o}", "item", work->owner.identity, "server",
                     cluster_server(work->cluster), "result", result_of(summary), "summary",
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
