/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/names.h"
#include "deployer/pod/docker_files.h"
#include "deployer/pod/gc.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/state_read.h"

/* ---- Life ---- */

static int start(struct controller *controller, struct engine **ret_engine, struct error *err)
{
    cleanup_free char *identity = name_label_value(controller->config->identity);
    struct pod_engine *engine = xcalloc(1, sizeof(*engine));
    struct kube_watch_options options = {.resource = KUBE_PODS,
                                         .namespace_name = controller->config->namespace_name,
                                         .skipped_members = POD_SKIPPED_MEMBERS,
                                         .on_event = pods_on_event,
                                         .data = engine};

    engine->base.controller = controller;
    engine->epoch = 1;
    engine->gc = gc_new(engine);
    objects_engine_init(&engine->objects, controller);
    engine->docker_files = docker_files_new(controller->config->oci_config_files);
    /* Logs what is unusable in them at start-up, not only when the first item arrives. */
    json_decref(pod_docker_configs(engine));
    engine->selector =
        xasprintf(LABEL_ITEM_NAME "," LABEL_ITEM_NAMESPACE "," LABEL_DEPLOYER_ID "=%s", identity);
    options.label_selector = engine->selector;
    *ret_engine = &engine->base;
    if (kube_watch_start(controller->host, &options, &engine->watch, err) < 0)
        return error_wrap(err, "watch pods");
    return 0;
}

static void engine_free(struct engine *base)
{
    struct pod_engine *engine = (struct pod_engine *)base;

    kube_watch_stop(engine->watch);
    gc_free(engine->gc);
    docker_files_free(engine->docker_files);
    objects_engine_done(&engine->objects);
    free(engine->selector);
    free(engine);
}

static bool is_synced(const struct engine *base)
{
    return ((const struct pod_engine *)base)->is_synced;
}

static const struct kube_watch *watch(const struct engine *base)
{
    return ((const struct pod_engine *)base)->watch;
}

static void collect(struct engine *base)
{
    gc_prompt(((struct pod_engine *)base)->gc);
}

static void item_gone(struct engine *base, const char *namespace_name, const char *name)
{
    gc_note_gone(((struct pod_engine *)base)->gc, namespace_name, name);
}

/* ---- The data of a task ---- */

static void *task_data_new(void)
{
    return xcalloc(1, sizeof(struct pod_task));
}

static void task_data_free(void *data)
{
    struct pod_task *task = data;

    objects_task_done(&task->objects);
    json_decref(task->value_exports);
    object_names_done(&task->names);
    free(task->names_job);
    free(task->access_mark);
    free(task);
}

static void set_names(struct task *task)
{
    struct pod_task *known = pod_task(task);
    const char *job = task->item ? task->item->job : "";

    if (known->names_job && strcmp(known->names_job, job) == 0)
        return;
    free(known->names_job);
    known->names_job = xstrdup(job);
    object_names_done(&known->names);
    object_names_init(&known->names, task->record->namespace_name, task->record->name, job);
}

static void task_data_update(struct task *task, bool is_new_order)
{
    struct pod_task *known = pod_task(task);

    set_names(task);
    objects_task_update(task);
    if (!is_new_order)
        return;
    known->history = RUN_UNKNOWN;
    known->is_absence_sure = known->is_log_late = false;
}

void pod_inputs_done(struct pod_inputs *inputs)
{
    json_decref(inputs->context);
    json_decref(inputs->ocm_config_map);
    json_decref(inputs->docker_configs);
    json_decref(inputs->pull_secrets);
    state_set_done(&inputs->state);
    run_spec_free(inputs->run);
    pod_objects_done(&inputs->objects);
    free(inputs->access_mark);
    *inputs = (struct pod_inputs){0};
}

static void chain_done(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;

    pod_inputs_done(&chain->inputs);
    redaction_done(&chain->redaction);
    state_reading_free(chain->state_reading);
    helm_chain_free(chain->helm);
    objects_chain_done(task);
    json_decref(chain->log);
    free(chain->log_tail);
    free(chain->pod_name);
    free(chain->former_id);
    *chain = (struct pod_chain){0};
}

/* ---- The class ---- */

static bool is_enabled(const struct deployer_config *config)
{
    return config->is_container_enabled || config->is_helm_enabled;
}

static bool serves(const struct deployer_config *config, const char *type)
{
    return item_type_served(config, type) != NULL;
}

static void lead_lost(struct engine *base)
{
    objects_lead_lost(&((struct pod_engine *)base)->objects);
}

static const struct cluster_pool *clusters(const struct engine *base)
{
    return ((const struct pod_engine *)base)->objects.pool;
}

static struct objects_engine *objects_of_engine(struct engine *base)
{
    return &((struct pod_engine *)base)->objects;
}

static struct objects_task *objects_of_task(const struct task *task)
{
    return &pod_task(task)->objects;
}

static const struct engine_traits *traits_of(const struct task *task)
{
    static const struct engine_traits helm = {
        .deployer_name = HELM_DEPLOYER_NAME,
        .timeout_subject = "helm deployer",
        .start_operation = OPERATION_DEPLOY_POD,
        .is_config_unneeded_for_deletion = true,
        .is_status_memory = true,
    };

    return helm_is_item(task) ? &helm : &POD_ENGINE.traits;
}

const struct engine_class POD_ENGINE = {
    .traits.deployer_name = DEPLOYER_NAME,
    .lock_prefix = LOCK_PREFIX,
    .traits.timeout_subject = "container deployer",
    .traits.start_operation = OPERATION_DEPLOY_POD,
    .traits_of = traits_of,
    .is_enabled = is_enabled,
    .serves = serves,
    .start = start,
    .free = engine_free,
    .is_synced = is_synced,
    .collect = collect,
    .lead_lost = lead_lost,
    .clusters = clusters,
    .item_gone = item_gone,
    .watch = watch,
    .untrack = record_remove_pods,
    .task_data_new = task_data_new,
    .task_data_free = task_data_free,
    .task_data_update = task_data_update,
    .chain_done = chain_done,
    .observe = pod_observe,
    .report = pod_report,
    .explain = pod_explain,
    .blocker = pod_blocker,
    .start_execution = pod_start,
    .step = pod_step,
    .verify = pod_verify,
    .end_execution = pod_end,
    .discard_execution = pod_discard,
    .clean_run = pod_clean_run,
    .look_back = pod_look_back,
    .prepare_report = pod_prepare_report,
    .complete = pod_complete,
    .prepare_failure = pod_prepare_failure,
    .clean_item = pod_clean_item,
    .objects_engine = objects_of_engine,
    .objects_task = objects_of_task,
};
