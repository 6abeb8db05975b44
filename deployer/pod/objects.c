/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/objects.h"

#include <string.h>

#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"

const char *object_annotation(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, "metadata.annotations"), key));
}

const char *object_label(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, "metadata.labels"), key));
}

uint64_t object_version(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX, &version);
    return version;
}

bool object_has_finalizer(const json_t *object, const char *finalizer)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(finalizers, i, entry)
    {
        const char *text = json_string_value(entry);

        if (text && strcmp(text, finalizer) == 0)
            return true;
    }
    return false;
}

json_t *object_other_finalizers(const json_t *object, const char *finalizer)
{
    const json_t *before = doc_get(object, "metadata.finalizers");
    json_t *after = json_array();
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(before, i, entry)
    {
        const char *text = json_string_value(entry);

        if (text && strcmp(text, finalizer) != 0)
            (void)json_array_append(after, entry);
    }
    return after;
}

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

enum { POD_CONTAINERS = 2 }; /* main and wait; the Go deployer's, too */

bool pod_is_over(const json_t *pod)
{
    const char *phase = doc_text_or(pod, "status.phase", "");

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return true;
    if (!doc_text(pod, "metadata.deletionTimestamp"))
        return false;
    /* No kubelet has it, or the kubelet (or whoever knows that the node is gone) has let it go. */
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
    /* Before the first container starts not all of them may be listed. */
    return ended >= POD_CONTAINERS;
}
