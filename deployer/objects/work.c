/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that apply objects. Each is one operation of common/apply on the loop. */
#include "deployer/objects/work.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"

void manifest_work_stage_done(struct manifest_work *work, enum manifest_stage next)
{
    work->is_active = false;
    work->stage = next;
    work->events->on_over(work->data);
}

void manifest_work_stage_failed(struct manifest_work *work, const struct error *err)
{
    work->is_active = false;
    work->error = *err;
    work->events->on_over(work->data);
}

/* ---- The end ---- */

static void cancel(struct manifest_work *work)
{
    planning_cancel(work->planning);
    apply_cancel(work->apply);
    removal_cancel(work->removal);
    checks_cancel(work->checks);
    exports_cancel(work->exports);
    late_patch_cancel(work->patches);
}

void manifest_work_done(struct manifest_work *work)
{
    cancel(work);
    free(work->check_objects);
    free(work->check_kinds);
    free(work->check_seen);
    free(work->check_clusters);
    free(work->export_clusters);
    free(work->group_clusters);
    free(work->is_patched);
    apply_result_free(work->applied);
    plan_free(work->plan);
    manifest_config_free(work->config);
    inventory_done(&work->inventory);
    inventory_done(&work->orphans);
    json_decref(work->values);
    cluster_put(work->cluster);
    manifest_seconds_free(work->seconds, work->second_count);
    manifest_owner_done(&work->owner);
}

/* ---- Planning ---- */

static void on_planned(void *data, struct plan *plan, const struct error *err)
{
    struct manifest_work *work = data;
    struct inventory recorded = {0};

    work->planning = NULL;
    if (err && err->kind != ERROR_NONE) {
        manifest_work_stage_failed(work, err);
        return;
    }
    work->plan = plan;
    if (work->events->on_planned)
        work->events->on_planned(work->data);
    recorded = plan_record(plan, &work->inventory);
    inventory_done(&work->inventory);
    work->inventory = recorded;
    inventory_sort(&work->inventory);
    manifest_work_stage_done(work, STAGE_RECORD);
}

/* Nothing is planned; the objects of the list, whose kinds are built in, are checked. */
static void observe_objects(struct manifest_work *work)
{
    size_t count = work->config->is_default_check ? work->inventory.count : 0;

    work->plan = xcalloc(1, sizeof(*work->plan));
    work->check_objects = xcalloc(count + 1, sizeof(*work->check_objects));
    work->check_kinds = xcalloc(count + 1, sizeof(*work->check_kinds));
    work->check_seen = xcalloc(count + 1, sizeof(json_t *));
    for (size_t i = 0; i < count; i++) {
        const struct object_ref *ref = &work->inventory.entries[i].ref;
        const struct kind *kind = kind_builtin(ref->api_version, ref->kind);

        if (!kind)
            continue;
        work->check_objects[work->check_count] = *ref;
        work->check_kinds[work->check_count++] = *kind;
    }
    work->stage = STAGE_CHECKS;
}

