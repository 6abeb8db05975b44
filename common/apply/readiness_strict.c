/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of kstatus, which Flux, Helm and cli-utils use. */
#include <string.h>

#include "common/apply/readiness_internal.h"
#include "common/data/doc.h"

static bool is_text(const json_t *object, const char *path, const char *expected)
{
    return strcmp(doc_text_or(object, path, ""), expected) == 0;
}

/* One comparison of a kind's status: value must be at least wanted, or at most. */
struct comparison {
    int64_t value, wanted;
    const char *what; /* "replicas updated" */
    bool is_maximum;
};

static struct readiness_verdict compare(const struct comparison *comparisons, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct comparison *c = &comparisons[i];

        if (c->is_maximum && c->value > c->wanted)
            return readiness_waiting("%lld %s", (long long)(c->value - c->wanted), c->what);
        if (!c->is_maximum && c->value < c->wanted)
            return readiness_waiting("%lld of %lld %s", (long long)c->value, (long long)c->wanted,
                                     c->what);
    }
    return readiness_ready();
}

static struct readiness_verdict judge_deployment(const json_t *deployment)
{
    int64_t wanted = readiness_count(deployment, "spec.replicas", 1);
    int64_t present = readiness_count(deployment, "status.replicas", 0);
    int64_t updated = readiness_count(deployment, "status.updatedReplicas", 0);
    const struct comparison comparisons[] = {
        {present, wanted, "replicas created", false},
        {updated, wanted, "replicas updated", false},
        {present, wanted, "old replicas to be terminated", true},
        {readiness_count(deployment, "status.availableReplicas", 0), updated, "replicas available",
         false},
        {readiness_count(deployment, "status.readyReplicas", 0), wanted, "replicas ready", false},
    };
    const json_t *progressing = readiness_condition(deployment, "Progressing");
    struct readiness_verdict verdict = compare(comparisons, array_length(comparisons));

    if (is_text(progressing, "reason", "ProgressDeadlineExceeded"))
        return readiness_by_condition(READINESS_FAILED, progressing);
    if (verdict.readiness != READINESS_READY)
        return verdict;
    /* Without a deadline the controller does not report progress. */
    if (doc_get(deployment, "spec.progressDeadlineSeconds") &&
        !(is_text(progressing, "status", "True") &&
          is_text(progressing, "reason", "NewReplicaSetAvailable")))
        return readiness_waiting("its new ReplicaSet is not available yet");
    if (!readiness_has_condition(deployment, "Available", "True"))
        return readiness_waiting("condition Available is not True");
    return readiness_ready();
}

static struct readiness_verdict judge_stateful_set(const json_t *set)
{
    static const char partition_path[] = "spec.updateStrategy.rollingUpdate.partition";
    int64_t wanted = readiness_count(set, "spec.replicas", 1);
    int64_t present = readiness_count(set, "status.replicas", 0);
    bool has_partition = doc_get(set, partition_path) != NULL;
    int64_t partition = readiness_count(set, partition_path, 0);
    const struct comparison comparisons[] = {
        {present, wanted, "replicas created", false},
        {readiness_count(set, "status.readyReplicas", 0), wanted, "replicas ready", false},
        {present, wanted, "replicas to be terminated", true},
        {has_partition ? readiness_count(set, "status.updatedReplicas", 0)
                       : readiness_count(set, "status.currentReplicas", 0),
         has_partition ? wanted - partition : wanted, "replicas updated", false},
    };
    struct readiness_verdict verdict = compare(comparisons, array_length(comparisons));

    if (is_text(set, "spec.updateStrategy.type", "OnDelete"))
        return readiness_ready();
    if (verdict.readiness == READINESS_READY && !has_partition &&
        !is_text(set, "status.currentRevision", doc_text_or(set, "status.updateRevision", "")))
        return readiness_waiting("its update is not complete");
    return verdict;
}

static struct readiness_verdict judge_daemon_set(const json_t *set)
{
    int64_t desired = readiness_count(set, "status.desiredNumberScheduled", 0);
    const struct comparison comparisons[] = {
        {readiness_count(set, "status.currentNumberScheduled", 0), desired, "pods scheduled",
         false},
        {readiness_count(set, "status.updatedNumberScheduled", 0), desired, "pods updated", false},
        {readiness_count(set, "status.numberAvailable", 0), desired, "pods available", false},
        {readiness_count(set, "status.numberReady", 0), desired, "pods ready", false},
    };

    if (!doc_get(set, "metadata.generation") || !doc_get(set, "status.observedGeneration") ||
        !doc_get(set, "status.desiredNumberScheduled"))
        return readiness_waiting("its controller has not seen it yet");
    return compare(comparisons, array_length(comparisons));
}

static struct readiness_verdict judge_replica_set(const json_t *set)
{
    int64_t wanted = readiness_count(set, "spec.replicas", 1);
    const struct comparison comparisons[] = {
        {readiness_count(set, "status.fullyLabeledReplicas", 0), wanted, "replicas labelled",
         false},
        {readiness_count(set, "status.availableReplicas", 0), wanted, "replicas available", false},
        {readiness_count(set, "status.readyReplicas", 0), wanted, "replicas ready", false},
        {readiness_count(set, "status.replicas", 0), wanted, "replicas to be terminated", true},
    };

    if (readiness_has_condition(set, "ReplicaFailure", "True"))
        return readiness_by_condition(READINESS_WAITING,
                                      readiness_condition(set, "ReplicaFailure"));
    return compare(comparisons, array_length(comparisons));
}

