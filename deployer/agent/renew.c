/* SPDX-License-Identifier: Apache-2.0 */
/* Requests tokens with TokenRequest and stores them. A crash between both loses a token that nobody
 * has; the next round requests another one. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/kube/claims.h"
#include "deployer/agent/agent.h"
#include "deployer/agent/token.h"

/* ---- when ---- */

/* A deadline is computed once for each token, with the wall clock, and then measured with the
 * monotonic clock: a clock that jumps while the agent runs changes nothing. */
uint64_t agent_renewal_in_ms(struct agent *agent, const char *key, const json_t *secret)
{
    const json_t *annotations = doc_get(secret, "metadata.annotations");
    const char *requested = json_string_value(doc_member(annotations, ANNOTATION_TOKEN_REQUESTED));
    const char *seconds_text =
        json_string_value(doc_member(annotations, ANNOTATION_TOKEN_LIFETIME));
    const json_t *deadline = json_object_get(agent->deadlines, key);
    uint64_t now_ms = loop_now_ms(agent->loop);
    uint64_t seconds = 0;
    uint64_t at_ms = 0;

    if (!requested || !seconds_text || !number_parse(seconds_text, INT32_MAX, &seconds)) {
        (void)json_object_del(agent->deadlines, key);
        return 0;
    }
    if (!deadline || strcmp(json_string_value(json_array_get(deadline, 0)), requested) != 0) {
        at_ms = now_ms + token_renewal_in_ms(key, requested, (int64_t)seconds,
                                             clock_unix_ms(loop_clock(agent->loop)));
        (void)json_object_set_new(agent->deadlines, key,
                                  json_pack("[s,I]", requested, (json_int_t)at_ms));
    } else {
        at_ms = (uint64_t)json_integer_value(json_array_get(deadline, 1));
    }
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

static void shorten(uint64_t *delay_ms, uint64_t other_ms)
{
    if (other_ms > 0 && other_ms < *delay_ms)
        *delay_ms = other_ms;
}

uint64_t agent_next_renewal_in_ms(struct agent *agent)
{
    const json_t *target = agent_only(agent, AGENT_SOURCE_TARGET);
    const json_t *own = agent_only(agent, AGENT_SOURCE_CREDENTIAL);
    const char *name = NULL;
    json_t *secret = NULL;
    uint64_t delay_ms = UINT64_MAX;

    if (agent->account)
        shorten(&delay_ms, agent_renewal_in_ms(agent, agent->config->credential_secret, own));
    shorten(&delay_ms, agent_renewal_in_ms(agent, agent->config->name, target));
    doc_foreach(agent->watches[AGENT_SOURCE_ACCESS].objects, name, secret)
    {
        shorten(&delay_ms, agent_renewal_in_ms(agent, name, secret));
    }
    return delay_ms;
}

/* ---- how ---- */

static void store(struct agent *agent, const char *token, const struct token_times *times)
{
    cleanup_free char *deployer = xstrdup_or_null(agent->name);
    cleanup_json json_t *secret = NULL;

    if (agent->action == AGENT_RENEW_OWN_TOKEN) {
        secret = agent_credential_secret(agent->config, token, agent->given, times);
        agent_write_secret(agent, AGENT_SOURCE_CREDENTIAL, secret);
    } else if (agent->action == AGENT_WRITE_TARGET) {
        secret = agent_target_secret(agent->config, agent->host_cluster, token, times);
        agent_write_secret(agent, AGENT_SOURCE_TARGET, secret);
    } else {
        secret =
            agent_access_secret(agent->config, deployer, agent->landscaper_cluster, token, times);
        agent_write_secret(agent, AGENT_SOURCE_ACCESS, secret);
    }
}

static void on_token(void *data, json_t *object, const struct error *err)
{
    struct agent *agent = data;
    const char *token = doc_text(object, "status.token");
    cleanup_token_claims struct token_claims claims = {0};
    struct error failure = *err;
    struct token_times times = {0};
    char requested[TIMESTAMP_MAX] = {0};

    if (agent->action != AGENT_WRITE_TARGET)
        agent_credential_failed(agent, err);
    if (failure.kind == ERROR_NONE && !token)
        (void)error_set(&failure, ERROR_TEMPORARY, "token request: incomplete response");
    if (failure.kind == ERROR_NOT_FOUND)
        error_prefix(&failure, "the account does not exist");
    if (failure.kind != ERROR_NONE) {
        agent_done(agent, &failure);
        return;
    }
    /* A token that does not describe itself was granted as requested. */
    if (token_claims_read(token, &claims, &failure) < 0)
        log_debug("unusual token", log_text("error", failure.text));
    timestamp_format(clock_unix_ms(loop_clock(agent->loop)), requested);
    times.requested = requested;
    times.lifetime_seconds = token_lifetime_seconds(&claims, agent->config->token_seconds);
    agent->renewals++;
    log_info("token renewed", log_text("action", agent_action_name(agent->action)),
             log_number("seconds", times.lifetime_seconds));
    store(agent, token, &times);
}

void agent_renew(struct agent *agent, enum agent_action action)
{
    cleanup_json json_t *body = json_pack(
        "{s:s,s:s,s:{s:I}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenRequest",
        "spec", "expirationSeconds", (json_int_t)agent->config->token_seconds);
    cleanup_free char *host_account = host_object_name(agent->config, HOST_ACCOUNT);
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .subresource = "token",
                                   .body = body,
                                   .may_send = agent_may_send,
                                   .may_send_data = agent};

    free(steal(&agent->name));
    if (action == AGENT_RENEW_OWN_TOKEN) {
        request.namespace_name = agent->account_namespace;
        agent->name = xstrdup(agent->account);
    } else if (action == AGENT_WRITE_TARGET) {
        request.namespace_name = agent->config->namespace_name;
        agent->name = xstrdup(host_account);
    } else {
        request.namespace_name = agent->config->landscaper_namespace;
        agent->name = xstrdup_or_null(agent_due_deployer(agent));
        agent->deployer = xstrdup_or_null(agent->name);
    }
    request.name = agent->name;
    agent_send(agent, action == AGENT_WRITE_TARGET ? agent->host : agent->landscaper, &request,
               on_token);
}
