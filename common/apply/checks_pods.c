/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/apply/follow.h"
#include "common/apply/readiness_internal.h"
#include "common/apply/reference.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

static bool has_pods(const json_t *workload)
{
    static const struct {
        const char *group, *kind;
    } kinds[] = {{"apps", "Deployment"},
                 {"apps", "StatefulSet"},
                 {"apps", "DaemonSet"},
                 {"apps", "ReplicaSet"},
                 {"batch", "Job"}};

    for (size_t i = 0; i < array_length(kinds); i++) {
        if (readiness_is_kind(workload, kinds[i].group, kinds[i].kind))
            return true;
    }
    return false;
}

static void read_pod(struct check_pods *pods, const json_t *pod)
{
    const char *created = doc_text_or(pod, "metadata.creationTimestamp", "");
    char problem[160] = "";

    /* The pods of former revisions are older, and their problems may have been solved. */
    if ((pods->reason && strcmp(created, pods->created) <= 0) ||
        !readiness_explain_pod(pod, problem, sizeof(problem)))
        return;
    free(pods->reason);
    free(pods->created);
    pods->reason = xasprintf("pod %s: %s", doc_text_or(pod, "metadata.name", ""), problem);
    pods->created = xstrdup(created);
}

static void on_pod(void *data, const json_t *pod, const struct error *err)
{
    struct check_pods *pods = data;

    if (pod && !err)
        read_pod(pods, pod);
    if (pod)
        return;
    follow_stop(pods->follow);
    pods->follow = NULL;
    pods->on_done(pods->data);
}

void check_pods_start(struct check_pods *pods, struct cluster *cluster, const json_t *workload,
                      void (*on_done)(void *data), void *data)
{
    const json_t *selector = doc_get(workload, "spec.selector");
    const json_t *labels = doc_member(selector, "matchLabels");
    const char *namespace_name = doc_text(workload, "metadata.namespace");

    if (pods->follow || !namespace_name || !has_pods(workload) || json_object_size(labels) == 0 ||
        json_array_size(doc_member(selector, "matchExpressions")) > 0)
        return;
    pods->on_done = on_done;
    pods->data = data;
    pods->namespace_name = xstrdup(namespace_name);
    pods->selector = label_selector_text(labels);
    pods->follow = follow_start(&(struct follow_options){
        .cluster = cluster,
        .api_version = "v1",
        .kind_name = "Pod",
        .namespace_name = pods->namespace_name,
        .label_selector = pods->selector,
        .on_object = on_pod,
        .data = pods,
    });
}

bool check_pods_is_reading(const struct check_pods *pods)
{
    return pods->follow != NULL;
}

void check_pods_done(struct check_pods *pods)
{
    follow_stop(pods->follow);
    free(pods->namespace_name);
    free(pods->selector);
    free(pods->reason);
    free(pods->created);
    *pods = (struct check_pods){0};
}
