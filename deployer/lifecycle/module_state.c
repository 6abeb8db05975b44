/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/module_state.h"

#include <stdarg.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/jsonpath/jsonpath.h"
#include "deployer/lifecycle/list.h"

enum { SILENCE_MAX_MS = 5 * 60 * 1000 };

printf_like(2, 3) static struct state_verdict
    verdict(enum module_state state, const char *format, ...)
{
    struct state_verdict verdict = {.state = state};
    va_list args;

    va_start(args, format);
    (void)vsnprintf(verdict.reason, sizeof(verdict.reason), format, args);
    va_end(args);
    return verdict;
}

static const struct state_verdict ready = {.state = MODULE_READY};

static bool is_text(const json_t *object, const char *path, const char *expected)
{
    return strcmp(doc_text_or(object, path, ""), expected) == 0;
}

static bool is_seen(const json_t *workload)
{
    return doc_integer_or(workload, "status.observedGeneration", 0) >=
           doc_integer_or(workload, "metadata.generation", 0);
}

static struct state_verdict deployment_state(const json_t *deployment)
{
    const json_t *conditions = doc_get(deployment, "status.conditions");
    const json_t *progressing = list_find(conditions, "type", "Progressing");
    const char *reason = doc_text_or(progressing, "reason", "");
    bool is_available = is_text(list_find(conditions, "type", "Available"), "status", "True");

    /* With progressDeadlineSeconds at its maximum the condition is never set. */
    bool is_complete = progressing ? strcmp(reason, "NewReplicaSetAvailable") == 0
                                   : doc_integer_or(deployment, "status.updatedReplicas", 0) >=
                                         doc_integer_or(deployment, "spec.replicas", 1);
    bool is_under_way = !progressing || strcmp(reason, "FoundNewReplicaSet") == 0 ||
                        strcmp(reason, "NewReplicaSetCreated") == 0 ||
                        strcmp(reason, "ReplicaSetUpdated") == 0;

    if (progressing && !is_text(progressing, "status", "True"))
        return verdict(MODULE_ERROR, "condition Progressing is %s (%s)",
                       doc_text_or(progressing, "status", "Unknown"), reason);
    if (!is_complete && !is_under_way)
        return verdict(MODULE_ERROR, "condition Progressing has the reason %s", reason);
    if (!is_complete)
        return verdict(MODULE_PROCESSING, "the rollout is not complete%s%s",
                       progressing ? ": " : "", reason);
    if (!is_available)
        return verdict(MODULE_PROCESSING, "condition Available is not True");
    return ready;
}

static struct state_verdict stateful_set_state(const json_t *set, const json_t *first_pod)
{
    int64_t wanted = doc_integer_or(set, "spec.replicas", 1);
    int64_t present = doc_integer_or(set, "status.readyReplicas", 0);
    const json_t *container = json_array_get(doc_get(first_pod, "status.containerStatuses"), 0);

    if (present == wanted)
        return ready;
    if (!doc_bool_or(container, "started", false))
        return verdict(MODULE_ERROR, "%lld of %lld replicas ready, and %s", (long long)present,
                       (long long)wanted,
                       first_pod ? "the first container of its first pod has not started"
                                 : "it has no pod");
    if (!doc_bool_or(container, "ready", false))
        return verdict(MODULE_PROCESSING, "%lld of %lld replicas ready", (long long)present,
                       (long long)wanted);
    return ready;
}

struct state_verdict manager_state(const json_t *workload, const json_t *first_pod)
{
    if (!doc_get(workload, "status.conditions") && !doc_get(workload, "status.observedGeneration"))
        return verdict(MODULE_PROCESSING, "its controller has not seen it yet");
    if (!is_seen(workload))
        return verdict(MODULE_PROCESSING, "its controller has not seen the last change yet");
    if (is_text(workload, "kind", "StatefulSet"))
        return stateful_set_state(workload, first_pod);
    return deployment_state(workload);
}

/* Whether the first value that the path finds is the expected one. */
static bool check_matches(const json_t *check, const json_t *resource)
{
    cleanup_jsonpath struct jsonpath *path = NULL;
    cleanup_json json_t *values = NULL;
    struct error err = {0};
    const char *value;

    if (jsonpath_parse(doc_text_or(check, "jsonPath", ""), &path, &err) ||
        jsonpath_find(path, resource, JSONPATH_MISSING_IS_NOTHING, &values, &err))
        return false; /* checked_state() has validated the path: the resource has no such value */
    value = json_string_value(json_array_get(values, 0));
    return value && is_text(check, "value", value);
}

static struct state_verdict checked_state(const json_t *resource, const json_t *checks)
{
    bool is_named[MODULE_ERROR + 1] = {false}, is_refuted[MODULE_ERROR + 1] = {false};
    struct error err = {0};
    size_t i;
    json_t *check;

    if (state_checks_validate(checks, &err) < 0)
        return verdict(MODULE_ERROR, "its ModuleTemplate: %s", err.text);
    json_array_foreach(doc_writable(checks), i, check)
    {
        enum module_state state = MODULE_PROCESSING;

        if (!module_state_parse(doc_text(check, "mappedState"), &state))
            continue;
        is_named[state] = true;
        is_refuted[state] |= !check_matches(check, resource);
    }
    for (int state = MODULE_ERROR; state >= MODULE_UNMANAGED; state--)
        if (is_named[state] && !is_refuted[state])
            return verdict((enum module_state)state, "%s",
                           state == MODULE_READY ? "" : "by the module's customStateCheck");
    return verdict(MODULE_PROCESSING, "no state of the module's customStateCheck matches");
}

bool resource_has_state(const json_t *resource, const json_t *checks)
{
    return json_array_size(checks) > 0 || doc_get(resource, "status.state");
}

struct state_verdict resource_state(const json_t *resource, const json_t *checks,
                                    int64_t now_unix_ms)
{
    const char *text = doc_text_or(resource, "status.state", "");
    enum module_state state = MODULE_PROCESSING;
    int64_t created_unix_ms = now_unix_ms;
    struct error err = {0};

    if (json_array_size(checks) > 0)
        return checked_state(resource, checks);
    if (!module_state_parse(text, &state))
        return verdict(MODULE_WARNING, "status.state has the unknown value \"%.60s\"", text);
    if (*text)
        return state == MODULE_READY ? ready : verdict(state, "its status.state is %s", text);
    if (timestamp_parse(doc_text_or(resource, "metadata.creationTimestamp", ""), &created_unix_ms,
                        &err) == 0 &&
        now_unix_ms - created_unix_ms > SILENCE_MAX_MS)
        return verdict(MODULE_WARNING, "it has no status.state for more than five minutes");
    return verdict(MODULE_PROCESSING, "it has no status.state yet");
}

int state_checks_validate(const json_t *checks, struct error *err)
{
    size_t i;
    json_t *check;

    json_array_foreach(doc_writable(checks), i, check)
    {
        cleanup_jsonpath struct jsonpath *path = NULL;
        const char *mapped = doc_text_or(check, "mappedState", "");
        enum module_state state = MODULE_PROCESSING;

        if (jsonpath_parse(doc_text_or(check, "jsonPath", ""), &path, err))
            return error_wrap(err, "spec.customStateCheck[%zu].jsonPath", i);
        if (!module_state_parse(mapped, &state)) /* the definition allows "", for Processing */
            return error_set(err, ERROR_INVALID,
                             "spec.customStateCheck[%zu].mappedState: \"%.60s\" is not a state; "
                             "use Ready, Processing, Deleting, Warning or Error",
                             i, mapped);
    }
    return 0;
}
