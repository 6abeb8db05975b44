/* SPDX-License-Identifier: Apache-2.0 */
/* From what is known to the next action. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/agent/agent.h"

void agent_touch(struct agent *agent)
{
    if (agent->loop && !agent->is_draining)
        loop_timer_start(&agent->pass_timer, 0);
}

/* ---- the objects that a situation is about ---- */

bool agent_has_left(const struct agent *agent)
{
    return doc_member(doc_get(agent_only(agent, AGENT_SOURCE_CREDENTIAL), "metadata.annotations"),
                      ANNOTATION_LEFT) != NULL;
}

static bool is_wrong(const struct agent *agent, enum host_object which)
{
    const json_t *object = agent_only(agent, (enum agent_source)which);
    cleanup_json json_t *wanted = host_object_make(agent->config, which);

    return wanted && (!object || !host_object_is_current(object, wanted));
}

size_t agent_wrong_host_object(const struct agent *agent)
{
    size_t which = 0;

    while (which < HOST_OBJECT_COUNT && !is_wrong(agent, (enum host_object)which))
        which++;
    return which;
}

static bool is_old(const struct agent *agent, enum host_object which, bool is_any)
{
    const json_t *object = agent_only(agent, (enum agent_source)which);
    cleanup_json json_t *wanted = host_object_make(agent->config, which);

    return object && host_object_is_owned(object, which) && (is_any || !wanted);
}

/* Bindings before roles, the account last: it names the others after a crash. */
size_t agent_old_host_object(const struct agent *agent, bool is_any)
{
    for (size_t which = HOST_OBJECT_COUNT; which > 0; which--) {
        if (is_old(agent, (enum host_object)(which - 1), is_any))
            return which - 1;
    }
    return HOST_OBJECT_COUNT;
}

static uint64_t waits_until_ms(const struct agent *agent, const char *account)
{
    return (uint64_t)json_integer_value(json_object_get(agent->deployer_waits, account));
}

const char *agent_due_deployer(struct agent *agent)
{
    const char *account = NULL;
    json_t *value = NULL;

    doc_foreach(agent->watches[AGENT_SOURCE_DEPLOYERS].objects, account, value)
    {
        cleanup_free char *name = agent_access_secret_name(account);
        const json_t *secret = agent_find(agent, AGENT_SOURCE_ACCESS, name);

        if (!doc_text(value, "metadata.deletionTimestamp") &&
            waits_until_ms(agent, account) <= loop_now_ms(agent->loop) &&
            agent_renewal_in_ms(agent, name, secret) == 0)
            return account;
    }
    return NULL;
}

const char *agent_old_access(const struct agent *agent, bool is_any)
{
    const char *name = NULL;
    json_t *value = NULL;

    doc_foreach(agent->watches[AGENT_SOURCE_ACCESS].objects, name, value)
    {
        size_t length = strlen(name) - strlen(LANDSCAPER_ACCESS_SUFFIX);
        cleanup_free char *account = xstrndup(name, length);

        if (is_any || !agent_find(agent, AGENT_SOURCE_DEPLOYERS, account))
            return name;
    }
    return NULL;
}

/* ---- situation ---- */

static void read_environment(const struct agent *agent, const json_t *environment,
                             struct agent_situation *ret_now)
{
    cleanup_json json_t *wanted =
        agent_environment(agent->config, agent->landscaper_cluster, agent->cluster_id);
    cleanup_json json_t *status = agent_status(agent->config, agent->cluster_id, agent->pod_name);

    ret_now->has_environment = true;
    ret_now->is_deleting = doc_text(environment, "metadata.deletionTimestamp") != NULL;
    ret_now->has_finalizer = agent_has_finalizer(environment, FINALIZER_AGENT);
    ret_now->has_management_finalizer = agent_has_finalizer(environment, FINALIZER_MANAGEMENT);
    ret_now->is_foreign = agent_environment_is_foreign(environment, agent->cluster_id);
    ret_now->is_current = agent_environment_is_current(environment, wanted);
    ret_now->is_reported = json_equal(doc_get(environment, "status.agent"), status);
    ret_now->is_accepted = agent_environment_is_accepted(environment, agent->config->is_manual);
}

static uint32_t waiting_actions(struct agent *agent)
{
    uint64_t now_ms = loop_now_ms(agent->loop);
    uint32_t waiting = 0;

    for (size_t i = 0; i < AGENT_ACTION_COUNT; i++)
        waiting |= agent->retry_at_ms[i] > now_ms ? 1U << i : 0;
    return waiting;
}

