/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of starting a pod: reads everything that it is made from, writes nothing. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/docker_files.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/inputs.h"
#include "deployer/pod/pull_secrets.h"
#include "deployer/protocol/observe.h"

/* ---- State ---- */

static void on_state(void *data, const char *resource_version, const struct error *err)
{
    struct task *task = data;

    (void)resource_version;
    task->chain.list = NULL;
    if (task->chain.is_changed) {
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        (void)error_wrap(&cause, "list the state");
        task_set_fault(task, OPERATION_DEPLOY_POD, "ListState", &cause, NULL);
        return;
    }
    state_set_arrange(&pod_task(task)->chain.inputs.state);
    if (helm_is_item(task))
        helm_prepare(task);
    else
        pod_make_objects(task);
}

void pod_add_state(const struct task *task, struct state_set *set, const json_t *secret)
{
    if (secret && state_secret_is_of_item(secret, pod_task(task)->names.hash))
        state_set_add_secret(set, secret);
    else if (secret)
        log_error("skipped a state Secret of another item",
                  log_text("secret", doc_text_or(secret, "metadata.name", "")));
}

static void on_state_secret(void *data, const json_t *object, const struct error *err)
{
    struct task *task = data;

    (void)err;
    pod_add_state(task, &pod_task(task)->chain.inputs.state, object);
}

int pod_list_state(struct task *task, kube_item_fn *on_item, kube_listed_fn *on_done,
                   struct error *err)
{
    const struct controller *controller = task->controller;
    struct kube_list_options options = {.resource = KUBE_SECRETS,
                                        .namespace_name = controller->config->namespace_name,
                                        .label_selector = pod_task(task)->names.state_selector,
                                        .is_metadata_only = true,
                                        .on_item = on_item,
                                        .on_done = on_done,
                                        .data = task};
    int result = kube_list_start(controller->host, &options, &task->chain.list, err);

    if (result < 0)
        task->chain.list = NULL;
    return result;
}

static void list_state(struct task *task)
{
    struct error err = {0};

    state_set_done(&pod_task(task)->chain.inputs.state);
    pod_task(task)->chain.inputs.state = (struct state_set){0};
    if (pod_list_state(task, on_state_secret, on_state, &err) < 0)
        task_set_fault(task, OPERATION_DEPLOY_POD, "ListState", &err, NULL);
}

/* ---- The operator's credentials ---- */

static void log_unusable(void *data, const struct docker_config_problem *problem)
{
    (void)data;
    log_error("registry credential is unusable", log_text("file", problem->file),
              log_text("entry", problem->entry ? problem->entry : ""),
              log_text("error", problem->why));
}

json_t *pod_docker_configs(struct pod_engine *engine)
{
    const json_t *configs = docker_files_now(engine->docker_files, log_unusable, NULL);

    return json_copy((json_t *)(uintptr_t)configs);
}

/* ---- Pull secrets: those of the Context, then those of the item ---- */

static void next_pull_secret(struct task *task);

/* The one to read next; NULL at the end. */
static const json_t *present_pull_secret(const struct task *task)
{
    return json_array_get(pod_task(task)->chain.inputs.pull_secrets,
                          pod_task(task)->chain.inputs.pull_secret_next);
}

static void on_pull_secret(struct task *task, json_t *object, const struct error *err)
{
    const json_t *present = present_pull_secret(task);
    struct error cause = *err;

    if (err->kind == ERROR_NONE &&
        inputs_add_docker_secret(pod_task(task)->chain.inputs.docker_configs, object,
                                 pod_task(task)->chain.inputs.run, task->controller->config,
                                 &cause) == 0) {
        pod_task(task)->chain.inputs.pull_secret_next++;
        next_pull_secret(task);
        return;
    }
    (void)error_wrap(&cause, "registry pull secret \"%s/%s\"",
                     doc_text_or(present, "namespace", ""), doc_text_or(present, "name", ""));
    /* Somebody may still create or correct it, so the job's timeout decides; but not if the
     * credentials are too large. */
    if (cause.kind != ERROR_TOO_LARGE)
        cause.kind = ERROR_TEMPORARY;
    task_set_fault(task, OPERATION_DEPLOY_POD, "ParseAndSyncSecrets", &cause, NULL);
}

static void next_pull_secret(struct task *task)
{
    const json_t *present = present_pull_secret(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
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
    struct pod_inputs *inputs = &pod_task(task)->chain.inputs;
    struct error err = {0};

    json_decref(inputs->docker_configs);
    inputs->docker_configs = pod_docker_configs(pod_engine(task));
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

        (void)error_wrap(&cause, "OCM configuration of context \"%s\"", task->item->context);
        cause.kind = ERROR_TEMPORARY;
        task_set_fault(task, OPERATION_DEPLOY_POD, "SyncOCMConfiguration", &cause, NULL);
        return;
    }
    json_decref(pod_task(task)->chain.inputs.ocm_config_map);
    pod_task(task)->chain.inputs.ocm_config_map = json_incref(object);
    read_pull_secrets(task);
}

static void on_context(struct task *task, json_t *object, const struct error *err)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_CONFIG_MAPS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};

    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        cause.kind = ERROR_TEMPORARY;
        task_set_fault(task, task_pass_name(task), "GetLandscaperContext", &cause, NULL);
        return;
    }
    json_decref(pod_task(task)->chain.inputs.context);
    pod_task(task)->chain.inputs.context = json_incref(object);
    request.name = doc_text(object, "ocmConfig.name");
    if (request.name && *request.name)
        task_request(task, task->controller->landscaper, &request, on_ocm_config);
    else
        read_pull_secrets(task);
}

/* ---- Checks without requests ---- */

/* False: a fault was set. */
static bool check_item(struct task *task)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct error err = {0};

    if (mistakes_fail(&task->item->mistakes, &err) < 0) {
        task_set_fault(task, "InitContainerOperation", "ValidateDeployItem", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    if (task->known.target_read.error.kind != ERROR_NONE) {
        err = task->known.target_read.error;
        task_set_fault(task, task_pass_name(task), "ValidateTarget", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    if (!helm_check_item(task, &err)) {
        task_set_fault(task, "InitHelmOperation", "ValidateProviderConfiguration", &err,
                       CODE_CONFIGURATION_PROBLEM);
        return false;
    }
    run_spec_free(pod_task(task)->chain.inputs.run);
    pod_task(task)->chain.inputs.run = NULL;
    if (run_spec_parse(task->item, task->controller->config, &pod_task(task)->chain.inputs.run,
                       &mistakes) == 0)
        return true;
    if (mistakes_fail(&mistakes, &err) == 0)
        (void)error_set(&err, ERROR_INVALID, "invalid provider configuration");
    task_set_fault(task, "InitContainerOperation",
                   mistakes.decode_errors ? "DecodeProviderConfiguration"
                                          : "ValidateProviderConfiguration",
                   &err, CODE_CONFIGURATION_PROBLEM);
    return false;
}

void pod_start(struct task *task)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_CONTEXTS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->item->context};

    pod_task(task)->is_absence_sure = false;
    if (helm_is_removal(task)) {
        helm_start_removal(task);
        return;
    }
    if (!check_item(task))
        return;
    task_request(task, task->controller->landscaper, &request, on_context);
}
