/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a job that applies objects. Each is one operation of common/apply on the loop,
 * which wakes the task when it is done. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "deployer/manifest/engine.h"

void manifest_stage_done(struct manifest_run *run, enum manifest_stage next)
{
    run->is_active = false;
    gate_leave(&run->engine->gate, &run->place);
    run->stage = next;
    task_clear_fault(run->task);
    retry_reset(&run->task->known.retry);
    task_wake(run->task);
}

void manifest_stage_failed(struct manifest_run *run, const struct error *err)
{
    run->is_active = false;
    gate_leave(&run->engine->gate, &run->place);
    run->error = *err;
    task_wake(run->task);
}

/* ---- Applying ---- */

/* What is recorded, but not part of the plan. */
static struct inventory orphans_of(const struct manifest_run *run)
{
    cleanup_inventory struct inventory planned = {0};

    for (size_t i = 0; i < run->plan->count; i++) {
        struct inventory_entry entry = {.ref = object_ref_copy(&run->plan->objects[i].ref)};

        (void)inventory_add(&planned, entry);
    }
    return inventory_orphans(&run->inventory, &planned);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct manifest_run *run = data;

    run->apply = NULL;
    inventory_done(&run->inventory);
    run->inventory = result->inventory;
    result->inventory = (struct inventory){0};
    inventory_sort(&run->inventory);
    if (result->failed > 0) {
        struct error err = {0};

        apply_result_error(result, &err);
        apply_result_free(result);
        manifest_stage_failed(run, &err);
        return;
    }
    run->applied = result;
    run->orphans = orphans_of(run);
    manifest_stage_done(run, run->orphans.count > 0 ? STAGE_ORPHANS : STAGE_CHECKS);
}

static void start_apply(struct manifest_run *run)
{
    static const char *const former_managers[] = {MANIFEST_GO_FIELD_MANAGER, NULL};
    const struct apply_options options = {.cluster = run->cluster,
                                          .plan = run->plan,
                                          .recorded = &run->inventory,
                                          .strategy = run->config->strategy,
                                          .owner = run->owner.marks,
                                          .field_manager = MANIFEST_DEPLOYER_NAME,
                                          .former_managers = former_managers,
                                          .may_send = controller_may_send,
                                          .may_send_data = run->task->controller,
                                          .on_done = on_applied,
                                          .data = run};
    struct error err = {0};

    if (!gate_enter(&run->engine->gate, &run->place, run->cluster, run))
        return;
    run->is_active = true;
    if (apply_start(&options, &run->apply, &err) < 0)
        manifest_stage_failed(run, &err);
}

/* ---- Readiness ---- */

static void on_ready(void *data)
{
    struct manifest_run *run = data;

    run->checks = NULL;
    manifest_stage_done(run, STAGE_EXPORTS);
}

static void on_check_failed(void *data, const struct error *err)
{
    struct manifest_run *run = data;

    run->checks = NULL;
    run->is_active = false;
    run->failure = *err;
    task_wake(run->task);
}

/* The objects of the default check: everything that is recorded of the plan. */
static void collect_objects(struct manifest_run *run)
{
    size_t count = run->config->is_default_check ? run->plan->count : 0;

    if (run->check_objects || count == 0)
        return;
    run->check_objects = xcalloc(count, sizeof(*run->check_objects));
    run->check_kinds = xcalloc(count, sizeof(*run->check_kinds));
    run->check_seen = xcalloc(count, sizeof(json_t *));
    for (size_t i = 0; i < count; i++) {
        const struct plan_object *object = &run->plan->objects[i];

        if (!inventory_find(&run->inventory, &object->ref))
            continue; /* POLICY_FALLBACK left it alone */
        run->check_objects[run->check_count] = object->ref;
        run->check_kinds[run->check_count] = object->kind;
        run->check_seen[run->check_count++] = run->applied->objects[i].object;
    }
}

static void connect_checks(struct manifest_run *run)
{
    struct manifest_config *config = run->config;

    free(run->check_clusters);
    run->check_clusters = xcalloc(config->check_count + 1, sizeof(struct cluster *));
    for (size_t i = 0; i < config->check_count; i++) {
        struct custom_check *check = &config->checks[i];

        run->check_clusters[i] = manifest_run_cluster(run, check->target_name);
        for (size_t j = 0; j < check->requirement_count; j++) {
            struct check_value_from *from = check->requirements[j].value_from;

            if (from)
                from->cluster = manifest_run_cluster(run, from->target_name);
        }
    }
}

