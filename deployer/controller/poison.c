/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/poison.h"

#include <string.h>

#include "common/base/log.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/objects.h"
#include "deployer/item/provider.h"
#include "deployer/item/status.h"

json_t *poison_patch(const struct deployer_config *config, const json_t *object,
                     const struct error *err)
{
    const char *annotated = object_annotation(object, ANNOTATION_DEPLOYER_TYPE);
    const char *type = annotated ? annotated : doc_text(object, "spec.type");
    const char *created = doc_text_or(object, "metadata.creationTimestamp", "1970-01-01T00:00:00Z");
    bool is_deleting = doc_text(object, "metadata.deletionTimestamp") != NULL;

    /* As item_effective_type() of an item that can be read. */
    if (!type || !item_type_served(config, type))
        return NULL;
    return json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:s},{s:s,s:s,s:{s:s,s:s,s:s,s:s,s:s,s:[s]}}]", "op",
                     "copy", "from", "/status/jobID", "path", "/status/jobIDFinished", "op", "add",
                     "path", "/status/phase", "value", status_failed_phase(is_deleting), "op",
                     "add", "path", "/status/lastError", "value", "operation",
                     "InitContainerOperation", "reason", "DecodeProviderConfiguration", "message",
                     err->text, "lastTransitionTime", created, "lastUpdateTime", created, "codes",
                     CODE_CONFIGURATION_PROBLEM);
}

static void on_failed(void *data, json_t *object, const struct error *err)
{
    (void)data;
    (void)object;
    /* Without a job there is nothing to fail, and the answer holds the item that can't be read. */
    if (err->kind != ERROR_NONE)
        log_debug("an unreadable item", log_text("error", err->text));
}

void poison_fail(struct controller *controller, const json_t *object, const struct error *err)
{
    cleanup_json json_t *patch = poison_patch(controller->config, object, err);
    struct kube_request request = {.verb = KUBE_PATCH_JSON,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .namespace_name = doc_text(object, "metadata.namespace"),
                                   .name = doc_text(object, "metadata.name"),
                                   .subresource = "status",
                                   .body = patch,
                                   .grace_seconds = -1,
                                   .is_unread = true,
                                   .may_send = controller_may_send,
                                   .may_send_data = controller,
                                   .on_done = on_failed};
    struct kube_call *call = NULL;
    struct error failure = {0};

    log_error("an item can't be read",
              log_text("deployItem", doc_text_or(object, "metadata.name", "")),
              log_text("namespace", doc_text_or(object, "metadata.namespace", "")),
              log_text("error", err->text));
    if (!patch || !request.name || !request.namespace_name)
        return;
    if (!controller_may_write(controller)) {
        controller->has_unreadable = true;
        return;
    }
    if (kube_start(controller->landscaper, &request, &call, &failure) < 0)
        log_error("an item can't be failed", log_text("error", failure.text));
}
