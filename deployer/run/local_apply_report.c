/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a local run of a manifest item, and its result. */
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/run/local_apply_internal.h"

static const char *const steps[] = {
    [STAGE_PLAN] = "plan",     [STAGE_APPLY] = "apply",     [STAGE_ORPHANS] = "prune",
    [STAGE_CHECKS] = "ready",  [STAGE_EXPORTS] = "exports", [STAGE_PATCHES] = "patch",
    [STAGE_REMOVE] = "remove",
};

/* ---- Progress ---- */

static void count_outcomes(const struct apply_result *applied, size_t counts[APPLY_FAILED + 1])
{
    for (size_t i = 0; i < applied->count; i++)
        counts[applied->objects[i].outcome]++;
}

static void end_apply_step(struct local_apply *run)
{
    size_t counts[APPLY_FAILED + 1] = {0};

    count_outcomes(run->work.applied, counts);
    show_end(run->show, "%zu created, %zu changed, %zu unchanged, %zu left alone",
             counts[APPLY_CREATED], counts[APPLY_CHANGED], counts[APPLY_UNCHANGED],
             counts[APPLY_LEFT_ALONE]);
}

void local_apply_end_step(struct local_apply *run)
{
    if (!run->is_shown)
        return;
    run->is_shown = false;
    switch (run->shown) {
    case STAGE_PLAN:
        show_end(run->show, "%zu %s for %s", run->work.plan->count,
                 run->work.plan->count == 1 ? "object" : "objects",
                 cluster_server(run->work.cluster));
        break;
    case STAGE_APPLY:
        end_apply_step(run);
        break;
    case STAGE_ORPHANS:
    case STAGE_REMOVE:
        show_end(run->show, "%zu removed, %zu left alone", run->removed, run->left);
        break;
    case STAGE_CHECKS:
        show_end(run->show, "everything is ready");
        break;
    case STAGE_EXPORTS:
        show_end(run->show, "all values found");
        break;
    case STAGE_PATCHES:
        show_end(run->show, "patched after the deployment");
        break;
    case STAGE_RECORD:
    case STAGE_DONE:
        break;
    }
}

void local_apply_begin_step(struct local_apply *run, enum manifest_stage stage)
{
    cleanup_free char *text = manifest_work_describe(&run->work);

    if (run->is_shown && run->shown == stage)
        return;
    run->shown = stage;
    run->is_shown = true;
    show_begin(run->show, steps[stage], text ? text : "");
}

/* ---- The result ---- */

static void add_objects(const struct local_apply *run, json_t *objects)
{
    const struct apply_result *applied = run->work.applied;

    for (size_t i = 0; applied && i < applied->count; i++) {
        json_t *row = object_ref_json(&run->work.plan->objects[i].ref);

        doc_set_text(row, "outcome", apply_outcome_name(applied->objects[i].outcome));
        if (applied->objects[i].outcome == APPLY_FAILED)
            doc_set_text(row, "error", applied->objects[i].error.text);
        (void)json_array_append_new(objects, row);
    }
    (void)json_array_extend(objects, run->removals);
}

void local_apply_complete_result(struct local_apply *run)
{
    json_t *objects = json_array();

    add_objects(run, objects);
    (void)json_object_set_new(run->result, "objects", objects);
    (void)json_object_set_new(run->result, "durations", show_durations(run->show));
    if (run->failure.kind != ERROR_NONE) {
        result_fail(run->result, run->reason, run->failure.text);
        return;
    }
    if (run->work.values)
        (void)json_object_set(run->result, "exports", run->work.values);
    result_succeed(run->result);
}
