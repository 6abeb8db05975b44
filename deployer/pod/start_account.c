/* SPDX-License-Identifier: Apache-2.0 */
/* The item's ServiceAccount. Whoever owns the account owns the item's name in the host namespace,
 * including state and export Secrets, which carry no deployer label. So it is created, rather than
 * applied, before any other write; on a conflict with another deployer nothing was touched. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/owner.h"
#include "deployer/protocol/observe.h"

static void account_failed(struct task *task, const struct error *err)
{
    struct error cause = *err;

    task_set_fault(task, OPERATION_DEPLOY_POD, "EnsurePodRBAC", &cause, NULL);
}

static void refuse(struct task *task, const json_t *account)
{
    const char *id = object_label(account, LABEL_DEPLOYER_ID);
    bool has_id = id && *id;
    struct error err = {0};

    /* Objects of an earlier attempt are left to the garbage collector and to the deletion of the
     * item, which tell our objects from theirs. The clean-up of a run cannot: it removes by the
     * item's label, because exports carry no deployer label. */
    pod_task(task)->has_run_objects = false;
    (void)error_set(
        &err, ERROR_CONFLICT,
        "ServiceAccount \"%s\" in host namespace \"%s\" belongs to an item of the same "
        "name of another deployer (%s%s%s): give each deployer a host namespace of its "
        "own; if the other one no longer exists, delete its objects of the item there, the "
        "ServiceAccount last",
        pod_task(task)->names.account, task->controller->config->namespace_name, has_id ? "\"" : "",
        has_id ? id : "without an identity", has_id ? "\"" : "");
    account_failed(task, &err);
}

static void on_taken_over(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    (void)object;
    if (err->kind == ERROR_NONE) {
        pod_make_rest(task);
        return;
    }
    /* The same object was valid for the creation: the account is not the one that was read. */
    if (cause.kind == ERROR_INVALID)
        cause.kind = ERROR_CONFLICT;
    account_failed(task, &cause);
}

/* Only the account that was read, unchanged: if this process was stopped meanwhile, it may be
 * another deployer's by now. */
static void take_over(struct task *task, const json_t *account)
{
    cleanup_json json_t *body = json_deep_copy(pod_task(task)->chain.inputs.objects.account);
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = pod_task(task)->names.account,
                                   .body = body,
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    doc_set_text(body, "metadata.uid", doc_text_or(account, "metadata.uid", ""));
    doc_set_text(body, "metadata.resourceVersion",
                 doc_text_or(account, "metadata.resourceVersion", ""));
    task_request(task, task->controller->host, &request, on_taken_over);
}

static void on_read(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE)
        account_failed(task, err);
    else if (owner_is_neighbour(task->controller->config, object, task->record->uid))
        refuse(task, object);
    else
        take_over(task, object);
}

static void on_made(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = pod_task(task)->names.account,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS};

    (void)object;
    if (err->kind == ERROR_NONE)
        pod_make_rest(task);
    else if (err->kind == ERROR_EXISTS)
        task_request(task, task->controller->host, &request, on_read);
    else
        account_failed(task, err);
}

void pod_make_account(struct task *task)
{
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .body = pod_task(task)->chain.inputs.objects.account,
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    task_request(task, task->controller->host, &request, on_made);
}
