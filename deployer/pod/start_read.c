/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of starting a pod: everything that it is made from is read, nothing is written. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/observe.h"
#include "deployer/item/target.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/pull_secrets.h"

static const char *pass_name(const struct task *task)
{
    return task->item->is_deleting ? "delete" : "reconcile";
}

/* ---- State ---- */

static void on_state(void *data, const char *resource_version, const struct error *err)
{
    struct task *task = data;

    (void)resource_version;
    task->list = NULL;
    if (task->is_changed) {
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        (void)error_wrap(&cause, "list the state");
        task_set_fault(task, OPERATION_DEPLOY_POD, "ListState", &cause, NULL);
        return;
    }
    state_set_arrange(&task->inputs.state);
    act_make_objects(task);
}

void act_add_state(const struct task *task, struct state_set *set, const json_t *secret)
{
    if (secret && state_secret_is_of_item(secret, task->names.hash))
        state_set_add_secret(set, secret);
    else if (secret)
        log_error("state secret of another item passed over",
                  log_text("secret", doc_text_or(secret, "metadata.name", "")));
}

static void on_state_secret(void *data, const json_t *object, const struct error *err)
{
    struct task *task = data;

    (void)err;
    act_add_state(task, &task->inputs.state, object);
}

int act_list_state(struct task *task, kube_item_fn *on_item, kube_listed_fn *on_done,
                   struct error *err)
{
    const struct controller *controller = task->controller;
    struct kube_list_options options = {.resource = KUBE_SECRETS,
                                        .namespace_name = controller->config->namespace_name,
                                        .label_selector = task->names.state_selector,
                                        .is_metadata_only = true,
                                        .on_item = on_item,
                                        .on_done = on_done,
                                        .data = task};
    int result = kube_list_start(controller->host, &options, &task->list, err);

    if (result < 0)
        task->list = NULL;
    return result;
}

static void list_state(struct task *task)
{
    struct error err = {0};

    state_set_done(&task->inputs.state);
    task->inputs.state = (struct state_set){0};
    if (act_list_state(task, on_state_secret, on_state, &err) < 0)
        task_set_fault(task, OPERATION_DEPLOY_POD, "ListState", &err, NULL);
}

/* ---- Pull secrets: those of the Context, then those of the item ---- */

static void next_pull_secret(struct task *task);

/* The one that is read now; NULL at the end. */
static const json_t *present_pull_secret(const struct task *task)
{
    return json_array_get(task->inputs.pull_secrets, task->inputs.pull_secret_next);
}

static void on_pull_secret(struct task *task, json_t *object, const struct error *err)
{
    const json_t *present = present_pull_secret(task);
    struct error cause = *err;

    if (err->kind == ERROR_NONE &&
        inputs_add_docker_secret(task->inputs.docker_configs, object, task->inputs.run,
                                 task->controller->config, &cause) == 0) {
        task->inputs.pull_secret_next++;
        next_pull_secret(task);
        return;
    }
    (void)error_wrap(&cause, "registry pull secret '%s/%s'", doc_text_or(present, "namespace", ""),
                     doc_text_or(present, "name", ""));
    /* Somebody may still create or mend it: the job's time decides. Too much is too much. */
    if (cause.kind != ERROR_TOO_LARGE)
        cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, OPERATION_DEPLOY_POD, "ParseAndSyncSecrets", &cause, NULL);
}

static void next_pull_secret(struct task *task)
{
    const json_t *present = present_pull_secret(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = doc_text_or(present, "namespace", ""),
                                   .name = doc_text_or(present, "name", "")};

    if (!present) {
        list_state(task);
        return;
    }
    if (!*request.name) {
        struct error err = {0};

        (void)error_set(&err, ERROR_NOT_FOUND, "the name is empty");
        on_pull_secret(task, NULL, &err);
        return;
    }
    task_request(task, task->controller->landscaper, &request, on_pull_secret);
}

static void read_pull_secrets(struct task *task)
{
    struct task_inputs *inputs = &task->inputs;
    struct error err = {0};

    json_decref(inputs->docker_configs);
    inputs->docker_configs = controller_docker_configs(task->controller);
    json_decref(inputs->pull_secrets);
    inputs->pull_secrets = NULL;
    inputs->pull_secret_next = 0;
    if (pull_secrets_gather(inputs->context, task->record->namespace_name,
                            inputs->run->pull_secrets, &inputs->pull_secrets, &err) < 0)
        task_set_fault(task, OPERATION_DEPLOY_POD, "ParseAndSyncSecrets", &err, NULL);
    else
        next_pull_secret(task);
}

/* ---- Context ---- */

static void on_ocm_config(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        (void)error_wrap(&cause, "OCM configuration of context '%s'", task->item->context);
        cause.kind = ERROR_TEMPORARY;
        task_set_fault(task, OPERATION_DEPLOY_POD, "SyncOCMConfiguration", &cause, NULL);
        return;
    }
    json_decref(task->inputs.ocm_config_map);
    task->inputs.ocm_config_map = json_incref(object);
    read_pull_secrets(task);
}

static void on_context(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_CONFIG_MAPS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name};

    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        cause.kind = ERROR_TEMPORARY;
        task_set_fault(task, pass_name(task), "GetLandscaperContext", &cause, NULL);
        return;
    }
    json_decref(task->inputs.context);
    task->inputs.context = json_incref(object);
    request.name = doc_text(object, "ocmConfig.name");
    if (request.name && *request.name)
        task_request(task, task->controller->landscaper, &request, on_ocm_config);
    else
        read_pull_secrets(task);
}

/* ---- What needs no request ---- */

/* False if the job has failed. */
static bool check_item(struct task *task)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct error err = {0};

    if (mistakes_fail(&task->item->mistakes, &err) < 0) {
        task_set_fault(task, "InitContainerOperation", "ValidateDeployItem", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    if (task->inputs.target_error.kind != ERROR_NONE) {
        err = task->inputs.target_error;
        task_set_fault(task, pass_name(task), "ValidateTarget", &err, CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    run_spec_free(task->inputs.run);
    task->inputs.run = NULL;
    if (run_spec_parse(task->item, task->controller->config, &task->inputs.run, &mistakes) == 0)
        return true;
    if (mistakes_fail(&mistakes, &err) == 0)
        (void)error_set(&err, ERROR_INVALID, "the provider configuration can't be used");
    task_set_fault(task, "InitContainerOperation",
                   mistakes.decode_errors ? "DecodeProviderConfiguration"
                                          : "ValidateProviderConfiguration",
                   &err, CODE_CONFIGURATION_PROBLEM);
    return false;
}

void act_start(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_CONTEXTS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->item->context};

    task->is_pod_absence_sure = false;
    if (!check_item(task))
        return;
    if (!task->inputs.target_file) {
        task->inputs.target_file = target_document(NULL, "", 0);
        task->inputs.target_file_size = strlen(task->inputs.target_file);
    }
    task_request(task, task->controller->landscaper, &request, on_context);
}
