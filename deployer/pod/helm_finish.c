/* SPDX-License-Identifier: Apache-2.0 */
/* What follows on the pod of a helm item. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/helm/deployed.h"
#include "deployer/helm/release.h"
#include "deployer/helm/rendered.h"
#include "deployer/helm/type_helm.h"
#include "deployer/helm/values.h"
#include "deployer/objects/targets.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/state_read.h"
#include "deployer/protocol/act.h"

#define OPERATION_RENDER "TemplateChart"

enum { CHUNKS_MAX = 32 };

bool helm_has_finish(const struct task *task)
{
    const struct pod_entry *entry = pod_of_job(task);

    return helm_is_item(task) && !task->item->is_deleting && !item_is_finished(task->item) && entry;
}

/* ---- Observing ---- */

void helm_observe(struct task *task, struct execution *e)
{
    const struct manifest_run *run = manifest_current_run(task);
    bool is_pod_over = e->is_over;

    if (run) {
        manifest_observe_run(run, e);
    } else {
        e->state = EXECUTION_RUNNING;
        e->needs_step = true;
    }
    /* While the objects are applied, nothing is over; afterwards the pod is what is left. */
    e->is_over = e->state != EXECUTION_RUNNING && e->state != EXECUTION_WAITING && is_pod_over;
}

/* ---- From the state to objects ---- */

static void fail_rendered(struct task *task, const char *reason, const struct error *err)
{
    task_set_fault(task, OPERATION_RENDER, reason, err,
                   err->kind == ERROR_INVALID || err->kind == ERROR_TOO_LARGE
                       ? CODE_CONFIGURATION_PROBLEM
                       : NULL);
}

/* The values that are exported are known before anything is applied. */
static void set_value_exports(struct task *task, json_t *exports)
{
    json_decref(pod_task(task)->value_exports);
    pod_task(task)->value_exports = exports;
}

static void on_state(struct task *task, const struct error *err)
{
    struct rendered *rendered = pod_task(task)->chain.helm->rendered;
    struct manifest_config *config = NULL;
    json_t *exports = NULL;
    struct error cause = *err;

    if (err->kind != ERROR_NONE) {
        (void)error_wrap(&cause, "read the rendered objects");
        fail_rendered(task, "ReadRenderedObjects", &cause);
        return;
    }
    if (rendered_config(rendered, task->item->config, task->record->name, &config, &exports,
                        &cause) < 0) {
        fail_rendered(task, "ParseRenderedObjects", &cause);
        return;
    }
    set_value_exports(task, exports);
    manifest_start_with(task, config);
}

static void new_chain(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;

    helm_chain_free(chain->helm);
    chain->helm = xcalloc(1, sizeof(*chain->helm));
}

static void read_rendered(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;
    struct state_reading_options options = {
        .generations_max = 1,
        .chunks_max = CHUNKS_MAX,
        .budget = {.unpacked = RENDERED_UNPACKED_MAX, .text = RENDERED_TEXT_MAX},
        .on_text = rendered_add,
        .on_done = on_state,
    };

    new_chain(task);
    chain->helm->rendered = xcalloc(1, sizeof(*chain->helm->rendered));
    options.data = chain->helm->rendered;
    pod_read_state(task, &options);
}

/* ---- From the release to objects ---- */

static void fail_release(struct task *task, const char *reason, const struct error *err,
                         const char *code)
{
    task_set_fault(task, "RealHelmDeployer.Deploy", reason, err, code);
}

static int observe_release(struct task *task, const json_t *secret, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_manifest_config struct manifest_config *config =
        manifest_config_for_chart(task->item->config, &mistakes);
    cleanup_inventory struct inventory objects = {0};
    cleanup_json json_t *release = NULL;
    cleanup_json json_t *values = NULL;
    json_t *exports = NULL;

    if (mistakes_fail(&mistakes, err) < 0 || helm_release_parse(secret, &release, err) < 0 ||
        helm_release_objects(release, &objects, err) < 0)
        return -1;
    values = helm_release_values(release);
    if (helm_value_exports(config, values, &exports, err) < 0)
        return -1;
    set_value_exports(task, exports);
    manifest_start_observing(task, steal(&config), &objects);
    return 0;
}

/* The newest revision that is deployed; helm has just made it. */
static void on_releases(struct task *task, json_t *object, const struct error *err)
{
    const json_t *secrets = doc_member(object, "items");
    struct error cause = *err;

    if (err->kind == ERROR_NONE && json_array_size(secrets) == 0)
        (void)error_set(&cause, ERROR_TEMPORARY,
                        "the target has no deployed revision of the release");
    if (cause.kind != ERROR_NONE)
        fail_release(task, "GetRelease", &cause, NULL);
    else if (observe_release(task, helm_release_newest(secrets), &cause) < 0)
        fail_release(task, "ReadRelease", &cause, CODE_CONFIGURATION_PROBLEM);
}

static void on_cluster(struct task *task, const char *name, struct cluster *cluster)
{
    (void)name;
    pod_task(task)->chain.helm->cluster = cluster;
}

static void on_connected(struct task *task)
{
    helm_list_releases(task, pod_task(task)->chain.helm->cluster, true, on_releases);
}

static const struct targets_handler targets_handler = {on_cluster, on_connected, fail_release};

static void read_release(struct task *task)
{
    const char *target = item_effective_target(task->item);

    new_chain(task);
    targets_read(task, json_pack("[s]", target ? target : ""), &targets_handler);
}

void helm_step(struct task *task)
{
    if (manifest_current_run(task))
        manifest_step(task);
    else if (helm_is_release(task->item->config))
        read_release(task);
    else
        read_rendered(task);
}

/* ---- The end ---- */

void helm_complete(struct task *task)
{
    struct manifest_run *run = objects_task(task)->run;
    json_t *exports = pod_task(task)->value_exports;

    if (run && exports) {
        if (!run->work.values)
            run->work.values = json_object();
        (void)json_object_update_recursive(run->work.values, exports);
    }
    manifest_complete(task);
}

/* As soon as the pod exists, it may have made the release. NULL: no release. */
static json_t *release_to_report(const struct task *task, const json_t *status,
                                 const json_t *of_pod)
{
    const json_t *known = doc_get(status, "providerStatus." HELM_STATUS_RELEASE);

    if (of_pod && !task->item->is_deleting && helm_is_release(task->item->config))
        return helm_deployed_release(task->item->config);
    return json_incref(doc_writable(known));
}

/* managedResources and what else deployer/objects remembers stay, whatever is reported. */
void helm_report(struct task *task, enum report_kind kind, json_t *status, json_t *of_pod)
{
    static const char *const kept[] = {"managedResources", "longshore"};
    json_t *provider = of_pod ? of_pod : json_pack("{s:s}", "kind", KIND_PROVIDER_STATUS);
    cleanup_json json_t *release = release_to_report(task, status, of_pod);
    const json_t *objects = NULL;

    if (objects_task(task)->run)
        manifest_report(task, kind, status);
    objects = doc_member(status, "providerStatus");
    for (size_t i = 0; i < array_length(kept); i++) {
        json_t *value = json_object_get(objects, kept[i]);

        if (value)
            (void)json_object_set(provider, kept[i], value);
    }
    if (release)
        (void)json_object_set(provider, HELM_STATUS_RELEASE, release);
    doc_set_text(provider, "apiVersion", HELM_API_VERSION);
    doc_set_new(status, "providerStatus", provider);
}
