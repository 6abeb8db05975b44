/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the inputs of a run again, before any text of its containers is shown. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/helm.h"
#include "deployer/pod/owner.h"

static const struct pod_entry *present_pod(const struct task *task)
{
    enum execution_claim claim = EXECUTION_ABSENT;

    return pod_of_task(task, &claim);
}

/* An export alone does not count: somebody may have removed the inputs, which are unknown then. */
static bool has_inputs(const struct task *task, const struct pod_entry *entry,
                       const json_t *secrets)
{
    const json_t *secret = NULL;
    size_t i = 0;

    if (!entry || !object_annotation(entry->pod, ANNOTATION_JOB))
        return json_array_size(secrets) > 0;
    json_array_foreach(secrets, i, secret)
    {
        if (strcmp(doc_text_or(secret, "metadata.name", ""), pod_task(task)->names.input) == 0)
            return true;
    }
    return false;
}

void pod_redaction_is_read(struct task *task)
{
    const struct pod_entry *entry = present_pod(task);

    if (entry)
        redaction_exempt_images(&pod_task(task)->chain.redaction, entry->pod);
    redaction_exempt(&pod_task(task)->chain.redaction,
                     doc_text_or(task->item->config, "image", ""));
    pod_task(task)->chain.after_redaction(task);
}

static void on_inputs(struct task *task, json_t *object, const struct error *err)
{
    const json_t *secrets = doc_member(object, "items");
    const struct pod_entry *entry = present_pod(task);
    const json_t *secret = NULL;
    size_t i = 0;

    if (err->kind == ERROR_NONE) {
        json_array_foreach(secrets, i, secret)
            redaction_add_secret(&pod_task(task)->chain.redaction, secret);
        pod_task(task)->chain.redaction.is_known = has_inputs(task, entry, secrets);
    }
    /* helm is given no state, and prints nothing of what it renders. */
    pod_task(task)->chain.redaction.is_state_known = helm_is_item(task);
    /* The output of main is not shown if the inputs are unknown, and there is none before it
     * started.
     */
    if (pod_task(task)->chain.is_main_shown && pod_task(task)->chain.redaction.is_known &&
        !pod_task(task)->chain.redaction.is_incomplete && entry &&
        redaction_has_main_started(entry->pod) && !helm_is_item(task))
        pod_read_redaction_state(task);
    else
        pod_redaction_is_read(task);
}

/* Inputs of a run of the Go deployer have only the item's labels. So has the state, which is read
 * separately. */
void pod_read_redaction(struct task *task, const struct pod_entry *entry, bool is_main_shown,
                        pod_then_fn *next)
{
    bool is_ours = object_annotation(entry->pod, ANNOTATION_JOB) != NULL;
    cleanup_free char *of_item =
        owner_item_selector(task->record->namespace_name, task->record->name);
    cleanup_free char *go_selector = xasprintf("%s," LABEL_TYPE "!=" LABEL_TYPE_STATE, of_item);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector =
                                       is_ours ? pod_task(task)->names.run_selector : go_selector};

    pod_task(task)->chain.is_main_shown = is_main_shown;
    pod_task(task)->chain.after_redaction = next;
    task_request(task, task->controller->host, &request, on_inputs);
}
