/* SPDX-License-Identifier: Apache-2.0 */
/* Which credentials the agent uses in Landscaper's cluster. It is started with a kubeconfig and, if
 * that is of a ServiceAccount, requests tokens of its own, which it keeps in a Secret of the host
 * cluster. The given credentials are used again only if that token is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/claims.h"
#include "deployer/agent/agent.h"
#include "deployer/registrations/pair.h"

int agent_credential_start(struct agent *agent, const struct kube_config *config, struct error *err)
{
    cleanup_wipe char *token = NULL;
    cleanup_token_claims struct token_claims claims = {0};
    struct error unusual = {0};

    kube_config_identity(config, true, agent->given);
    if (kube_config_token(config, &token, err) < 0)
        return -1;
    if (!token || token_claims_read(token, &claims, &unusual) < 0 || !claims.account) {
        log_info(
            "the given kubeconfig is not of a ServiceAccount: its credentials are not renewed");
        return 0;
    }
    agent->account_namespace = steal(&claims.namespace_name);
    agent->account = steal(&claims.account);
    return 0;
}

void agent_credential_stop(struct agent *agent)
{
    free(agent->account_namespace);
    free(agent->account);
    wipe_free(agent->token);
    if (agent->directory_fd >= 0)
        (void)close(agent->directory_fd);
}

/* ---- files for the deployer beside the agent ---- */

/* Replaced as a whole, so that a reader never sees half of it. */
static int write_file(int directory_fd, const char *name, const char *text, struct error *err)
{
    cleanup_free char *temporary = xasprintf(".%s.new", name);
    cleanup_close int fd = openat(directory_fd, temporary,
                                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);

    if (fd < 0)
        return error_set_errno(err, errno, "create \"%s\"", temporary);
    if (file_write_all(fd, temporary, text, strlen(text), err) < 0)
        return -1;
    if (renameat(directory_fd, temporary, directory_fd, name) < 0)
        return error_set_errno(err, errno, "rename \"%s\"", temporary);
    return 0;
}

int agent_credential_export(struct agent *agent, const char *token, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_free char *kubeconfig = NULL;

    if (!agent->directory)
        return 0;
    path = xasprintf("%s/token", agent->directory);
    kubeconfig = pair_kubeconfig_with(agent->landscaper_cluster, "tokenFile", path);
    if (write_file(agent->directory_fd, "token", token, err) < 0 ||
        write_file(agent->directory_fd, "kubeconfig", kubeconfig, err) < 0)
        return error_wrap(err, "credential directory \"%s\"", agent->directory);
    return 0;
}

/* ---- use ---- */

static void use_token(struct agent *agent, char *token)
{
    kube_set_token(agent->landscaper, token);
    wipe_free(agent->token);
    agent->token = token;
}

/* NULL: there is none, or it belongs to other credentials than those given now. */
static char *stored_token(const struct agent *agent, const json_t *secret)
{
    cleanup_wipe char *given = agent_secret_value(secret, "given");

    if (!agent->account || !given || strcmp(given, agent->given) != 0)
        return NULL;
    return agent_secret_value(secret, "token");
}

void agent_credential_use(struct agent *agent, const json_t *secret)
{
    cleanup_wipe char *token = stored_token(agent, secret);
    struct error err = {0};

    if (!token || (agent->token && strcmp(token, agent->token) == 0))
        return;
    if (agent_credential_export(agent, token, &err) < 0)
        log_error("token not written for the deployer", log_text("error", err.text));
    agent->is_token_refused = false;
    use_token(agent, steal(&token));
}

bool agent_credential_is_due(struct agent *agent)
{
    const json_t *secret = agent_only(agent, AGENT_SOURCE_CREDENTIAL);
    cleanup_wipe char *token = NULL;

    if (!agent->account)
        return false;
    token = stored_token(agent, secret);
    return !token || agent->is_token_refused ||
           agent_renewal_in_ms(agent, agent->config->credential_secret, secret) == 0;
}

/* Alternates between both credentials: the one that is refused now may be so because of an answer
 * that was sent before the other was stored. */
void agent_credential_failed(struct agent *agent, const struct error *err)
{
    const json_t *secret = agent_only(agent, AGENT_SOURCE_CREDENTIAL);
    cleanup_wipe char *token = NULL;

    if (err->kind != ERROR_DENIED || err->http_status != 401)
        return;
    if (agent->token) {
        log_error("own token is refused: using the given kubeconfig");
        agent->is_token_refused = true;
        use_token(agent, NULL);
    } else {
        log_error("the given kubeconfig is refused by Landscaper's cluster: give the agent a new "
                  "one if this continues",
                  log_text("error", err->text));
        token = stored_token(agent, secret);
        if (token)
            use_token(agent, steal(&token));
    }
    agent_touch(agent);
}
