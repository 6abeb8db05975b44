/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the controllers of workloads: every Deployment, StatefulSet and DaemonSet is ready at once.
 */
#include <string.h>

#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "e2e/fleet/effects.h"
#include "e2e/fleet/managed.h"
#include "e2e/fleet/rules.h"

static json_t *condition(const char *type, const char *reason, const char *now)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", "True", "reason", reason,
                     "lastTransitionTime", now, "lastUpdateTime", now);
}

static json_t *deployment_status(const json_t *object, const char *now)
{
    json_int_t replicas = doc_integer_or(object, "spec.replicas", 1);

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:[o, o]}", "observedGeneration",
                     (json_int_t)doc_integer_or(object, "metadata.generation", 1), "replicas",
                     replicas, "updatedReplicas", replicas, "readyReplicas", replicas,
                     "availableReplicas", replicas, "conditions",
                     condition("Available", "MinimumReplicasAvailable", now),
                     condition("Progressing", "NewReplicaSetAvailable", now));
}

static json_t *stateful_set_status(const json_t *object)
{
    json_int_t replicas = doc_integer_or(object, "spec.replicas", 1);

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "observedGeneration",
                     (json_int_t)doc_integer_or(object, "metadata.generation", 1), "replicas",
                     replicas, "readyReplicas", replicas, "currentReplicas", replicas,
                     "updatedReplicas", replicas, "availableReplicas", replicas, "currentRevision",
                     "fleet", "updateRevision", "fleet");
}

static json_t *daemon_set_status(const json_t *object)
{
    return json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:i}", "observedGeneration",
                     (json_int_t)doc_integer_or(object, "metadata.generation", 1),
                     "desiredNumberScheduled", 1, "currentNumberScheduled", 1, "numberReady", 1,
                     "numberAvailable", 1, "updatedNumberScheduled", 1, "numberMisscheduled", 0);
}

static json_t *make_status(const struct resource *resource, const json_t *object, const char *now)
{
    if (rules_is(resource, "deployments.apps"))
        return deployment_status(object, now);
    if (rules_is(resource, "statefulsets.apps"))
        return stateful_set_status(object);
    return rules_is(resource, "daemonsets.apps") ? daemon_set_status(object) : NULL;
}

void workload_written(struct cluster *cluster, const struct resource *resource,
                      const struct record *record)
{
    const struct resource_version *version = &resource->versions[0];
    struct shape shape = shape_root(resource, version);
    struct managed_by by = {"kube-controller-manager",
                            version->api_version,
                            "status",
                            cluster_now_s(cluster),
                            {"spec", ""}};
    cleanup_json json_t *before = NULL, *after = NULL;
    json_t *status = NULL;
    char now[TIMESTAMP_MAX];

    if (strcmp(resource->group, "apps") != 0)
        return;
    before = record_json(record, version->api_version, resource->kind);
    timestamp_format(cluster_now_s(cluster) * 1000, now);
    status = make_status(resource, before, now);
    if (!status)
        return;
    if (doc_integer_or(before, "status.observedGeneration", 0) ==
        doc_integer_or(before, "metadata.generation", 1)) {
        json_decref(status);
        return;
    }
    after = json_deep_copy(before);
    (void)json_object_set_new(after, "status", status);
    managed_update(&shape, before, after, &by);
    (void)store_put(&cluster->store, resource, after);
}
