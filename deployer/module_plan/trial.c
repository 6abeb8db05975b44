/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/module_plan/trial.h"

#include "common/apply/removal_preview.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/diff/rows.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/synced.h"

/* One step at a time; its callback ends it. */
struct step {
    struct loop *loop;
    bool is_over;
    struct plan *plan;
    struct apply_result *result;
    struct removal_forecast *forecasts;
    struct error error;
};

static void end(struct step *step)
{
    step->is_over = true;
    loop_stop(step->loop);
}

static int finish(struct step *step, struct error *err)
{
    while (!step->is_over) {
        if (loop_run(step->loop, err) < 0)
            return -1;
    }
    step->is_over = false;
    if (step->error.kind == ERROR_NONE)
        return 0;
    *err = step->error;
    return -1;
}

static void on_planned(void *data, struct plan *plan, const struct error *err)
{
    struct step *step = data;

    step->plan = plan;
    if (!plan)
        step->error = *err;
    end(step);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct step *step = data;

    step->result = result;
    end(step);
}

static void on_previewed(void *data, struct removal_forecast *forecasts)
{
    struct step *step = data;

    step->forecasts = forecasts;
    end(step);
}

static int make_plan(const struct trial *trial, const json_t *manifest, const json_t *objects,
                     struct step *step, struct error *err)
{
    const struct module_owner owner = {
        .namespace_name = trial->namespace_name,
        .manifest_name = doc_text_or(manifest, "metadata.name", ""),
    };
    cleanup_json json_t *copies = json_array();
    size_t count = json_array_size(objects);
    cleanup_free struct plan_input *inputs = xcalloc(count + 1, sizeof(*inputs));
    cleanup_json json_t *namespace_object =
        json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata", "name",
                  KYMA_NAMESPACE);
    struct planning *planning = NULL;

    for (size_t i = 0; i < count; i++) {
        json_t *copy = NULL;

        if (module_object_in_cluster(json_array_get(objects, i), &owner, manifest, &copy, err) < 0)
            return -1;
        (void)json_array_append_new(copies, copy);
        inputs[i] = module_plan_input(copy);
    }
    if (trial->lacks_namespace)
        inputs[count++] = module_plan_input(namespace_object);
    if (plan_start(trial->cluster, inputs, count, on_planned, step, &planning, err) < 0)
        return -1;
    return finish(step, err);
}

static int try_apply(const struct trial *trial, struct apply_owner owner, struct step *step,
                     json_t *rows, struct error *err)
{
    const struct inventory none = {0};
    struct inventory recorded = plan_record(step->plan, &none);
    const struct apply_options options = {
        .cluster = trial->cluster,
        .plan = step->plan,
        .recorded = &recorded,
        .strategy = STRATEGY_APPLY,
        .owner = owner,
        .field_manager = KYMA_FIELD_MANAGER_APPLIER,
        .is_dry_run = true,
        .on_done = on_applied,
        .data = step,
    };
    struct apply *apply = NULL;
    int result = apply_start(&options, &apply, err);

    if (result == 0)
        result = finish(step, err);
    for (size_t i = 0; result == 0 && i < step->plan->count; i++)
        rows_add_planned(rows, &step->plan->objects[i], &step->result->objects[i]);
    apply_result_free(steal(&step->result));
    inventory_done(&recorded);
    return result;
}

static int try_removal(const struct trial *trial, struct apply_owner owner, const json_t *synced,
                       bool is_last, struct step *step, json_t *rows, struct error *err)
{
    struct inventory entries = synced_inventory(synced, is_last);
    const struct removal_preview_options options = {
        .cluster = trial->cluster,
        .groups = REMOVAL_DEFAULT_GROUPS,
        .group_count = array_length(REMOVAL_DEFAULT_GROUPS),
        .entries = &entries,
        .owner = owner,
        .on_done = on_previewed,
        .data = step,
    };
    int result = 0;

    if (entries.count > 0) {
        (void)removal_preview_start(&options);
        result = finish(step, err);
    }
    for (size_t i = 0; result == 0 && i < entries.count; i++)
        rows_add_orphan(rows, &entries.entries[i], &step->forecasts[i]);
    removal_forecasts_free(steal(&step->forecasts), entries.count);
    inventory_done(&entries);
    return result;
}

int trial_run(const struct trial *trial, const json_t *manifest, const json_t *objects,
              json_t **ret_document, struct error *err)
{
    struct step step = {.loop = trial->loop};
    cleanup_free char *text =
        xasprintf("%s/%s", trial->namespace_name, doc_text_or(manifest, "metadata.name", ""));
    const struct apply_owner owner = {
        .label_key = KYMA_LABEL_MANAGED_BY,
        .label_value = KYMA_MANAGED_BY_CLUSTER,
        .annotation_key = KYMA_ANNOTATION_OWNED_BY,
        .annotation_value = text,
    };
    cleanup_json json_t *rows = json_array();
    cleanup_json json_t *planned = NULL, *orphans = NULL, *summary = NULL;
    int result = 0;

    if (objects)
        result = make_plan(trial, manifest, objects, &step, err);
    if (result == 0 && step.plan)
        result = try_apply(trial, owner, &step, rows, err);
    planned = step.plan ? synced_of_plan(step.plan) : json_array();
    orphans = synced_minus(doc_get(manifest, "status.synced"), planned);
    for (int is_last = 0; is_last < 2 && result == 0; is_last++)
        result = try_removal(trial, owner, orphans, is_last, &step, rows, err);
    plan_free(step.plan);
    if (result < 0)
        return -1;
    summary = rows_count_actions(rows);
    *ret_document = json_pack("{s:s,s:O,s:[],s:O}", "result", rows_result_of(summary), "summary",
                              summary, "notes", "objects", rows);
    return 0;
}