static void start_checks(struct manifest_run *run)
{
    const struct manifest_config *config = run->config;
    struct checks_options options = {.cluster = run->cluster,
                                     .rules = config->rules,
                                     .custom = config->checks,
                                     .custom_count = config->check_count,
                                     .on_ready = on_ready,
                                     .on_failed = on_check_failed,
                                     .data = run};
    struct error err = {0};

    collect_objects(run);
    connect_checks(run);
    options.objects = run->check_objects;
    options.kinds = run->check_kinds;
    options.seen = run->check_seen;
    options.object_count = run->check_count;
    options.custom_clusters = run->check_clusters;
    if (run->check_count == 0 && config->check_count == 0) {
        manifest_stage_done(run, STAGE_EXPORTS);
        return;
    }
    run->is_active = true;
    if (checks_start(&options, &run->checks, &err) < 0)
        manifest_stage_failed(run, &err);
}

/* ---- Exports ---- */

static void on_exports(void *data, json_t *values)
{
    struct manifest_run *run = data;

    run->exports = NULL;
    json_decref(run->values);
    run->values = values;
    manifest_stage_done(run, STAGE_PATCHES);
}

static void start_exports(struct manifest_run *run)
{
    const struct manifest_config *config = run->config;
    cleanup_free json_t **seen = xcalloc(run->plan->count + 1, sizeof(json_t *));
    struct exports_options options = {.cluster = run->cluster,
                                      .rules = config->exports,
                                      .count = config->export_count,
                                      .seen = seen,
                                      .seen_count = run->plan->count,
                                      .on_done = on_exports,
                                      .data = run};
    struct error err = {0};

    if (config->export_count == 0) {
        manifest_stage_done(run, STAGE_PATCHES);
        return;
    }
    for (size_t i = 0; i < run->plan->count; i++)
        seen[i] = run->applied->objects[i].object;
    free(run->export_clusters);
    run->export_clusters = xcalloc(config->export_count, sizeof(struct cluster *));
    for (size_t i = 0; i < config->export_count; i++)
        run->export_clusters[i] = manifest_run_cluster(run, config->exports[i].target_name);
    options.rule_clusters = run->export_clusters;
    run->is_active = true;
    if (exports_start(&options, &run->exports, &err) < 0)
        manifest_stage_failed(run, &err);
}

/* ---- Late patches ---- */

static void on_patched(void *data, const struct error *err)
{
    struct manifest_run *run = data;

    run->patches = NULL;
    if (err->kind != ERROR_NONE)
        manifest_stage_failed(run, err);
    else
        manifest_stage_done(run, STAGE_DONE);
}

/* Every object that the policy let this job write, even if it was as wanted already: an earlier
 * attempt of the job may have ended before its patch. A patch that changes nothing is not written.
 */
static bool has_patches(struct manifest_run *run)
{
    bool has_any = false;

    free(run->is_patched);
    run->is_patched = xcalloc(run->plan->count + 1, sizeof(*run->is_patched));
    for (size_t i = 0; i < run->plan->count; i++) {
        run->is_patched[i] = run->plan->objects[i].patch_after &&
                             run->applied->objects[i].outcome != APPLY_LEFT_ALONE;
        has_any = has_any || run->is_patched[i];
    }
    return has_any;
}

static void start_patches(struct manifest_run *run)
{
    struct late_patch_options options = {.cluster = run->cluster,
                                         .plan = run->plan,
                                         .field_manager = MANIFEST_DEPLOYER_NAME,
                                         .may_send = controller_may_send,
                                         .may_send_data = run->task->controller,
                                         .on_done = on_patched,
                                         .data = run};
    struct error err = {0};

    if (!has_patches(run)) {
        manifest_stage_done(run, STAGE_DONE);
        return;
    }
    options.is_wanted = run->is_patched;
    run->is_active = true;
    if (late_patch_start(&options, &run->patches, &err) < 0)
        manifest_stage_failed(run, &err);
}

void manifest_stage_start(struct manifest_run *run)
{
    static void (*const starts[])(struct manifest_run *) = {
        [STAGE_APPLY] = start_apply,     [STAGE_ORPHANS] = manifest_start_orphans,
        [STAGE_CHECKS] = start_checks,   [STAGE_EXPORTS] = start_exports,
        [STAGE_PATCHES] = start_patches, [STAGE_REMOVE] = manifest_start_removal,
    };

    starts[run->stage](run);
}
