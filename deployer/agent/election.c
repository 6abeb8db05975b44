/* SPDX-License-Identifier: Apache-2.0 */
/* The Lease of an agent: its heartbeat, and what keeps a second agent of the same name quiet. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/agent/agent.h"

bool agent_is_leader(const struct agent *agent)
{
    return agent->lease && lease_is_held(agent->lease);
}

bool agent_may_send(const void *data)
{
    const struct agent *agent = data;

    return agent_is_leader(agent) && !agent->is_draining;
}

static void on_leadership(void *data, bool is_leader)
{
    struct agent *agent = data;

    log_info(is_leader ? "leading" : "not leading");
    agent_touch(agent);
}

static void on_problem(void *data, const struct error *err)
{
    struct agent *agent = data;

    log_error("heartbeat failed, retrying", log_text("error", err->text));
    agent_credential_failed(agent, err);
}

void agent_elect(struct agent *agent)
{
    const struct lease_options options = {.namespace_name = agent->config->landscaper_namespace,
                                          .name = agent->config->name,
                                          .identity = agent->identity,
                                          .duration_ms = AGENT_LEASE_MS,
                                          .renew_deadline_ms = AGENT_LEASE_DEADLINE_MS,
                                          .retry_ms =
                                              (uint32_t)agent->config->heartbeat_seconds * 1000,
                                          .on_change = on_leadership,
                                          .on_problem = on_problem,
                                          .data = agent};
    struct error err = {0};

    agent->action = AGENT_NONE;
    if (agent->lease)
        return;
    agent->is_lease_gone = false;
    if (lease_start(agent->landscaper, &options, &agent->lease, &err) < 0)
        log_error("heartbeat not started", log_text("error", err.text));
}

/* ---- removal ---- */

static void on_removed(void *data, json_t *object, const struct error *err)
{
    struct agent *agent = data;
    const struct error none = {0};

    (void)object;
    /* A conflict: a renewal that was cancelled has reached the server nevertheless, or another
     * agent of this cluster has taken the Lease. It is read again. */
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        agent_done(agent, err);
        return;
    }
    agent->is_lease_gone = true;
    agent_done(agent, &none);
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct agent *agent = data;
    const char *holder = doc_text_or(object, "spec.holderIdentity", "");
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_LEASES,
                                   .namespace_name = agent->config->landscaper_namespace,
                                   .name = agent->config->name};

    /* Another cluster may have registered under this name since. */
    if (err->kind != ERROR_NONE ||
        (*holder && strncmp(holder, agent->cluster_id, strlen(agent->cluster_id)) != 0)) {
        on_removed(agent, NULL, err);
        return;
    }
    request.uid = doc_text(object, "metadata.uid");
    request.resource_version = doc_text(object, "metadata.resourceVersion");
    agent_send(agent, agent->landscaper, &request, on_removed);
}

void agent_remove_lease(struct agent *agent)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_LEASES,
                                   .namespace_name = agent->config->landscaper_namespace,
                                   .name = agent->config->name};

    free(agent->name);
    agent->name = xstrdup(agent->config->name);
    /* Without a time limit nothing is sent: the object is removed instead of released. */
    lease_release(steal(&agent->lease), 0);
    agent_send(agent, agent->landscaper, &request, on_read);
}