void manifest_work_begin(struct manifest_work *work)
{
    struct error err = {0};

    if (work->is_delete) {
        work->stage = STAGE_REMOVE;
        return;
    }
    if (work->is_observed) {
        observe_objects(work);
        return;
    }
    work->stage = STAGE_PLAN;
    work->is_active = true;
    if (plan_start(work->cluster, work->config->inputs, work->config->input_count, on_planned, work,
                   &work->planning, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

/* ---- Applying ---- */

struct inventory manifest_work_orphans(const struct manifest_work *work)
{
    cleanup_inventory struct inventory planned = {0};

    for (size_t i = 0; i < work->plan->count; i++) {
        struct inventory_entry entry = {.ref = object_ref_copy(&work->plan->objects[i].ref)};

        (void)inventory_add(&planned, entry);
    }
    return inventory_orphans(&work->inventory, &planned);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct manifest_work *work = data;

    work->apply = NULL;
    inventory_done(&work->inventory);
    work->inventory = result->inventory;
    result->inventory = (struct inventory){0};
    inventory_sort(&work->inventory);
    apply_result_free(work->applied);
    work->applied = result;
    if (result->is_record_needed) {
        manifest_work_stage_done(work, STAGE_RECORD);
        return;
    }
    if (result->failed > 0) {
        struct error err = {0};

        apply_result_error(result, &err);
        manifest_work_stage_failed(work, &err);
        return;
    }
    work->orphans = manifest_work_orphans(work);
    manifest_work_stage_done(work, work->orphans.count > 0 ? STAGE_ORPHANS : STAGE_CHECKS);
}

struct apply_options manifest_work_apply_options(const struct manifest_work *work)
{
    static const char *const former_managers[] = {MANIFEST_GO_FIELD_MANAGER, NULL};

    return (struct apply_options){.cluster = work->cluster,
                                  .plan = work->plan,
                                  .recorded = &work->inventory,
                                  .strategy = work->config->strategy,
                                  .owner = work->owner.marks,
                                  .field_manager = MANIFEST_DEPLOYER_NAME,
                                  .former_managers = former_managers,
                                  .may_send = work->may_send,
                                  .may_send_data = work->may_send_data};
}

static void start_apply(struct manifest_work *work)
{
    struct apply_options options = manifest_work_apply_options(work);
    struct error err = {0};

    options.on_done = on_applied;
    options.data = work;
    work->is_active = true;
    if (apply_start(&options, &work->apply, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

/* ---- Readiness ---- */

static void on_ready(void *data)
{
    struct manifest_work *work = data;

    work->checks = NULL;
    manifest_work_stage_done(work, STAGE_EXPORTS);
}

static void on_check_failed(void *data, const struct error *err)
{
    struct manifest_work *work = data;

    work->checks = NULL;
    work->is_active = false;
    work->failure = *err;
    work->events->on_over(work->data);
}

/* The objects of the default check: everything that is recorded of the plan. */
static void collect_objects(struct manifest_work *work)
{
    size_t count = work->config->is_default_check ? work->plan->count : 0;

    if (work->check_objects || count == 0)
        return;
    work->check_objects = xcalloc(count, sizeof(*work->check_objects));
    work->check_kinds = xcalloc(count, sizeof(*work->check_kinds));
    work->check_seen = xcalloc(count, sizeof(json_t *));
    for (size_t i = 0; i < count; i++) {
        const struct plan_object *object = &work->plan->objects[i];

        if (!inventory_find(&work->inventory, &object->ref))
            continue; /* POLICY_FALLBACK left it alone */
        work->check_objects[work->check_count] = object->ref;
        work->check_kinds[work->check_count] = object->kind;
        work->check_seen[work->check_count++] = work->applied->objects[i].object;
    }
}

static void start_checks(struct manifest_work *work)
{
    const struct manifest_config *config = work->config;
    struct checks_options options = {.cluster = work->cluster,
                                     .rules = config->rules,
                                     .custom = config->checks,
                                     .custom_count = config->check_count,
                                     .on_ready = on_ready,
                                     .on_failed = on_check_failed,
                                     .data = work};
    struct error err = {0};

    collect_objects(work);
    free(work->check_clusters);
    work->check_clusters = manifest_check_clusters(work->config, work->seconds, work->second_count);
    options.objects = work->check_objects;
    options.kinds = work->check_kinds;
    options.seen = work->check_seen;
    options.object_count = work->check_count;
    options.custom_clusters = work->check_clusters;
    if (work->check_count == 0 && config->check_count == 0) {
        manifest_work_stage_done(work, STAGE_EXPORTS);
        return;
    }
    work->is_active = true;
    if (checks_start(&options, &work->checks, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

/* ---- Exports ---- */

static void on_exports(void *data, json_t *values)
{
    struct manifest_work *work = data;

    work->exports = NULL;
    json_decref(work->values);
    work->values = values;
    manifest_work_stage_done(work, STAGE_PATCHES);
}

static void start_exports(struct manifest_work *work)
{
    const struct manifest_config *config = work->config;
    cleanup_free json_t **seen = xcalloc(work->plan->count + 1, sizeof(json_t *));
    struct exports_options options = {.cluster = work->cluster,
                                      .rules = config->exports,
                                      .count = config->export_count,
                                      .seen = seen,
                                      .seen_count = work->plan->count,
                                      .on_done = on_exports,
                                      .data = work};
    struct error err = {0};

    if (config->export_count == 0) {
        manifest_work_stage_done(work, STAGE_PATCHES);
        return;
    }
    for (size_t i = 0; i < work->plan->count; i++)
        seen[i] = work->applied->objects[i].object;
    free(work->export_clusters);
    work->export_clusters = manifest_export_clusters(config, work->seconds, work->second_count);
    options.rule_clusters = work->export_clusters;
    work->is_active = true;
    if (exports_start(&options, &work->exports, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

/* ---- Late patches ---- */

static void on_patched(void *data, const struct error *err)
{
    struct manifest_work *work = data;

    work->patches = NULL;
    if (err->kind != ERROR_NONE)
        manifest_work_stage_failed(work, err);
    else
        manifest_work_stage_done(work, STAGE_DONE);
}

/* Every object that the policy let this job write, even if it was as wanted already: an earlier
 * attempt of the job may have ended before its patch. A patch that changes nothing is not written.
 */
static bool has_patches(struct manifest_work *work)
{
    bool has_any = false;

    free(work->is_patched);
    work->is_patched = xcalloc(work->plan->count + 1, sizeof(*work->is_patched));
    for (size_t i = 0; i < work->plan->count; i++) {
        work->is_patched[i] = work->plan->objects[i].patch_after &&
                              work->applied->objects[i].outcome != APPLY_LEFT_ALONE;
        has_any = has_any || work->is_patched[i];
    }
    return has_any;
}

static void start_patches(struct manifest_work *work)
{
    struct late_patch_options options = {.cluster = work->cluster,
                                         .plan = work->plan,
                                         .field_manager = MANIFEST_DEPLOYER_NAME,
                                         .may_send = work->may_send,
                                         .may_send_data = work->may_send_data,
                                         .on_done = on_patched,
                                         .data = work};
    struct error err = {0};

    if (!has_patches(work)) {
        manifest_work_stage_done(work, STAGE_DONE);
        return;
    }
    options.is_wanted = work->is_patched;
    work->is_active = true;
    if (late_patch_start(&options, &work->patches, &err) < 0)
        manifest_work_stage_failed(work, &err);
}

void manifest_work_start(struct manifest_work *work)
{
    static void (*const starts[])(struct manifest_work *) = {
        [STAGE_APPLY] = start_apply,     [STAGE_ORPHANS] = manifest_work_start_orphans,
        [STAGE_CHECKS] = start_checks,   [STAGE_EXPORTS] = start_exports,
        [STAGE_PATCHES] = start_patches, [STAGE_REMOVE] = manifest_work_start_removal,
    };

    starts[work->stage](work);
}

/* ---- For people ---- */

/* Takes text over. */
static char *with_subject(const char *subject, char *text)
{
    char *whole = text ? xasprintf("%s: %s", subject, text) : xstrdup(subject);

    free(text);
    return whole;
}

char *manifest_work_describe(const struct manifest_work *work)
{
    switch (work->stage) {
    case STAGE_PLAN:
        return xasprintf("waiting for the kinds that the API server %s knows",
                         cluster_server(work->cluster));
    case STAGE_RECORD:
        return NULL;
    case STAGE_APPLY:
        if (!work->apply)
            return xasprintf("waiting for other items that are applied to %s",
                             cluster_server(work->cluster));
        return with_subject("applying objects", apply_describe(work->apply));
    case STAGE_ORPHANS:
    case STAGE_REMOVE:
        return with_subject("waiting for objects to be removed",
                            work->removal ? removal_describe(work->removal) : NULL);
    case STAGE_CHECKS:
        return with_subject("not ready", work->checks ? checks_describe(work->checks) : NULL);
    case STAGE_EXPORTS:
        return with_subject("waiting for exported values",
                            work->exports ? exports_describe(work->exports) : NULL);
    case STAGE_PATCHES:
        return with_subject("patching objects after the deployment",
                            work->patches ? late_patch_describe(work->patches) : NULL);
    case STAGE_DONE:
        break;
    }
    return NULL;
}
