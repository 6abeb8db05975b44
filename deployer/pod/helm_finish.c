/* SPDX-License-Identifier: Apache-2.0 */
/* What follows on the pod of a helm item. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/helm/rendered.h"
#include "deployer/helm/type_helm.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/state_read.h"
#include "deployer/protocol/act.h"

#define OPERATION_RENDER "TemplateChart"

enum {
    CHUNKS_MAX = 32,
    UNPACKED_MAX = 64 * 1024 * 1024,
    TEXT_MAX = 32 * 1024 * 1024,
};

bool helm_has_finish(const struct task *task)
{
    const struct pod_entry *entry = pod_of_job(task);

    return helm_is_item(task) && !task->item->is_deleting && !item_is_finished(task->item) &&
           entry && !helm_is_release(task->item->config);
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
static int add_value_exports(struct task *task, const struct helm_config *helm,
                             const struct rendered *rendered, struct manifest_config *config,
                             struct error *err)
{
    cleanup_json json_t *values = NULL;
    json_t *exports = NULL;

    if (config->value_export_count == 0)
        return 0;
    if (rendered_values(rendered, helm, &values, err) < 0 ||
        helm_value_exports(config, values, &exports, err) < 0)
        return -1;
    json_decref(pod_task(task)->value_exports);
    pod_task(task)->value_exports = exports;
    return 0;
}

static int make_config(struct task *task, struct rendered *rendered,
                       struct manifest_config **ret_config, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_helm_config struct helm_config *helm = helm_config_read(task->item->config, &mistakes);
    cleanup_manifest_config struct manifest_config *config =
        manifest_config_for_chart(task->item->config, &mistakes);

    if (mistakes_fail(&mistakes, err) < 0 ||
        rendered_objects(rendered, helm, task->record->name, config, err) < 0 ||
        add_value_exports(task, helm, rendered, config, err) < 0)
        return -1;
    *ret_config = steal(&config);
    return 0;
}

static void on_state(struct task *task, const struct error *err)
{
    struct rendered *rendered = pod_task(task)->chain.helm->rendered;
    struct manifest_config *config = NULL;
    struct error cause = *err;

    if (err->kind != ERROR_NONE) {
        (void)error_wrap(&cause, "read the rendered objects");
        fail_rendered(task, "ReadRenderedObjects", &cause);
        return;
    }
    if (make_config(task, rendered, &config, &cause) < 0) {
        fail_rendered(task, "ParseRenderedObjects", &cause);
        return;
    }
    manifest_start_with(task, config);
}

static void read_rendered(struct task *task)
{
    struct pod_chain *chain = &pod_task(task)->chain;
    struct state_reading_options options = {
        .generations_max = 1,
        .chunks_max = CHUNKS_MAX,
        .budget = {.unpacked = UNPACKED_MAX, .text = TEXT_MAX},
        .on_text = rendered_add,
        .on_done = on_state,
    };

    helm_chain_free(chain->helm);
    chain->helm = xcalloc(1, sizeof(*chain->helm));
    chain->helm->rendered = xcalloc(1, sizeof(*chain->helm->rendered));
    options.data = chain->helm->rendered;
    pod_read_state(task, &options);
}

/* The Target was read for the pod, and dropped when that was made. */
void helm_step(struct task *task)
{
    if (manifest_current_run(task))
        manifest_step(task);
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

/* managedResources and what else deployer/objects remembers stay, whatever is reported. */
void helm_report(struct task *task, enum report_kind kind, json_t *status, json_t *of_pod)
{
    static const char *const kept[] = {"managedResources", "longshore"};
    json_t *provider = of_pod ? of_pod : json_pack("{s:s}", "kind", KIND_PROVIDER_STATUS);
    const json_t *objects = NULL;

    if (objects_task(task)->run)
        manifest_report(task, kind, status);
    objects = doc_member(status, "providerStatus");
    for (size_t i = 0; i < array_length(kept); i++) {
        json_t *value = json_object_get(objects, kept[i]);

        if (value)
            (void)json_object_set(provider, kept[i], value);
    }
    doc_set_text(provider, "apiVersion", HELM_API_VERSION);
    doc_set_new(status, "providerStatus", provider);
}