static bool is_crash_looping(const json_t *pod)
{
    const json_t *statuses = doc_get(pod, "status.containerStatuses");

    for (size_t i = 0; i < json_array_size(statuses); i++) {
        if (is_text(json_array_get(statuses, i), "state.waiting.reason", "CrashLoopBackOff"))
            return true;
    }
    return false;
}

static struct readiness_verdict judge_pod(const json_t *pod)
{
    const json_t *scheduled = readiness_condition(pod, "PodScheduled");
    char problem[160] = "";
    bool has_problem = readiness_explain_pod(pod, problem, sizeof(problem));

    if (is_text(pod, "status.phase", "Succeeded") || is_text(pod, "status.phase", "Failed"))
        return readiness_ready();
    if (is_text(pod, "status.phase", "Running")) {
        if (readiness_has_condition(pod, "Ready", "True"))
            return readiness_ready();
        if (is_crash_looping(pod))
            return readiness_failed("a container crashes again and again (%s)", problem);
        return readiness_waiting("the pod runs, but is not ready");
    }
    if (is_text(scheduled, "status", "False"))
        return readiness_by_condition(READINESS_WAITING, scheduled);
    /* A pull may succeed later: the registry may be away, or the image may not be pushed yet. */
    return readiness_waiting("the pod does not run yet%s%s%s", has_problem ? " (" : "", problem,
                             has_problem ? ")" : "");
}

static struct readiness_verdict judge_job(const json_t *job)
{
    const json_t *failed = readiness_condition(job, "Failed");

    if (is_text(failed, "status", "True"))
        return readiness_by_condition(READINESS_FAILED, failed);
    if (readiness_has_condition(job, "Complete", "True") ||
        readiness_has_condition(job, "Suspended", "True") ||
        *doc_text_or(job, "status.startTime", ""))
        return readiness_ready();
    return readiness_waiting("the job has not started");
}

static struct readiness_verdict judge_claim(const json_t *claim)
{
    if (is_text(claim, "status.phase", "Bound"))
        return readiness_ready();
    return readiness_waiting("the claim is not bound to a volume");
}

static struct readiness_verdict judge_service(const json_t *service)
{
    if (is_text(service, "spec.type", "LoadBalancer") && is_text(service, "spec.clusterIP", ""))
        return readiness_waiting("the service has no address");
    return readiness_ready();
}

static struct readiness_verdict judge_crd(const json_t *crd)
{
    const json_t *names = readiness_condition(crd, "NamesAccepted");
    const json_t *established = readiness_condition(crd, "Established");

    if (is_text(names, "status", "False"))
        return readiness_by_condition(READINESS_FAILED, names);
    if (is_text(established, "status", "True"))
        return readiness_ready();
    if (is_text(established, "status", "False") && !is_text(established, "reason", "Installing"))
        return readiness_by_condition(READINESS_FAILED, established);
    return readiness_waiting("the kind is not established yet");
}

static struct readiness_verdict judge_existing(const json_t *object)
{
    (void)object;
    return readiness_ready();
}

static struct readiness_verdict judge_any(const json_t *object)
{
    const json_t *condition = readiness_condition(object, "Ready");

    if (!condition || is_text(condition, "status", "True"))
        return readiness_ready();
    return readiness_by_condition(READINESS_WAITING, condition);
}

static struct readiness_verdict judge_kind(const json_t *object)
{
    static const struct {
        const char *group, *kind;
        struct readiness_verdict (*judge)(const json_t *object);
    } kinds[] = {
        {"apps", "Deployment", judge_deployment},
        {"apps", "StatefulSet", judge_stateful_set},
        {"apps", "DaemonSet", judge_daemon_set},
        {"apps", "ReplicaSet", judge_replica_set},
        {"", "ReplicationController", judge_replica_set},
        {"", "Pod", judge_pod},
        {"batch", "Job", judge_job},
        {"", "PersistentVolumeClaim", judge_claim},
        {"", "Service", judge_service},
        {"apiextensions.k8s.io", "CustomResourceDefinition", judge_crd},
        {"policy", "PodDisruptionBudget", judge_existing},
        {"", "ConfigMap", judge_existing},
        {"", "Secret", judge_existing},
        {"batch", "CronJob", judge_existing},
    };

    for (size_t i = 0; i < array_length(kinds); i++) {
        if (readiness_is_kind(object, kinds[i].group, kinds[i].kind))
            return kinds[i].judge(object);
    }
    return readiness_is_flux(object) ? readiness_judge_flux(object) : judge_any(object);
}

struct readiness_verdict readiness_judge_strictly(const json_t *object)
{
    const json_t *generation = doc_get(object, "metadata.generation");
    const json_t *observed = doc_get(object, "status.observedGeneration");
    struct readiness_verdict first =
        readiness_is_flux(object) ? readiness_judge_flux_first(object) : readiness_ready();

    if (doc_get(object, "metadata.deletionTimestamp"))
        return readiness_waiting("the object is being deleted");
    if (first.readiness != READINESS_READY)
        return first;
    if (json_is_integer(generation) && json_is_integer(observed) &&
        json_integer_value(generation) != json_integer_value(observed))
        return readiness_waiting("its controller has not seen the last change yet");
    if (readiness_has_condition(object, "Reconciling", "True"))
        return readiness_by_condition(READINESS_WAITING,
                                      readiness_condition(object, "Reconciling"));
    if (readiness_has_condition(object, "Stalled", "True"))
        return readiness_by_condition(READINESS_FAILED, readiness_condition(object, "Stalled"));
    return judge_kind(object);
}
