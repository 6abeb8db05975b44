/* SPDX-License-Identifier: Apache-2.0 */
/* What a run was given, read again before anything that its containers said is told. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/act.h"
#include "deployer/controller/objects.h"

static const struct pod_entry *pod_at_hand(const struct task *task)
{
    enum pod_claim claim = POD_ABSENT;

    return task_pod(task, &claim);
}

/* Somebody may have removed the inputs while an export is still there: what they were is unknown.
 */
static bool has_inputs(const struct task *task, const struct pod_entry *entry,
                       const json_t *secrets)
{
    const json_t *secret = NULL;
    size_t i = 0;

    if (!entry || !object_annotation(entry->pod, ANNOTATION_JOB))
        return json_array_size(secrets) > 0;
    json_array_foreach(secrets, i, secret)
    {
        if (strcmp(doc_text_or(secret, "metadata.name", ""), task->names.input) == 0)
            return true;
    }
    return false;
}

void act_hidden_is_read(struct task *task)
{
    const struct pod_entry *entry = pod_at_hand(task);

    if (entry)
        hidden_spare_images(&task->hidden, entry->pod);
    hidden_spare(&task->hidden, doc_text_or(task->item->config, "image", ""));
    task->after_hidden(task);
}

static void on_inputs(struct task *task, json_t *object, const struct error *err)
{
    const json_t *secrets = doc_member(object, "items");
    const struct pod_entry *entry = pod_at_hand(task);
    const json_t *secret = NULL;
    size_t i = 0;

    if (err->kind == ERROR_NONE) {
        json_array_foreach(secrets, i, secret) hidden_add_secret(&task->hidden, secret);
        task->hidden.is_known = has_inputs(task, entry, secrets);
    }
    /* Main's words are told by nobody if the inputs are not known, and there are none before it
     * began. */
    if (task->is_main_told && task->hidden.is_known && !task->hidden.is_incomplete && entry &&
        hidden_may_have_spoken(entry->pod))
        act_read_hidden_state(task);
    else
        act_hidden_is_read(task);
}

/* Those of a run that the Go deployer began have the item's labels, as its state has, which is
 * read by itself. */
void act_read_hidden(struct task *task, const struct pod_entry *entry, bool is_main_told,
                     task_then_fn *next)
{
    bool is_ours = object_annotation(entry->pod, ANNOTATION_JOB) != NULL;
    cleanup_free char *of_item = act_item_selector(task);
    cleanup_free char *go_selector = xasprintf("%s," LABEL_TYPE "!=" LABEL_TYPE_STATE, of_item);
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = task->controller->config->namespace_name,
                                   .label_selector =
                                       is_ours ? task->names.run_selector : go_selector};

    task->is_main_told = is_main_told;
    task->after_hidden = next;
    task_request(task, task->controller->host, &request, on_inputs);
}
