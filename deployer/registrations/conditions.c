/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/conditions.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/graph.h"
#include "deployer/registrations/kinds.h"

enum { ENVIRONMENTS_MAX = 100, MESSAGE_MAX = 1000 };

#define CONDITION_VALID "Valid"
#define CONDITION_AGENT_READY "AgentReady"
#define CONDITION_BLOCKED "Blocked"
#define REASON_NOT_READY "NotReady"
#define STATUS_TRUE "True"
#define STATUS_FALSE "False"
#define STATUS_UNKNOWN "Unknown"

/* ---- results of pairs ---- */

enum { RESULT_INSTALLATION, RESULT_PHASE, RESULT_MESSAGE, RESULT_READY, RESULT_BLOCKED };

json_t *result_make(const char *installation, const char *phase, const char *message, bool is_ready,
                    bool is_blocked)
{
    return json_pack("[s,o,o,b,b]", installation, doc_new_text(phase), doc_new_text(message),
                     is_ready, is_blocked);
}

static const char *result_text(const json_t *result, size_t member)
{
    const char *text = json_string_value(json_array_get(result, member));

    return text ? text : "";
}

const char *result_phase(const json_t *result)
{
    return result_text(result, RESULT_PHASE);
}

bool result_is_ready(const json_t *result)
{
    return json_is_true(json_array_get(result, RESULT_READY));
}

static bool result_is_blocked(const json_t *result)
{
    return json_is_true(json_array_get(result, RESULT_BLOCKED));
}

/* ---- conditions ---- */

static const json_t *find_condition(const json_t *status, const char *type)
{
    const json_t *conditions = doc_member(status, "conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (strcmp(doc_text_or(json_array_get(conditions, i), "type", ""), type) == 0)
            return json_array_get(conditions, i);
    }
    return NULL;
}

/* The conditions of one object while they are collected. */
struct collection {
    const json_t *object;
    const char *now;
    json_t *conditions;
};

/* The transition time changes with the status only. */
static void add_condition(struct collection *to, const char *type, const char *status,
                          const char *reason, const char *message)
{
    const json_t *old = find_condition(doc_member(to->object, "status"), type);
    const char *since = to->now;
    cleanup_free char *text = xstrndup(message, MESSAGE_MAX);

    if (old && strcmp(doc_text_or(old, "status", ""), status) == 0)
        since = doc_text_or(old, "lastTransitionTime", to->now);
    (void)json_array_append_new(
        to->conditions,
        json_pack("{s:s,s:s,s:s,s:o,s:s,s:I}", "type", type, "status", status, "reason", reason,
                  "message", doc_new_text(text), "lastTransitionTime", since, "observedGeneration",
                  (json_int_t)doc_integer_or(to->object, "metadata.generation", 0)));
}

static void add_valid(struct collection *to, const struct mistakes *mistakes, const char *problem)
{
    cleanup_free char *text = mistakes->errors > 0 ? mistakes_text(mistakes) : xstrdup("");

    if (mistakes->errors == 0 && problem)
        add_condition(to, CONDITION_VALID, STATUS_FALSE, "NameConflict", problem);
    else
        add_condition(to, CONDITION_VALID, mistakes->errors ? STATUS_FALSE : STATUS_TRUE,
                      mistakes->errors ? "Invalid" : "Valid", text);
}

/* ---- Environment ---- */

const char *environment_lease(const json_t *environment)
{
    const char *name = doc_text_or(environment, "status.agent.leaseName", "");

    return *name ? name : doc_text_or(environment, "metadata.name", "");
}

bool environment_is_accepted(const json_t *environment, bool is_acceptance_manual)
{
    const char *value = json_string_value(
        doc_member(doc_get(environment, "metadata.annotations"), ANNOTATION_ACCEPTED));

    return !is_acceptance_manual || (value && strcmp(value, "true") == 0);
}

