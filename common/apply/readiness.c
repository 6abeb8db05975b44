/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/readiness.h"

#include <stdarg.h>
#include <string.h>

#include "common/apply/readiness_internal.h"
#include "common/apply/reference.h"
#include "common/base/number.h"
#include "common/data/doc.h"

struct readiness_verdict readiness_ready(void)
{
    return (struct readiness_verdict){.readiness = READINESS_READY};
}

struct readiness_verdict readiness_not_ready(enum readiness readiness, const char *format, ...)
{
    struct readiness_verdict verdict = {.readiness = readiness};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(verdict.reason, sizeof(verdict.reason), format, arguments);
    va_end(arguments);
    return verdict;
}

bool readiness_is_group(const json_t *object, const char *group)
{
    const char *own = NULL;
    const char *version = NULL;
    size_t size = 0;

    api_version_split(doc_text_or(object, "apiVersion", ""), &own, &size, &version);
    return strlen(group) == size && memcmp(own, group, size) == 0;
}

bool readiness_is_kind(const json_t *object, const char *group, const char *kind)
{
    return strcmp(doc_text_or(object, "kind", ""), kind) == 0 && readiness_is_group(object, group);
}

int64_t readiness_count(const json_t *object, const char *path, int64_t fallback)
{
    int64_t count = doc_integer_or(object, path, fallback);

    if (count > INT32_MAX)
        return INT32_MAX;
    return count < INT32_MIN ? INT32_MIN : count;
}

const json_t *readiness_condition(const json_t *object, const char *type)
{
    const json_t *conditions = doc_get(object, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "type", ""), type) == 0)
            return condition;
    }
    return NULL;
}

bool readiness_has_condition(const json_t *object, const char *type, const char *status)
{
    const json_t *condition = readiness_condition(object, type);

    return condition && strcmp(doc_text_or(condition, "status", ""), status) == 0;
}

bool readiness_is_word(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    return *text && strlen(text) <= READINESS_REASON_MAX && !text[strspn(text, letters)];
}

struct readiness_verdict readiness_by_condition(enum readiness readiness, const json_t *condition)
{
    const char *type = doc_text_or(condition, "type", "");
    const char *status = doc_text_or(condition, "status", "");
    const char *reason = doc_text_or(condition, "reason", "");
    bool has_reason = readiness_is_word(reason);

    return readiness_not_ready(
        readiness, "condition %s is %s%s%s%s", type, readiness_is_word(status) ? status : "not set",
        has_reason ? " (" : "", has_reason ? reason : "", has_reason ? ")" : "");
}

/* ---- The default rules ---- */

static bool is_observed(const json_t *object)
{
    return doc_integer_or(object, "status.observedGeneration", 0) >=
           doc_integer_or(object, "metadata.generation", 0);
}

static struct readiness_verdict not_observed(void)
{
    return readiness_waiting("its controller has not seen the last change yet");
}

static struct readiness_verdict judge_pod(const json_t *pod)
{
    const json_t *condition = readiness_condition(pod, "Ready");

    if (!condition)
        return readiness_waiting("condition Ready is missing");
    if (strcmp(doc_text_or(condition, "status", ""), "True") == 0 ||
        strcmp(doc_text_or(condition, "reason", ""), "PodCompleted") == 0)
        return readiness_ready();
    return readiness_by_condition(READINESS_WAITING, condition);
}

static struct readiness_verdict judge_deployment(const json_t *deployment)
{
    int64_t wanted = readiness_count(deployment, "spec.replicas", 0);
    int64_t present = readiness_count(deployment, "status.replicas", 0);
    int64_t updated = readiness_count(deployment, "status.updatedReplicas", 0);
    int64_t available = readiness_count(deployment, "status.availableReplicas", 0);

