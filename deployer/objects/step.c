/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on an execution that exists: its next stage, and its end. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/objects/run.h"
#include "deployer/protocol/act.h"

enum { STATUS_UNAUTHORIZED = 401 };

/* operation and reason of the Go deployer, for lastError. */
static const struct {
    const char *operation, *reason;
} names[] = {
    [STAGE_PLAN] = {"GetApiResource", "GetApiResourceList"},
    [STAGE_APPLY] = {"ApplyObjects", "ApplyNewObject"},
    [STAGE_ORPHANS] = {"ApplyObjects", "cleanupOrphanedResourcesInGroups"},
    [STAGE_CHECKS] = {"WaitForObjectsReady", "CheckReadiness"},
    [STAGE_EXPORTS] = {"ReconcileManifests", "ReadExportValues"},
    [STAGE_PATCHES] = {"ReconcileManifests", "PatchAfterDeployment"},
    [STAGE_REMOVE] = {"delete", "DeleteWithUninstall"},
};

/* The credentials may have been replaced: the Target is read again, and the job starts anew. What
 * was applied is not applied again because of a later stage that is forbidden. */
static bool is_denied(enum manifest_stage stage, const struct error *err)
{
    return err->http_status == STATUS_UNAUTHORIZED ||
           (err->kind == ERROR_DENIED && stage <= STAGE_APPLY);
}

static void fail_plan(struct task *task, const struct error *err)
{
    if (err->kind == ERROR_INVALID)
        task_set_fault(task, "InitManifestOperation", "ValidateProviderConfiguration", err,
                       CODE_CONFIGURATION_PROBLEM);
    else
        task_set_fault(task, names[STAGE_PLAN].operation,
                       err->kind == ERROR_NOT_FOUND ? "GetApiResource" : names[STAGE_PLAN].reason,
                       err, err->http_status == STATUS_UNAUTHORIZED ? CODE_UNAUTHORIZED : NULL);
}

/* Becomes a fault, which is reported and retried. */
static void fail_stage(struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;
    enum manifest_stage stage = run->work.stage;
    struct error err = run->work.error;

    run->work.error = (struct error){0};
    if (is_denied(stage, &err))
        token_cache_clear(run->engine->tokens);
    if (stage == STAGE_APPLY && is_denied(stage, &err))
        manifest_retire(task);
    else if (stage == STAGE_PLAN || is_denied(stage, &err) || err.kind == ERROR_CANCELLED)
        manifest_drop(task);
    if (err.kind == ERROR_CANCELLED) { /* another process leads, or we do again */
        task_done(task);
        return;
    }
    if (stage == STAGE_PLAN) {
        fail_plan(task, &err);
        return;
    }
    /* What the server refuses now it may accept later: another item may change that. The job's
     * timeout is the limit. */
    err.kind = ERROR_TEMPORARY;
    task_set_fault(task, names[stage].operation, names[stage].reason, &err, NULL);
}

/* Objects are applied only while there is room in the gate. */
static void start_stage(struct manifest_run *run)
{
    if (run->work.stage == STAGE_APPLY &&
        !gate_enter(&run->engine->gate, &run->place, run->work.cluster, run))
        return;
    manifest_work_start(&run->work);
}

void manifest_step(struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;

    if (run->work.error.kind != ERROR_NONE) {
        fail_stage(task);
        return;
    }
    if (run->work.stage == STAGE_RECORD)
        run->work.stage = STAGE_APPLY;
    /* Stages that have nothing to do are over at once. */
    while (run->work.stage != STAGE_DONE && !run->work.is_active && !run->place.is_waiting &&
           run->work.error.kind == ERROR_NONE)
        start_stage(run);
    task_done(task);
}

/* ---- The end ---- */

/* {"config": base64 of the JSON}. New reference; NULL: there is no room for it. */
static json_t *export_data(const json_t *values, struct error *err)
{
    cleanup_wipe char *text = doc_dump_sorted(values);
    cleanup_wipe char *encoded = NULL;

    if (strlen(text) > SECRET_MAX_BYTES) {
        (void)error_set(err, ERROR_TOO_LARGE,
                        "the exported values have %zu bytes, but a Secret has room for %d",
                        strlen(text), SECRET_MAX_BYTES);
        return NULL;
    }
    encoded = base64_encode(text, strlen(text));
    return json_pack("{s:s}", SECRET_KEY_CONFIG, encoded);
}

void manifest_complete(struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;
    cleanup_json json_t *exports = NULL;
    struct error err = {0};

    if (run->work.values) {
        exports = export_data(run->work.values, &err);
        if (!exports) {
            task_set_fault(task, "CreateExports", "MarshalExportData", &err, NULL);
            return;
        }
    }
    act_complete_with(task, exports);
}