static void add_accepted(struct collection *to, const struct environment_facts *facts)
{
    if (!environment_is_accepted(facts->environment, facts->is_acceptance_manual))
        add_condition(to, CONDITION_ACCEPTED, STATUS_FALSE, "WaitingForAcceptance",
                      "deployers are installed when somebody sets the "
                      "annotation " ANNOTATION_ACCEPTED ": \"true\"");
    else
        add_condition(to, CONDITION_ACCEPTED, STATUS_TRUE,
                      facts->is_acceptance_manual ? "Accepted" : "AcceptedAutomatically", "");
}

/* Nothing is known about a Lease right after a start: what was reported before stays. */
static void keep_agent_ready(struct collection *to)
{
    const json_t *old = find_condition(doc_member(to->object, "status"), CONDITION_AGENT_READY);

    if (old)
        add_condition(to, CONDITION_AGENT_READY, doc_text_or(old, "status", STATUS_UNKNOWN),
                      doc_text_or(old, "reason", ""), doc_text_or(old, "message", ""));
    else
        add_condition(to, CONDITION_AGENT_READY, STATUS_UNKNOWN, "WaitingForHeartbeat",
                      "the Lease of the agent has not been renewed yet");
}

static void add_agent_ready(struct collection *to, const struct environment_facts *facts)
{
    const char *lease = environment_lease(facts->environment);
    cleanup_free char *message = NULL;

    switch (facts->heartbeat) {
    case HEARTBEAT_UNKNOWN:
        keep_agent_ready(to);
        break;
    case HEARTBEAT_ALIVE:
        add_condition(to, CONDITION_AGENT_READY, STATUS_TRUE, "HeartbeatReceived", "");
        break;
    case HEARTBEAT_RELEASED:
        message = xasprintf("the agent has ended and released the Lease %s/%s",
                            facts->namespace_name, lease);
        add_condition(to, CONDITION_AGENT_READY, STATUS_FALSE, "AgentStopped", message);
        break;
    case HEARTBEAT_LOST:
        message = xasprintf("the agent does not renew the Lease %s/%s; check its pod and its "
                            "connection to this cluster",
                            facts->namespace_name, lease);
        add_condition(to, CONDITION_AGENT_READY, STATUS_UNKNOWN, "HeartbeatLost", message);
        break;
    case HEARTBEAT_ABSENT:
        if (!doc_get(facts->environment, "status.agent")) {
            add_condition(to, CONDITION_AGENT_READY, STATUS_UNKNOWN, "NoHeartbeat",
                          "the agent reports nothing about itself; agents of Landscaper v0.98 do "
                          "not");
            break;
        }
        message = xasprintf("the Lease %s/%s does not exist; landscaperNamespace of the agent must "
                            "be \"%s\"",
                            facts->namespace_name, lease, facts->namespace_name);
        add_condition(to, CONDITION_AGENT_READY, STATUS_UNKNOWN, "LeaseMissing", message);
        break;
    }
}

/* Adds DeployersReady and returns the summary "ready/total" as an object. */
static json_t *add_deployers_ready(struct collection *to, const struct environment_facts *facts)
{
    const char *name = doc_text_or(facts->environment, "metadata.name", "");
    const char *reason = "AllReady";
    const char *registration = NULL;
    json_t *of_environments = NULL;
    cleanup_free char *message = xstrdup("");
    cleanup_free char *summary = NULL;
    int64_t ready = 0;
    int64_t total = 0;

    doc_foreach(facts->results, registration, of_environments)
    {
        const json_t *result = json_object_get(of_environments, name);
        bool is_first = ready == total;

        if (!result)
            continue;
        total++;
        ready += result_is_ready(result);
        /* A blocked deployer needs a person, so it is reported first. */
        if (result_is_ready(result) ||
            (!is_first && !(result_is_blocked(result) && strcmp(reason, REASON_NOT_READY) == 0)))
            continue;
        reason = result_is_blocked(result) ? result_phase(result) : REASON_NOT_READY;
        free(message);
        message = xasprintf("%s: %s%s%s", registration, result_phase(result),
                            *result_text(result, RESULT_MESSAGE) ? ": " : "",
                            result_text(result, RESULT_MESSAGE));
    }
    add_condition(to, CONDITION_DEPLOYERS_READY, ready == total ? STATUS_TRUE : STATUS_FALSE,
                  reason, message);
    summary = xasprintf("%lld/%lld", (long long)ready, (long long)total);
    return json_pack("{s:I,s:I,s:s}", "ready", (json_int_t)ready, "total", (json_int_t)total,
                     "summary", summary);
}

