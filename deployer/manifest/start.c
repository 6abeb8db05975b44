/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an execution: checks everything that can be checked without the target, resolves the
 * targets to clusters, and begins. Requests go to Landscaper's API server only; what the target is
 * asked for happens outside of the chain, because it may not respond. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/target.h"
#include "deployer/manifest/engine.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/observe.h"

#define OPERATION_INIT "InitManifestOperation"
#define OPERATION_RECONCILE_MANIFESTS "ReconcileManifests"

struct manifest_start {
    struct manifest_run *run;
    char *stored_cluster; /* hash of the cluster that the stored objects are in; or NULL */
    json_t *names;        /* of second targets */
    size_t next;          /* of them; 0: the item's own target */
    json_t *target;       /* the second Target under way */
    struct target_access access;
};

void manifest_start_done(struct manifest_start *start)
{
    if (!start)
        return;
    manifest_run_free(start->run);
    free(start->stored_cluster);
    json_decref(start->names);
    json_decref(start->target);
    target_access_done(&start->access);
    free(start);
}

static struct manifest_start *start_of(const struct task *task)
{
    return manifest_task(task)->start;
}

/* The name of the target under way, for messages. */
static const char *target_name(const struct task *task)
{
    const struct manifest_start *start = start_of(task);

    return start->next == 0 ? item_effective_target(task->item)
                            : json_string_value(json_array_get(start->names, start->next - 1));
}

static void fail_target(struct task *task, const char *reason, const struct error *err,
                        const char *code)
{
    struct error cause = *err;

    (void)error_wrap(&cause, "target '%s'", target_name(task));
    task_set_fault(task, OPERATION_RECONCILE_MANIFESTS, reason, &cause, code);
}

/* ---- The beginning of the execution ---- */

static void begin(struct task *task)
{
    struct manifest_start *start = start_of(task);
    struct manifest_run *run = start->run;

    if (start->stored_cluster && run->inventory.count > 0 &&
        strcmp(start->stored_cluster, cluster_hash(run->cluster)) != 0)
        events_send_once(
            task, cluster_hash(run->cluster), "TargetChanged",
            "the address or the CA of the target's cluster has changed since the last job: objects "
            "that were deployed to another cluster are neither found nor removed there");
    manifest_run_free(manifest_task(task)->run); /* a stale one */
    manifest_task(task)->run = run;
    start->run = NULL;
    /* The clusters have what they need of it. */
    task_drop_target(task);
    manifest_run_begin(run);
    task_done(task);
}

/* ---- Targets ---- */

static void next_target(struct task *task);

static void connect_target(struct task *task, const char *token)
{
    struct manifest_start *start = start_of(task);
    struct kube_config *config = NULL;
    struct cluster *cluster = NULL;
    struct error err = {0};

    if (target_access_config(&start->access, token, task->controller->landscaper, &config, &err) <
            0 ||
        cluster_get(manifest_engine(task)->pool, config, &cluster, &err) < 0) {
        fail_target(task, "ensureTargetAccess", &err, NULL);
        return;
    }
    if (start->next == 0) {
        start->run->cluster = cluster;
    } else {
        struct second_cluster *second = &start->run->seconds[start->run->second_count++];

        *second = (struct second_cluster){.target = xstrdup(target_name(task)), .cluster = cluster};
    }
    start->next++;
    next_target(task);
}

static uint64_t lifetime_ms(const struct task *task, const json_t *object)
{
    const char *expires = doc_text_or(object, "status.expirationTimestamp", "");
    int64_t now = controller_now_unix_ms(task->controller);
    int64_t unix_ms = 0;
    struct error err = {0};

    if (timestamp_parse(expires, &unix_ms, &err) < 0 || unix_ms < now)
        return 0;
    return (uint64_t)(unix_ms - now);
}

static void on_token(struct task *task, json_t *object, const struct error *err)
{
    struct manifest_start *start = start_of(task);
    const char *token = doc_text_or(object, "status.token", "");
    cleanup_free char *key = token_cache_key(&start->access, task->record->namespace_name);
    struct error cause = *err;

    if (err->kind == ERROR_NONE && !*token)
        (void)error_set(&cause, ERROR_TEMPORARY, "the API server returned no token");
    if (cause.kind != ERROR_NONE) {
        (void)error_wrap(&cause, "token of ServiceAccount '%s'", start->access.account);
        cause.kind = ERROR_TEMPORARY;
        fail_target(task, "ensureTargetAccess", &cause, NULL);
        return;
    }
    token_cache_add(manifest_engine(task)->tokens, key, token, lifetime_ms(task, object),
                    loop_now_ms(task->controller->loop));
    connect_target(task, token);
}

