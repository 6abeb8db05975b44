/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/objects.h"

#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"

bool object_item(const json_t *object, const char **ret_namespace, const char **ret_name)
{
    const char *name = object_annotation(object, ANNOTATION_ITEM_NAME);
    const char *namespace_name = object_annotation(object, ANNOTATION_ITEM_NAMESPACE);

    if (!name || !namespace_name) {
        name = object_label(object, LABEL_ITEM_NAME);
        namespace_name = object_label(object, LABEL_ITEM_NAMESPACE);
    }
    if (!name || !namespace_name || !*name || !*namespace_name)
        return false;
    *ret_name = name;
    *ret_namespace = namespace_name;
    return true;
}

enum { POD_CONTAINERS = 2 }; /* main and wait, in pods of the Go deployer too */

bool pod_wait_has_ended(const json_t *pod)
{
    const json_t *status = NULL;
    size_t i = 0;

    json_array_foreach(doc_get(pod, "status.containerStatuses"), i, status)
    {
        if (strcmp(doc_text_or(status, "name", ""), CONTAINER_WAIT) == 0)
            return json_is_object(doc_get(status, "state.terminated"));
    }
    return false;
}

bool pod_is_over(const json_t *pod)
{
    const char *phase = doc_text_or(pod, "status.phase", "");

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return true;
    if (!doc_text(pod, "metadata.deletionTimestamp"))
        return false;
    /* It was never bound to a node; or the kubelet, or the controller that removes the pods of lost
     * nodes, has released it. */
    return !doc_text(pod, "spec.nodeName") ||
           doc_integer_or(pod, "metadata.deletionGracePeriodSeconds", -1) == 0;
}

bool pod_has_stopped(const json_t *pod)
{
    const json_t *statuses = doc_get(pod, "status.containerStatuses");
    const json_t *status = NULL;
    size_t ended = 0;
    size_t i = 0;

    json_array_foreach(statuses, i, status)
    {
        if (!json_is_object(doc_get(status, "state.terminated")))
            return false;
        ended++;
    }
    /* Before the first container starts, the list may be incomplete. */
    return ended >= POD_CONTAINERS;
}

bool pod_can_be_deleted(const json_t *pod)
{
    return !doc_text(pod, "metadata.deletionTimestamp") ||
           (pod_has_stopped(pod) &&
            doc_integer_or(pod, "metadata.deletionGracePeriodSeconds", 0) != 0);
}
