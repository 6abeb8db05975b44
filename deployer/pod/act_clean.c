/* SPDX-License-Identifier: Apache-2.0 */
/* Removes every object of an item from the host cluster, except the pod of its DELETE run: until
 * the item's finalizer is removed that pod is the proof that the run was done. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/owner.h"
#include "deployer/protocol/act.h"

static void next_collection(struct task *task);

static void clean_failed(struct task *task, const char *reason, const struct error *err)
{
    struct error cause = *err;

    cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, "Delete", reason, &cause, NULL);
}

static bool is_access(const struct kube_resource *resource)
{
    return strcmp(resource->plural, KUBE_SECRETS.plural) != 0 &&
           strcmp(resource->plural, KUBE_CONFIG_MAPS.plural) != 0;
}

static bool has_collection(const struct task *task, struct owner_collection *ret_collection)
{
    const struct owner_item item = {.namespace_name = task->record->namespace_name,
                                    .name = task->record->name,
                                    .is_shared = pod_task(task)->chain.is_name_shared,
                                    .former_id = pod_task(task)->chain.former_id};

    return owner_collection_init(ret_collection, task->controller->config, &item, task->chain.step);
}

static void on_collection(struct task *task, json_t *object, const struct error *err)
{
    cleanup_owner_collection struct owner_collection collection = {0};

    (void)object;
    if (!act_is_removed(err)) {
        bool is_rbac = has_collection(task, &collection) && is_access(&collection.resource);

        clean_failed(task, is_rbac ? "CleanupRBAC" : "CleanupDeployItem", err);
        return;
    }
    task->chain.step++;
    next_collection(task);
}

static void next_collection(struct task *task)
{
    cleanup_owner_collection struct owner_collection collection = {0};
    struct kube_request request = {.verb = KUBE_DELETE_COLLECTION,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .is_unread = true};

    if (!has_collection(task, &collection)) {
        pod_task(task)->has_run_objects = false;
        act_item_cleaned(task);
        return;
    }
    request.resource = collection.resource;
    request.label_selector = collection.label_selector;
    request.field_selector = collection.field_selector;
    task_request(task, task->controller->host, &request, on_collection);
}

static void on_accounts(struct task *task, json_t *object, const struct error *err)
{
    const struct deployer_config *config = task->controller->config;
    struct pod_chain *chain = &pod_task(task)->chain;

    if (err->kind != ERROR_NONE) {
        clean_failed(task, "CleanupRBAC", err);
        return;
    }
    chain->former_id = xstrdup_or_null(owner_former_id(config, object, task->record->uid));
    chain->is_name_shared = owner_is_list_shared(config, object, task->record->uid);
    if (chain->is_name_shared)
        log_error(
            "keeping state without a deployer label: another deployer has an item of the same name",
            log_text("deployItem", task->record->name),
            log_text("namespace", task->record->namespace_name));
    task->chain.step = 0;
    next_collection(task);
}

void pod_clean_item(struct task *task)
{
    cleanup_free char *selector =
        owner_item_selector(task->record->namespace_name, task->record->name);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector = selector};

    task_request(task, task->controller->host, &request, on_accounts);
}