    if (!is_observed(deployment))
        return not_observed();
    if (updated != wanted)
        return readiness_waiting("%lld of %lld replicas updated", (long long)updated,
                                 (long long)wanted);
    if (present != wanted)
        return readiness_waiting("%lld replicas instead of %lld", (long long)present,
                                 (long long)wanted);
    if (available != wanted)
        return readiness_waiting("%lld of %lld replicas available", (long long)available,
                                 (long long)wanted);
    return readiness_ready();
}

static struct readiness_verdict judge_stateful_set(const json_t *set)
{
    int64_t wanted = readiness_count(set, "spec.replicas", 1);
    int64_t partition = readiness_count(set, "spec.updateStrategy.rollingUpdate.partition", 0);
    int64_t updated = readiness_count(set, "status.updatedReplicas", 0);
    int64_t available = readiness_count(set, "status.availableReplicas", 0);
    /* Pods below the partition keep their revision; with OnDelete all do until they are deleted. */
    int64_t wanted_updated = partition > 0 ? wanted - partition : wanted;

    if (strcmp(doc_text_or(set, "spec.updateStrategy.type", ""), "OnDelete") == 0)
        wanted_updated = 0;
    if (!is_observed(set))
        return not_observed();
    if (updated < wanted_updated)
        return readiness_waiting("%lld of %lld replicas updated", (long long)updated,
                                 (long long)wanted_updated);
    if (available < wanted)
        return readiness_waiting("%lld of %lld replicas available", (long long)available,
                                 (long long)wanted);
    return readiness_ready();
}

/* A number, or a percentage of desired, rounded down. */
static int64_t max_unavailable(const json_t *set, int64_t desired)
{
    static const char path[] = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    const char *text = doc_text(set, path);
    uint64_t percent = 0;
    size_t size = 0;

    if (strcmp(doc_text_or(set, "spec.updateStrategy.type", ""), "RollingUpdate") != 0)
        return 0;
    if (!text)
        return readiness_count(set, path, 0);
    size = number_scan(text, 100, &percent);
    return size > 0 && strcmp(text + size, "%") == 0 ? desired * (int64_t)percent / 100 : 0;
}

static struct readiness_verdict judge_daemon_set(const json_t *set)
{
    int64_t desired = readiness_count(set, "status.desiredNumberScheduled", 0);
    int64_t current = readiness_count(set, "status.currentNumberScheduled", 0);
    int64_t wanted = desired - max_unavailable(set, desired);

    if (!is_observed(set))
        return not_observed();
    if (current < wanted)
        return readiness_waiting("%lld of %lld pods scheduled", (long long)current,
                                 (long long)wanted);
    return readiness_ready();
}

static struct readiness_verdict judge_replica_set(const json_t *set)
{
    int64_t wanted = readiness_count(set, "spec.replicas", 1);
    int64_t ready = readiness_count(set, "status.readyReplicas", 0);
    const json_t *failure = readiness_condition(set, "ReplicaFailure");

    if (!is_observed(set))
        return not_observed();
    if (failure && strcmp(doc_text_or(failure, "status", ""), "False") != 0)
        return readiness_by_condition(READINESS_WAITING, failure);
    if (ready < wanted)
        return readiness_waiting("%lld of %lld replicas ready", (long long)ready,
                                 (long long)wanted);
    return readiness_ready();
}

struct readiness_verdict readiness_judge(const json_t *object, enum readiness_rules rules)
{
    static const struct {
        const char *group, *kind;
        struct readiness_verdict (*judge)(const json_t *object);
    } kinds[] = {
        {"", "Pod", judge_pod},
        {"apps", "Deployment", judge_deployment},
        {"apps", "StatefulSet", judge_stateful_set},
        {"apps", "DaemonSet", judge_daemon_set},
        {"apps", "ReplicaSet", judge_replica_set},
        {"", "ReplicationController", judge_replica_set},
    };

    if (rules == READINESS_STRICT)
        return readiness_judge_strictly(object);
    for (size_t i = 0; i < array_length(kinds); i++) {
        if (readiness_is_kind(object, kinds[i].group, kinds[i].kind))
            return kinds[i].judge(object);
    }
    return readiness_ready();
}
