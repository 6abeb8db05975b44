/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of starting a pod: creates the objects, the pod last. The pod's name is fixed, so
 * creating it is the lock. The names of its inputs contain the job, so a pod that a stopped process
 * creates too late finds none and never runs. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "deployer/item/target.h"
#include "deployer/pod/engine.h"
#include "deployer/protocol/observe.h"

enum {
    ACCESS_MARK_LENGTH = 16,
    /* Old state is removed once it is worth a request of its own; by one request if the names of
     * what stays fit into its selector. */
    GARBAGE_WORTH = 4,
    GARBAGE_KEPT_MAX = 40,
};

static const char *host_namespace(const struct task *task)
{
    return task->controller->config->namespace_name;
}

static void start_failed(struct task *task, const char *reason, const struct error *err)
{
    struct error cause = *err;

    task_set_fault(task, OPERATION_DEPLOY_POD, reason, &cause, NULL);
}

/* ---- The pod ---- */

static void on_pod_read(struct task *task, json_t *object, const struct error *err)
{
    struct error taken = {0};
    bool is_theirs = false;

    if (err->kind == ERROR_NOT_FOUND) {
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        start_failed(task, "CreatePod", err);
        return;
    }
    /* A pod that names no item may be another deployer's. */
    is_theirs = pod_is_of_other_deployer(task, object);
    if (!is_theirs)
        pods_see(pod_engine(task), object);
    if (is_theirs || !record_find_pod(task->record, pod_task(task)->names.pod)) {
        /* The account and the other objects may be another deployer's as well by now. */
        pod_task(task)->is_access_wanted = true;
        (void)error_set(&taken, ERROR_CONFLICT,
                        "pod \"%s\" belongs to another deployer: give each its own host namespace",
                        pod_task(task)->names.pod);
        start_failed(task, "CreatePod", &taken);
        return;
    }
    task_done(task);
}

static void on_pod_made(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .name = pod_task(task)->names.pod,
                                   .skipped_members = POD_SKIPPED_MEMBERS};

    if (err->kind == ERROR_EXISTS) {
        task_request(task, task->controller->host, &request, on_pod_read);
        return;
    }
    if (err->kind != ERROR_NONE) {
        /* If somebody removed the account by hand, the next attempt creates it. */
        pod_task(task)->is_access_wanted = true;
        start_failed(task, "CreatePod", err);
        return;
    }
    log_info("pod created", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("jobID", task->item->job), log_text("pod", pod_task(task)->names.pod),
             log_text("operation", task_operation(task)));
    pods_see(pod_engine(task), object);
    retry_reset(&task->known.retry);
    task_clear_fault(task);
    /* The mark goes into the status once the run has proved that the access works. */
    free(pod_task(task)->access_mark);
    pod_task(task)->access_mark = steal(&pod_task(task)->chain.inputs.access_mark);
    task_drop_target(task);
    task_done(task);
}

static void make_pod(struct task *task)
{
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_PODS,
                                   .namespace_name = host_namespace(task),
                                   .body = pod_task(task)->chain.inputs.objects.pod,
                                   .skipped_members = POD_SKIPPED_MEMBERS};

    task_request(task, task->controller->host, &request, on_pod_made);
}

/* ---- Access objects, then Secrets ---- */

static void next_object(struct task *task);

static const struct {
    const struct kube_resource *resource;
    const char *reason;
    bool is_access;
} steps[] = {
    {&KUBE_ROLES, "EnsurePodRBAC", true},
    {&KUBE_ROLE_BINDINGS, "EnsurePodRBAC", true},
    {&KUBE_SECRETS, "ParseAndSyncSecrets", false},
    {&KUBE_SECRETS, "SyncConfiguration", false},
};

static const json_t *object_at(const struct task *task, size_t step)
{
    const struct pod_objects *objects = &pod_task(task)->chain.inputs.objects;
    const json_t *const all[] = {objects->role, objects->role_binding, objects->pull,
                                 objects->input};

    return all[step];
}

static void on_old_gone(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        start_failed(task, steps[task->chain.step].reason, err);
        return;
    }
    next_object(task);
}

/* Deleted by uid: if this process was stopped meanwhile, another one may have created a Secret of
 * the same name. */
static void on_old_read(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = host_namespace(task),
                                   .name = doc_text(object, "metadata.name"),
                                   .uid = doc_text(object, "metadata.uid"),
                                   .grace_seconds = -1,
                                   .is_unread = true};

    if (err->kind != ERROR_NONE)
        on_old_gone(task, object, err);
    else
        task_request(task, task->controller->host, &request, on_old_gone);
}

/* An earlier attempt of this job created its inputs, which are immutable, and what they are made
 * from has changed since. Their name contains the job, so the old ones are replaced. No pod uses
 * them: a pod that we do not know of yet is found when ours is created. */
static void replace_object(struct task *task)
{
    struct kube_request request = {
        .verb = KUBE_GET,
        .resource = KUBE_SECRETS,
        .skipped_members = OBJECT_SKIPPED_MEMBERS,
        .namespace_name = host_namespace(task),
        .name = doc_text(object_at(task, task->chain.step), "metadata.name")};

    pod_task(task)->chain.inputs.replaced_step = task->chain.step;
    task_request(task, task->controller->host, &request, on_old_read);
}

static void on_object(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind == ERROR_INVALID && !steps[task->chain.step].is_access &&
        pod_task(task)->chain.inputs.replaced_step != task->chain.step) {
        replace_object(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        start_failed(task, steps[task->chain.step].reason, err);
        return;
    }
    task->chain.step++;
    next_object(task);
}

static bool is_access_there(const struct task *task)
{
    const char *mark = doc_text_or(task->item->status, "providerStatus.access", "");

    return !pod_task(task)->is_access_wanted &&
           strcmp(mark, pod_task(task)->chain.inputs.access_mark) == 0;
}