static void request_token(struct task *task)
{
    struct manifest_start *start = start_of(task);
    cleanup_json json_t *body = target_access_token_request(&start->access);
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = start->access.account,
                                   .subresource = "token",
                                   .body = body};

    task_request(task, task->controller->landscaper, &request, on_token);
}

static void use_content(struct task *task, const char *content, size_t size)
{
    struct manifest_start *start = start_of(task);
    cleanup_free char *key = NULL;
    const char *token = NULL;
    struct error err = {0};

    target_access_done(&start->access);
    if (target_access_parse(content, size, &start->access, &err) < 0) {
        fail_target(task, "ValidateTarget", &err, CODE_CONFIGURATION_PROBLEM);
        return;
    }
    if (start->access.kind == ACCESS_KUBECONFIG) {
        connect_target(task, NULL);
        return;
    }
    key = token_cache_key(&start->access, task->record->namespace_name);
    token =
        token_cache_find(manifest_engine(task)->tokens, key, loop_now_ms(task->controller->loop));
    if (token)
        connect_target(task, token);
    else
        request_token(task);
}

static void resolve_second(struct task *task, const json_t *secret)
{
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    buffer_init(&content, SECRET_MAX_BYTES);
    if (target_content(start_of(task)->target, secret, &content, &err) < 0) {
        /* The user may add a missing key; the job's timeout is the limit. */
        err.kind = ERROR_TEMPORARY;
        fail_target(task, "ResolveTarget", &err, NULL);
        return;
    }
    use_content(task, content.data ? content.data : "", content.size);
    if (content.data)
        explicit_bzero(content.data, content.size);
}

static void on_second_secret(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    if (err->kind == ERROR_NONE) {
        resolve_second(task, object);
        return;
    }
    cause.kind = ERROR_TEMPORARY;
    fail_target(task, "ResolveTarget", &cause, NULL);
}

static void on_second_target(struct task *task, json_t *object, const struct error *err)
{
    struct manifest_start *start = start_of(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};
    struct error cause = *err;

    if (err->kind != ERROR_NONE) {
        cause.kind = ERROR_TEMPORARY;
        fail_target(task, "ResolveTarget", &cause, NULL);
        return;
    }
    json_decref(start->target);
    start->target = json_incref(object);
    request.name = target_secret_name(object);
    if (request.name)
        task_request(task, task->controller->landscaper, &request, on_second_secret);
    else
        resolve_second(task, NULL);
}

static void next_target(struct task *task)
{
    struct manifest_start *start = start_of(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_TARGETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};

    if (start->next > json_array_size(start->names)) {
        begin(task);
        return;
    }
    request.name = target_name(task);
    task_request(task, task->controller->landscaper, &request, on_second_target);
}

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
            inventory_find(&stale->inventory, &inventory->entries[i].ref);

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
    start->run->inventory = status.inventory;
    status.inventory = (struct inventory){0};
    inherit_new(manifest_task(task)->run, &start->run->inventory);
    start->stored_cluster = steal(&status.cluster);
    start->run->known_status = stored ? json_incref(doc_writable(stored)) : NULL;
    return true;
}

static struct manifest_run *new_run(struct task *task, struct manifest_config *config)
{
    struct manifest_run *run = xcalloc(1, sizeof(*run));
    const struct record *record = task->record;

    *run = (struct manifest_run){
        .engine = manifest_engine(task),
        .task = task,
        .job = xstrdup(task->item->job),
        .generation = task->item->generation,
        .is_delete = task->item->is_deleting,
        .config = config,
    };
    manifest_owner_init(&run->owner, record->namespace_name, record->name);
    return run;
}

void manifest_start(struct task *task)
{
    const struct task_target *target = &task->known.target_read;
    struct manifest_config *config = read_config(task);
    struct manifest_start *start = NULL;
    struct error err = {0};

    if (!config)
        return;
    manifest_task(task)->start = start = xcalloc(1, sizeof(*start));
    start->run = new_run(task, config);
    start->names = manifest_config_targets(config, start->run->is_delete);
    start->run->seconds = xcalloc(json_array_size(start->names) + 1, sizeof(*start->run->seconds));
    if (!read_stored(task, start))
        return;
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
    use_content(task, target->content ? target->content : "", target->content_size);
}
