/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the request of an action. Every write is repeatable, or has a precondition: a crash right
 * after it leaves a state that the rules of decide.c continue from. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/agent/agent.h"

/* ---- the end of an action ---- */

static void log_failure(const struct agent *agent, const struct error *err)
{
    bool is_race = err->kind == ERROR_CONFLICT || err->kind == ERROR_EXISTS;

    log_at(is_race ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "request failed, retrying",
           log_text("action", agent_action_name(agent->action)), log_text("object", agent->name),
           log_text("error", err->text));
}

static void wait_for_retry(struct agent *agent, enum agent_action action, const struct error *err)
{
    uint64_t at_ms = loop_now_ms(agent->loop) + retry_next_ms(&agent->retries[action], err);

    if (agent->deployer)
        (void)json_object_set_new(agent->deployer_waits, agent->deployer,
                                  json_integer((json_int_t)at_ms));
    else
        agent->retry_at_ms[action] = at_ms;
}

void agent_done(struct agent *agent, const struct error *err)
{
    enum agent_action action = agent->action;

    agent->call = NULL;
    if (err->kind == ERROR_NONE) {
        retry_reset(&agent->retries[action]);
        agent->retry_at_ms[action] = 0;
        if (agent->deployer)
            (void)json_object_del(agent->deployer_waits, agent->deployer);
        agent->writes++;
        if (action == AGENT_FORGET_LEFT)
            agent->has_left = false;
        log_debug("done", log_text("action", agent_action_name(action)),
                  log_text("object", agent->name));
    } else if (err->kind != ERROR_CANCELLED) {
        log_failure(agent, err);
        agent->failures++;
        wait_for_retry(agent, action, err);
    }
    agent->action = AGENT_NONE;
    free(steal(&agent->deployer));
    (void)json_object_clear(agent->deleted);
    agent_touch(agent);
}

void agent_on_written(void *data, json_t *object, const struct error *err)
{
    struct agent *agent = data;
    const struct error none = {0};
    bool is_gone = err->kind == ERROR_NOT_FOUND && agent->is_deletion;

    if (agent->source >= AGENT_SOURCE_ENVIRONMENT)
        agent_credential_failed(agent, err);
    if (err->kind != ERROR_NONE && !is_gone) {
        agent_done(agent, err);
        return;
    }
    /* A deleted Environment remains until its finalizers are gone. */
    if (!agent->is_deletion ||
        (!is_gone && strcmp(doc_text_or(object, "kind", ""), KIND_ENVIRONMENT) == 0))
        agent_known_answer(agent, agent->source, agent->name, object);
    else
        agent_known_answer(agent, agent->source, agent->name, NULL);
    agent_done(agent, &none);
}

/* ---- requests ---- */

void agent_send(struct agent *agent, struct kube *kube, struct kube_request *request,
                kube_done_fn *on_done)
{
    struct error err = {0};

    request->on_done = on_done;
    request->data = agent;
    if (!request->grace_seconds)
        request->grace_seconds = -1;
    if (kube_start(kube, request, &agent->call, &err) < 0)
        agent_done(agent, &err);
}

static void write_object(struct agent *agent, enum kube_verb verb, struct kube_resource resource,
                         enum agent_source source, const char *namespace_name, const char *name,
                         const json_t *body)
{
    const json_t *known = agent_find(agent, source, name);
    bool is_host = source <= AGENT_SOURCE_CREDENTIAL || source == AGENT_SOURCE_ACCESS;
    struct kube_request request = {.verb = verb,
                                   .resource = resource,
                                   .namespace_name = namespace_name,
                                   .name = name,
                                   .body = body,
                                   .field_manager = AGENT_FIELD_MANAGER};

    agent->source = source;
    free(agent->name);
    agent->name = xstrdup(name);
    agent->is_deletion = verb == KUBE_DELETE;
    if (agent->is_deletion)
        request.uid = doc_text(known, "metadata.uid");
    if (agent->action == AGENT_REPORT)
        request.subresource = "status";
    if (agent->action != AGENT_DELETE_ENVIRONMENT) {
        request.may_send = agent_may_send;
        request.may_send_data = agent;
    }
    agent_send(agent, is_host ? agent->host : agent->landscaper, &request, agent_on_written);
}

static void write_environment(struct agent *agent, enum kube_verb verb, json_t *body)
{
    write_object(agent, verb, KUBE_ENVIRONMENTS, AGENT_SOURCE_ENVIRONMENT, NULL,
                 agent->config->name, body);
    json_decref(body);
}

void agent_write_secret(struct agent *agent, enum agent_source source, const json_t *secret)
{
    cleanup_free char *name = xstrdup(doc_text_or(secret, "metadata.name", ""));

    write_object(agent, KUBE_APPLY, KUBE_SECRETS, source,
                 doc_text_or(secret, "metadata.namespace", ""), name, secret);
}

static void delete_target(struct agent *agent)
{
    cleanup_free char *name = agent_target_secret_name(agent->config);

    write_object(agent, KUBE_DELETE, KUBE_SECRETS, AGENT_SOURCE_TARGET,
                 agent->config->landscaper_namespace, name, NULL);
}

