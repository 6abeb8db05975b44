/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an execution: checks everything that can be checked without the target, resolves the
 * targets to clusters, and begins. Requests go to Landscaper's API server only; what the target is
 * asked for happens outside of the chain, because it may not respond. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/objects/run.h"
#include "deployer/objects/targets.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"

#define OPERATION_INIT "InitManifestOperation"
#define OPERATION_RECONCILE_MANIFESTS "ReconcileManifests"

struct manifest_start {
    struct manifest_run *run;
    char *stored_cluster; /* hash of the cluster that the stored objects are in; or NULL */
};

void manifest_start_done(struct manifest_start *start)
{
    if (!start)
        return;
    manifest_run_free(start->run);
    free(start->stored_cluster);
    free(start);
}

static struct manifest_start *start_of(const struct task *task)
{
    return objects_task(task)->start;
}

/* ---- The beginning of the execution ---- */

static void begin(struct task *task)
{
    struct manifest_start *start = start_of(task);
    struct manifest_run *run = start->run;

    if (start->stored_cluster && run->work.inventory.count > 0 &&
        strcmp(start->stored_cluster, cluster_hash(run->work.cluster)) != 0)
        events_send_once(
            task, cluster_hash(run->work.cluster), "TargetChanged",
            "the address or the CA of the target's cluster has changed since the last job: objects "
            "that were deployed to another cluster are neither found nor removed there");
    manifest_run_free(objects_task(task)->run); /* a stale one */
    objects_task(task)->run = run;
    start->run = NULL;
    /* The clusters have what they need of it. */
    task_drop_target(task);
    manifest_run_begin(run);
    task_done(task);
}

/* ---- Targets ---- */

static void on_cluster(struct task *task, const char *name, struct cluster *cluster)
{
    struct manifest_run *run = start_of(task)->run;

    if (!run->work.cluster)
        run->work.cluster = cluster; /* the item's own is the first one */
    else
        run->work.seconds[run->work.second_count++] =
            (struct second_cluster){.target = xstrdup(name), .cluster = cluster};
}

static void on_failed(struct task *task, const char *reason, const struct error *err,
                      const char *code)
{
    task_set_fault(task, OPERATION_RECONCILE_MANIFESTS, reason, err, code);
}

static const struct targets_handler targets_handler = {on_cluster, begin, on_failed};

/* ---- Checks without requests ---- */

/* Fields that are unknown or have no effect: said once. */
static void report_ignored(struct task *task, const struct mistakes *mistakes)
{
    cleanup_free char *text = xstrdup("");

    for (size_t i = 0; i < mistakes->count; i++) {
        const struct mistake *mistake = &mistakes->items[i];
        char *longer = NULL;

        if (mistake->kind != MISTAKE_UNKNOWN)
            continue;
        longer = xasprintf("%s%s%s: %s", text, *text ? "; " : "", mistake->path, mistake->text);
        free(text);
        text = longer;
    }
    if (*text)
        events_send_once(task, "ignored-fields", "FieldsIgnored", text);
}

/* NULL: a fault was set. */
static struct manifest_config *read_config(struct task *task)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct manifest_config *config = NULL;
    struct error err = {0};
    bool is_valid = false;

    if (task->item->is_deleting) {
        config = manifest_config_for_deletion(task->item->config, &is_valid);
        if (!is_valid)
            events_send_once(task, "deletion-groups", "DeletionGroupsIgnored",
                             "the deletionGroups of the item are not valid: its objects are "
                             "deleted in the default order");
        return config;
    }
    if (mistakes_fail(&task->item->mistakes, &err) < 0) {
        task_set_fault(task, OPERATION_INIT, "ValidateDeployItem", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return NULL;
    }
    if (manifest_config_parse(task->item->config, &config, &mistakes) == 0) {
        report_ignored(task, &mistakes);
        return config;
    }
    if (mistakes_fail(&mistakes, &err) == 0)
        (void)error_set(&err, ERROR_INVALID, "invalid provider configuration");
    task_set_fault(task, OPERATION_INIT,
                   mistakes.decode_errors ? "ParseProviderConfiguration"
                                          : "ValidateProviderConfiguration",
                   &err, CODE_CONFIGURATION_PROBLEM);
    return NULL;
}

