/* SPDX-License-Identifier: Apache-2.0 */
/* The item's ServiceAccount. It is made first of all and removed last, so who has it has the item's
 * name in the host namespace, and with it what says of no deployer whose it is: the state and the
 * exports of an item of that name. It is therefore made, not applied: who finds another deployer's
 * has neither written nor removed anything yet, and does not begin to. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/owner.h"

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

    /* What an earlier try made before the name changed hands goes by what tells ours from theirs,
     * the collector or the item's end. The end of a run does not: it removes by the item, because
     * exports carry no deployer, and no selector can say "ours or nobody's". */
    task->has_run_objects = false;
    (void)error_set(&err, ERROR_CONFLICT,
                    "ServiceAccount '%s' in host namespace '%s' belongs to an item of the same "
                    "name of another deployer (%s%s%s): give each deployer a host namespace of its "
                    "own; if that one is gone for good, delete what it left of the item there, the "
                    "ServiceAccount last",
                    task->names.account, task->controller->config->namespace_name,
                    has_id ? "'" : "", has_id ? id : "without an identity", has_id ? "'" : "");
    account_failed(task, &err);
}

static void on_taken_over(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    (void)object;
    if (err->kind == ERROR_NONE) {
        act_make_rest(task);
        return;
    }
    /* All else was good enough for a new one: it is no longer the one that was read. */
    if (cause.kind == ERROR_INVALID)
        cause.kind = ERROR_CONFLICT;
    account_failed(task, &cause);
}

/* The one that was read, as it was read: should we sleep here, it may be another deployer's by the
 * time we wake up. */
static void take_over(struct task *task, const json_t *account)
{
    cleanup_json json_t *body = json_deep_copy(task->inputs.objects.account);
    struct kube_request request = {.verb = KUBE_APPLY,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .name = task->names.account,
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
                                   .name = task->names.account,
                                   .left_out = OBJECT_LEFT_OUT};

    (void)object;
    if (err->kind == ERROR_NONE)
        act_make_rest(task);
    else if (err->kind == ERROR_EXISTS)
        task_request(task, task->controller->host, &request, on_read);
    else
        account_failed(task, err);
}

void act_make_account(struct task *task)
{
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .body = task->inputs.objects.account,
                                   .field_manager = CONTROLLER_FIELD_MANAGER,
                                   .is_unread = true};

    task_request(task, task->controller->host, &request, on_made);
}