static struct agent_situation situation_of(struct agent *agent)
{
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);
    const json_t *target = agent_only(agent, AGENT_SOURCE_TARGET);
    struct agent_situation now = {.wants_leave = agent->wants_leave};

    if (!agent->cluster_id || !agent_known_is_synced(agent))
        return now;
    now.is_synced = true;
    now.is_leader = agent_is_leader(agent);
    agent->has_left |= agent_has_left(agent);
    now.has_left = agent->has_left;
    if (!now.has_left)
        agent->wants_register = false;
    now.wants_register = agent->wants_register;
    if (environment)
        read_environment(agent, environment, &now);
    now.is_lease_gone = agent->is_lease_gone;
    now.is_own_token_due = agent_credential_is_due(agent);
    now.is_host_access = agent->config->is_host_access;
    now.has_target = target != NULL;
    now.is_target_due = target && (!agent_target_secret_is_current(target, agent->host_cluster) ||
                                   agent_renewal_in_ms(agent, agent->config->name, target) == 0);
    now.is_access_due = agent_due_deployer(agent) != NULL;
    now.has_old_access = agent_old_access(agent, false) != NULL;
    now.has_access = agent_old_access(agent, true) != NULL;
    now.has_wrong_host_object = agent_wrong_host_object(agent) < HOST_OBJECT_COUNT;
    now.has_old_host_object = agent_old_host_object(agent, false) < HOST_OBJECT_COUNT;
    now.has_host_object = agent_old_host_object(agent, true) < HOST_OBJECT_COUNT;
    now.waiting = waiting_actions(agent);
    return now;
}

/* ---- evaluation ---- */

static void log_refusal(const struct agent *agent)
{
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);
    const char *cluster = agent_environment_cluster(environment);

    log_error(
        "Environment belongs to another cluster; choose another name, or give it to this "
        "cluster with the annotation",
        log_text("environment", agent->config->name), log_text("cluster", cluster ? cluster : ""),
        log_text("this-cluster", agent->cluster_id), log_text("annotation", ANNOTATION_MOVE_TO));
}

/* Once, when the rule changes. */
static void log_rule(struct agent *agent, const struct agent_decision *decision)
{
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);

    if (agent->last_rule == decision->rule)
        return;
    agent->last_rule = decision->rule;
    if (strcmp(decision->rule, "belongs_to_another_cluster") == 0)
        log_refusal(agent);
    else if (strcmp(decision->rule, "registered") == 0 ||
             strcmp(decision->rule, "not_accepted") == 0)
        log_info(strcmp(decision->rule, "registered") == 0 ? "registered"
                                                           : "waiting for acceptance",
                 log_text("environment", agent->config->name),
                 log_text("uid", doc_text_or(environment, "metadata.uid", "")));
    else if (strcmp(decision->rule, "left") == 0 || strcmp(decision->rule, "left_before") == 0)
        log_info("this agent has left; --register registers it again",
                 log_text("environment", agent->config->name));
    else
        log_debug("decision", log_text("rule", decision->rule));
}

static void shorten_until(uint64_t *delay_ms, uint64_t now_ms, uint64_t at_ms)
{
    if (at_ms > now_ms && at_ms - now_ms < *delay_ms)
        *delay_ms = at_ms - now_ms;
}

/* The time of the next evaluation without an event. */
static void start_timer(struct agent *agent)
{
    uint64_t now_ms = loop_now_ms(agent->loop);
    uint64_t delay_ms = agent_next_renewal_in_ms(agent);
    const char *account = NULL;
    json_t *at = NULL;

    for (size_t i = 0; i < AGENT_ACTION_COUNT; i++)
        shorten_until(&delay_ms, now_ms, agent->retry_at_ms[i]);
    doc_foreach(agent->deployer_waits, account, at)
    {
        shorten_until(&delay_ms, now_ms, (uint64_t)json_integer_value(at));
    }
    if (delay_ms != UINT64_MAX)
        loop_timer_start(&agent->pass_timer, delay_ms > INT32_MAX ? INT32_MAX : delay_ms);
}

void agent_evaluate(void *data)
{
    struct agent *agent = data;
    struct agent_situation now = {0};
    struct agent_decision decision = {0};

    if (agent->call || agent->is_draining)
        return;
    now = situation_of(agent);
    decision = agent_decide(&now);
    log_rule(agent, &decision);
    if (decision.action != AGENT_NONE)
        agent_act(agent, decision.action);
    if (!agent->call && !agent->is_draining && !loop_timer_is_running(&agent->pass_timer))
        start_timer(agent);
}