static void next_object(struct task *task)
{
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .namespace_name = host_namespace(task),
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    while (task->chain.step < array_length(steps) &&
           (!object_at(task, task->chain.step) ||
            (steps[task->chain.step].is_access && is_access_there(task))))
        task->chain.step++;
    if (task->chain.step == array_length(steps)) {
        make_pod(task);
        return;
    }
    request.resource = *steps[task->chain.step].resource;
    request.body = object_at(task, task->chain.step);
    request.name = doc_text(request.body, "metadata.name");
    if (!steps[task->chain.step].is_access)
        pod_task(task)->has_run_objects = true;
    task_request(task, task->controller->host, &request, on_object);
}

/* ---- Old state ---- */

static void on_garbage(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        start_failed(task, "RemoveOldState", err);
        return;
    }
    task->chain.step = 0;
    next_object(task);
}

/* "metadata.name!=a,metadata.name!=b" for every chunk that stays; NULL: too many. Belongs to the
 * caller. */
static char *kept_selector(const struct state_set *set, const char *const *garbage, size_t count)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, GARBAGE_KEPT_MAX * (NAME_MAX_SUBDOMAIN + 32));
    if (set->chunk_count - count > GARBAGE_KEPT_MAX || set->chunk_count == count)
        return NULL;
    for (size_t i = 0; i < set->chunk_count; i++) {
        bool is_garbage = false;

        for (size_t j = 0; j < count && !is_garbage; j++)
            is_garbage = strcmp(set->chunks[i].object, garbage[j]) == 0;
        if (!is_garbage && buffer_append_text(&text, &err, "%smetadata.name!=%s",
                                              text.size ? "," : "", set->chunks[i].object) < 0)
            return NULL;
    }
    return buffer_take(&text);
}

/* Removes old state first: the account is ours, so the state is, and there is no pod of the item
 * that could be uploading. */
void pod_make_rest(struct task *task)
{
    const struct state_set *set = &pod_task(task)->chain.inputs.state;
    cleanup_free const char **garbage = NULL;
    size_t keep = (size_t)task->controller->config->state_generations;
    size_t count = state_set_garbage(set, keep, true, &garbage);
    cleanup_free char *kept = NULL;
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = host_namespace(task),
                                   .label_selector = pod_task(task)->names.state_selector,
                                   .is_unread = true};

    task->chain.step = 0;
    if (count < GARBAGE_WORTH) {
        next_object(task);
        return;
    }
    kept = kept_selector(set, garbage, count);
    task->controller->metrics.state_collected += kept ? count : 1;
    if (kept) {
        request.field_selector = kept;
    } else {
        /* A very large state shrinks by one old chunk with each run. */
        request.verb = KUBE_DELETE;
        request.name = garbage[0];
        request.label_selector = NULL;
        request.grace_seconds = -1;
    }
    task_request(task, task->controller->host, &request, on_garbage);
}

/* ---- The objects in memory ---- */

static int64_t deadline_of(const struct task *task)
{
    const struct item *item = task->item;

    if (job_has_begun(item))
        return item_deadline_unix_ms(item);
    if (item->timeout_ms == ITEM_TIMEOUT_NONE)
        return -1;
    return task_now_unix_ms(task) + item->timeout_ms;
}

/* A fingerprint of the access objects: while the status has it they need not be written again. */
static char *mark_access(const struct pod_objects *objects)
{
    cleanup_json json_t *all =
        json_pack("[O,O,O]", objects->account, objects->role, objects->role_binding);
    cleanup_free char *text = doc_dump_sorted(all);
    char hex[DIGEST_HEX_MAX] = {0};

    digest_sha256_hex(text, strlen(text), hex);
    return xstrndup(hex, ACCESS_MARK_LENGTH);
}

void pod_make_objects(struct task *task)
{
    struct controller *controller = task->controller;
    struct pod_inputs *inputs = &pod_task(task)->chain.inputs;
    int64_t now = controller_now_unix_ms(controller);
    const struct task_target *target = &task->known.target_read;
    bool is_hidden = inputs->run->is_target_hidden;
    char *target_file =
        target_document(is_hidden ? NULL : target->object, target->content ? target->content : "",
                        target->content_size);
    bool is_shared =
        index_is_ambiguous(controller->index, task->record->namespace_name, task->record->name);
    struct pod_request request = {
        .config = controller->config,
        .item = task->item,
        .run = inputs->run,
        .names = &pod_task(task)->names,
        .job = task->item->job,
        .operation = task->item->is_deleting ? OPERATION_DELETE : OPERATION_RECONCILE,
        .export_name =
            is_shared ? pod_task(task)->names.host_export_own : pod_task(task)->names.host_export,
        .target_file = target_file,
        .target_file_size = strlen(target_file),
        .ocm_config_map = inputs->ocm_config_map,
        .docker_configs = inputs->docker_configs,
        .state = &inputs->state,
        /* A pod that is created later has a higher number, whatever became of the earlier ones. */
        .next_sequence = state_set_next_sequence(&inputs->state, now / 1000),
        .now_unix_ms = task_now_unix_ms(task),
        .deadline_unix_ms = deadline_of(task),
    };
    struct error err = {0};
    int result = 0;

    inputs->replaced_step = 0;
    pod_objects_done(&inputs->objects);
    result = pod_objects_make(&request, &inputs->objects, &err);
    wipe_free(target_file);
    if (result < 0) {
        start_failed(task, "PodGeneration", &err);
        return;
    }
    free(inputs->access_mark);
    inputs->access_mark = mark_access(&inputs->objects);
    if (is_access_there(task))
        pod_make_rest(task);
    else
        pod_make_account(task);
}