json_t *environment_status(const struct environment_facts *facts, const char *now)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    struct collection to = {facts->environment, now, json_array()};
    json_t *deployers = NULL;

    environment_check(facts->environment, &mistakes);
    add_valid(&to, &mistakes, facts->problem);
    add_accepted(&to, facts);
    add_agent_ready(&to, facts);
    deployers = add_deployers_ready(&to, facts);
    return json_pack("{s:I,s:o,s:o}", "observedGeneration",
                     (json_int_t)doc_integer_or(facts->environment, "metadata.generation", 0),
                     "conditions", to.conditions, "deployers", deployers);
}

/* ---- DeployerRegistration ---- */

static json_t *entry_of(const char *environment, const json_t *result)
{
    return json_pack("{s:s,s:s,s:s,s:s}", "name", environment, "installation",
                     result_text(result, RESULT_INSTALLATION), "phase", result_phase(result),
                     "message", result_text(result, RESULT_MESSAGE));
}

/* Environments in which it is not ready come first, because the list is limited. */
static json_t *entries_of(const json_t *results)
{
    json_t *entries = json_array();
    const char *environment = NULL;
    json_t *result = NULL;

    for (int round = 0; round < 2; round++) {
        doc_foreach(results, environment, result)
        {
            if (result_is_ready(result) == (round == 1) &&
                json_array_size(entries) < ENVIRONMENTS_MAX)
                (void)json_array_append_new(entries, entry_of(environment, result));
        }
    }
    return entries;
}

/* For clients of v0.98. Absent without a problem, so that it is cleared. */
static void add_last_error(json_t *status, const json_t *registration, const char *reason,
                           const char *message, const char *now)
{
    const json_t *old = doc_get(registration, "status.lastError");
    bool is_same = strcmp(doc_text_or(old, "message", ""), message) == 0;
    const char *since = is_same ? doc_text_or(old, "lastTransitionTime", now) : now;

    if (*reason)
        (void)json_object_set_new(status, "lastError",
                                  json_pack("{s:s,s:s,s:s,s:s,s:s}", "operation", "getInstallation",
                                            "reason", reason, "message", message,
                                            "lastTransitionTime", since, "lastUpdateTime", since));
}

/* The first pair that is blocked, else the first that waits, else NULL. */
static const json_t *find_blocked(const json_t *results)
{
    const json_t *waiting = NULL;
    const char *environment = NULL;
    json_t *result = NULL;

    doc_foreach(results, environment, result)
    {
        if (result_is_blocked(result))
            return result;
        if (!waiting && strcmp(result_phase(result), graph_reason(GRAPH_WAITING)) == 0)
            waiting = result;
    }
    return waiting;
}

static void add_blocked(struct collection *to, const json_t *blocked)
{
    add_condition(to, CONDITION_BLOCKED, result_is_blocked(blocked) ? STATUS_TRUE : STATUS_FALSE,
                  blocked ? result_phase(blocked) : "NotBlocked",
                  result_text(blocked, RESULT_MESSAGE));
}