static void delete_access(struct agent *agent)
{
    bool is_leaving = agent_old_access(agent, false) == NULL;
    cleanup_free char *name = xstrdup_or_null(agent_old_access(agent, is_leaving));

    write_object(agent, KUBE_DELETE, KUBE_SECRETS, AGENT_SOURCE_ACCESS,
                 agent->config->namespace_name, name, NULL);
}

/* ---- host objects ---- */

static void touch_host_object(struct agent *agent, enum kube_verb verb, enum host_object which,
                              const json_t *body)
{
    cleanup_free char *name = host_object_name(agent->config, which);

    write_object(agent, verb, host_object_resource(which), (enum agent_source)which,
                 host_object_is_namespaced(which) ? agent->config->namespace_name : NULL, name,
                 body);
}

static void write_host_object(struct agent *agent)
{
    enum host_object which = (enum host_object)agent_wrong_host_object(agent);
    const json_t *known = agent_only(agent, (enum agent_source)which);
    cleanup_json json_t *wanted = host_object_make(agent->config, which);
    struct error err = {0};

    if (!known) {
        touch_host_object(agent, KUBE_CREATE, which, wanted);
    } else if (!host_object_is_owned(known, which)) {
        (void)error_set(&err, ERROR_DENIED,
                        "%s \"%s\" exists and does not belong to this agent: delete it, or choose "
                        "another name for the environment",
                        doc_text_or(wanted, "kind", ""), doc_text_or(wanted, "metadata.name", ""));
        agent_done(agent, &err);
    } else if (host_object_needs_new(known, wanted)) {
        touch_host_object(agent, KUBE_DELETE, which, NULL);
    } else {
        doc_set_text(wanted, "metadata.resourceVersion",
                     doc_text_or(known, "metadata.resourceVersion", ""));
        touch_host_object(agent, KUBE_UPDATE, which, wanted);
    }
}

static void delete_host_object(struct agent *agent)
{
    size_t which = agent_old_host_object(agent, false);

    if (which == HOST_OBJECT_COUNT)
        which = agent_old_host_object(agent, true);
    touch_host_object(agent, KUBE_DELETE, (enum host_object)which, NULL);
}

/* ---- actions ---- */

static void report(struct agent *agent)
{
    json_t *status = agent_status(agent->config, agent->cluster_id, agent->pod_name);

    write_environment(agent, KUBE_PATCH_MERGE, json_pack("{s:{s:o}}", "status", "agent", status));
}

static void remember(struct agent *agent, bool has_left)
{
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);
    cleanup_json json_t *secret =
        has_left ? agent_left_secret(agent->config, doc_text(environment, "metadata.uid"))
                 : agent_rejoined_secret(agent->config);

    agent_write_secret(agent, AGENT_SOURCE_CREDENTIAL, secret);
}

void agent_act(struct agent *agent, enum agent_action action)
{
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);
    cleanup_json json_t *wanted =
        agent->cluster_id
            ? agent_environment(agent->config, agent->landscaper_cluster, agent->cluster_id)
            : NULL;

    agent->action = action;
    switch (action) {
    case AGENT_NONE:
    case AGENT_ACTION_COUNT:
        break;
    case AGENT_ELECT:
        agent_elect(agent);
        break;
    case AGENT_DELETE_ENVIRONMENT:
        write_environment(agent, KUBE_DELETE, NULL);
        break;
    case AGENT_CREATE_ENVIRONMENT:
        write_environment(agent, KUBE_CREATE, json_incref(wanted));
        break;
    case AGENT_UPDATE_ENVIRONMENT:
        write_environment(agent, KUBE_PATCH_JSON, agent_environment_patch(environment, wanted));
        break;
    case AGENT_REPORT:
        report(agent);
        break;
    case AGENT_REMOVE_FINALIZER:
        write_environment(agent, KUBE_PATCH_JSON, agent_finalizer_patch(environment));
        break;
    case AGENT_RENEW_OWN_TOKEN:
    case AGENT_WRITE_TARGET:
    case AGENT_WRITE_ACCESS:
        agent_renew(agent, action);
        break;
    case AGENT_DELETE_TARGET:
        delete_target(agent);
        break;
    case AGENT_DELETE_ACCESS:
        delete_access(agent);
        break;
    case AGENT_WRITE_HOST_OBJECT:
        write_host_object(agent);
        break;
    case AGENT_DELETE_HOST_OBJECT:
        delete_host_object(agent);
        break;
    case AGENT_REMEMBER_LEFT:
    case AGENT_FORGET_LEFT:
        remember(agent, action == AGENT_REMEMBER_LEFT);
        break;
    case AGENT_REMOVE_LEASE:
        agent_remove_lease(agent);
        break;
    case AGENT_FINISH:
        log_info("left", log_text("environment", agent->config->name));
        agent->is_draining = true;
        loop_stop(agent->loop);
        break;
    }
}

void agent_act_stop(struct agent *agent)
{
    kube_cancel(agent->call);
    kube_cancel(agent->cluster_call);
    agent->call = NULL;
    agent->cluster_call = NULL;
    free(agent->name);
    free(agent->deployer);
}
