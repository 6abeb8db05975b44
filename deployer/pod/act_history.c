/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether main ever ran for an item that is being deleted and whose status names no pod. An
 * item that never ran has nothing to undo, and must not need valid inputs to be deleted. The status
 * is not sufficient, because it is first written after the pod was created. The access objects are
 * created before the first pod, once all inputs are read, and stay until the item goes. If another
 * deployer owns the account, ours was never created. */
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/owner.h"

static void look_failed(struct task *task, const char *what, const struct error *err)
{
    struct error cause = *err;

    (void)error_wrap(&cause, "%s", what);
    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, "delete", "LookForRuns", &cause, NULL);
}

static void on_state_secret(void *data, const json_t *object, const struct error *err)
{
    struct task *task = data;

    (void)err;
    if (object && state_secret_is_of_item(object, pod_task(task)->names.hash))
        pod_task(task)->history = RUN_SOME;
}

static void finish(struct task *task)
{
    /* If the item has changed meanwhile, ask again. */
    if (pod_task(task)->history == RUN_UNKNOWN && !task->chain.is_changed)
        pod_task(task)->history = RUN_NEVER;
    task_done(task);
}

static void on_state(void *data, const char *resource_version, const struct error *err)
{
    struct task *task = data;

    (void)resource_version;
    task->chain.list = NULL;
    if (err->kind != ERROR_NONE)
        look_failed(task, "list the state", err);
    else
        finish(task);
}

static void list_state(struct task *task)
{
    struct error err = {0};

    if (pod_list_state(task, on_state_secret, on_state, &err) < 0)
        look_failed(task, "list the state", &err);
}

static bool is_of_item(const struct task *task, const json_t *object)
{
    const char *uid = object_annotation(object, ANNOTATION_ITEM_UID);

    /* It may be of an earlier item of the same name. */
    return !uid || strcmp(uid, task->record->uid) == 0;
}

static void on_accounts(struct task *task, json_t *object, const struct error *err)
{
    const json_t *accounts = doc_member(object, "items");
    const json_t *account = NULL;
    bool is_name_theirs = false;
    size_t i = 0;

    if (err->kind != ERROR_NONE) {
        look_failed(task, "list the accounts", err);
        return;
    }
    json_array_foreach(accounts, i, account)
    {
        if (owner_is_neighbour(task->controller->config, account, task->record->uid))
            is_name_theirs = true;
        else if (is_of_item(task, account))
            pod_task(task)->history = RUN_SOME;
    }
    /* In that case the state is not ours either. */
    if (pod_task(task)->history == RUN_SOME || is_name_theirs)
        finish(task);
    else
        list_state(task);
}

void pod_look_back(struct task *task)
{
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector = pod_task(task)->names.selector};

    task_request(task, task->controller->host, &request, on_accounts);
}