json_t *registration_status(const json_t *registration, const json_t *results, const char *now)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_free char *problem = NULL;
    cleanup_free char *summary = NULL;
    const json_t *blocked = find_blocked(results);
    struct collection to = {registration, now, json_array()};
    const char *environment = NULL;
    json_t *result = NULL;
    json_t *status = NULL;
    size_t ready = 0;
    bool is_ready = false;

    registration_check(registration, &mistakes);
    problem = mistakes.errors > 0 ? mistakes_text(&mistakes) : xstrdup("");
    add_valid(&to, &mistakes, NULL);
    add_blocked(&to, blocked);
    doc_foreach(results, environment, result)
    {
        ready += result_is_ready(result);
    }
    is_ready = ready == json_object_size(results);
    add_condition(&to, CONDITION_READY, is_ready ? STATUS_TRUE : STATUS_FALSE,
                  is_ready ? "AllReady" : REASON_NOT_READY, "");
    summary = xasprintf("%zu/%zu", ready, json_object_size(results));
    status = json_pack("{s:I,s:s,s:o,s:o}", "observedGeneration",
                       (json_int_t)doc_integer_or(registration, "metadata.generation", 0), "ready",
                       summary, "conditions", to.conditions, "environments", entries_of(results));
    if (mistakes.errors > 0)
        add_last_error(status, registration, "Invalid", problem, now);
    else if (result_is_blocked(blocked))
        add_last_error(status, registration, result_phase(blocked),
                       result_text(blocked, RESULT_MESSAGE), now);
    return status;
}

/* ---- comparison ---- */

bool status_is_written(const json_t *object, const json_t *wanted)
{
    const json_t *status = doc_member(object, "status");
    const char *key = NULL;
    json_t *value = NULL;

    /* Environments have no lastError. */
    if (!!doc_member(status, "lastError") != !!doc_member(wanted, "lastError"))
        return false;
    doc_foreach(wanted, key, value)
    {
        if (strcmp(key, "conditions") == 0) {
            for (size_t i = 0; i < json_array_size(value); i++) {
                const json_t *condition = json_array_get(value, i);

                if (!json_equal(condition,
                                find_condition(status, doc_text_or(condition, "type", ""))))
                    return false;
            }
        } else if (!json_equal(value, doc_member(status, key))) {
            return false;
        }
    }
    return true;
}

static bool is_good(const json_t *condition)
{
    bool is_blocked = strcmp(doc_text_or(condition, "type", ""), CONDITION_BLOCKED) == 0;

    return strcmp(doc_text_or(condition, "status", ""), is_blocked ? STATUS_FALSE : STATUS_TRUE) ==
           0;
}

/* A new condition causes an Event only if it reports a problem. Deployers that are not ready yet
 * are not a problem. */
static bool is_event(const json_t *old, const json_t *condition)
{
    const char *reason = doc_text_or(condition, "reason", "");
    const char *status = doc_text_or(condition, "status", "");

    if (strcmp(reason, REASON_NOT_READY) == 0)
        return false;
    if (!old)
        return !is_good(condition) && strcmp(status, STATUS_UNKNOWN) != 0;
    return strcmp(doc_text_or(old, "status", ""), status) != 0 ||
           (!is_good(condition) && strcmp(doc_text_or(old, "reason", ""), reason) != 0);
}

json_t *status_events(const json_t *object, const json_t *wanted)
{
    const json_t *conditions = doc_member(wanted, "conditions");
    json_t *events = json_array();

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *type = doc_text_or(condition, "type", "");
        const char *message = doc_text_or(condition, "message", "");
        const json_t *old = find_condition(doc_member(object, "status"), type);
        cleanup_free char *text =
            xasprintf("%s is %s%s%s", type, doc_text_or(condition, "status", ""),
                      *message ? ": " : "", message);

        if (is_event(old, condition))
            (void)json_array_append_new(events,
                                        json_pack("{s:s,s:s,s:o}", "type",
                                                  is_good(condition) ? "Normal" : "Warning",
                                                  "reason", doc_text_or(condition, "reason", ""),
                                                  "message", doc_new_text(text)));
    }
    return events;
}