/* What an earlier execution of the job recorded and could not create does not exist. That one is
 * dropped if anybody else may have worked on the job since. */
static void inherit_new(const struct manifest_run *stale, struct inventory *inventory)
{
    for (size_t i = 0; stale && i < inventory->count; i++) {
        const struct inventory_entry *known =
            inventory_find(&stale->work.inventory, &inventory->entries[i].ref);

        inventory->entries[i].is_new = known && known->is_new;
    }
}

static bool read_stored(struct task *task, struct manifest_start *start)
{
    const json_t *stored = doc_member(task->item->status, "providerStatus");
    cleanup_manifest_status struct manifest_status status = {0};
    struct error err = {0};

    if (manifest_status_parse(stored, &status, &err) < 0) {
        (void)error_wrap(&err, "status.providerStatus");
        task_set_fault(task, OPERATION_INIT, "ParseProviderStatus", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    start->run->work.inventory = status.inventory;
    status.inventory = (struct inventory){0};
    inherit_new(objects_task(task)->run, &start->run->work.inventory);
    start->stored_cluster = steal(&status.cluster);
    start->run->late = steal(&status.late);
    start->run->known_status = manifest_status_core(stored);
    return true;
}

static struct manifest_run *new_run(struct task *task, struct manifest_config *config)
{
    struct manifest_run *run = xcalloc(1, sizeof(*run));
    const struct record *record = task->record;

    *run = (struct manifest_run){
        .engine = objects_engine(task),
        .task = task,
        .job = xstrdup(task->item->job),
        .generation = task->item->generation,
        .work = {.is_delete = task->item->is_deleting, .config = config},
    };
    manifest_owner_init(&run->work.owner, record->namespace_name, record->name);
    return run;
}

static void start_with(struct task *task, struct manifest_config *config,
                       struct inventory *observed)
{
    const struct task_target *target = &task->known.target_read;
    struct manifest_start *start = NULL;
    cleanup_json json_t *names = NULL;
    struct error err = {0};

    manifest_start_done(objects_task(task)->start);
    objects_task(task)->start = start = xcalloc(1, sizeof(*start));
    start->run = new_run(task, config);
    names = manifest_config_targets(config, start->run->work.is_delete);
    start->run->work.seconds =
        xcalloc(json_array_size(names) + 1, sizeof(*start->run->work.seconds));
    if (!read_stored(task, start))
        return;
    if (observed) {
        inventory_done(&start->run->work.inventory);
        start->run->work.inventory = *observed;
        *observed = (struct inventory){0};
        start->run->work.is_observed = true;
    }
    if (!item_effective_target(task->item)) {
        (void)error_set(&err, ERROR_INVALID, "no target defined: spec.target must name a Target");
        task_set_fault(task, OPERATION_RECONCILE_MANIFESTS, "ensureTargetAccess", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return;
    }
    if (target->error.kind != ERROR_NONE) {
        err = target->error;
        task_set_fault(task, task_pass_name(task), "ValidateTarget", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return;
    }
    (void)json_array_insert_new(names, 0, json_string(item_effective_target(task->item)));
    if (target->object)
        targets_read_after(task, steal(&names), target->content ? target->content : "",
                           target->content_size, &targets_handler);
    else
        targets_read(task, steal(&names), &targets_handler);
}

void manifest_start_with(struct task *task, struct manifest_config *config)
{
    start_with(task, config, NULL);
}

void manifest_start_observing(struct task *task, struct manifest_config *config,
                              struct inventory *objects)
{
    start_with(task, config, objects);
}

void manifest_start(struct task *task)
{
    struct manifest_config *config = read_config(task);

    if (config)
        start_with(task, config, NULL);
}
