/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/memory_trim.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "common/data/uuid.h"
#include "deployer/agent/agent.h"
#include "deployer/agent/check.h"
#include "deployer/serve/command.h"
#include "deployer/serve/daemon.h"
#include "deployer/serve/plain.h"

enum {
    RENEWAL_RETRY_MAX_MS = 10 * 60 * 1000, /* an agent may not be allowed to renew its token */
    NS_PER_MS = 1000 * 1000,
    TRIM_MS = 10 * 1000,
};

struct process {
    struct agent agent;
    struct server *health, *metrics;
};

/* ---- probes and metrics ---- */

static int write_metrics(const struct agent *agent, struct buffer *ret_body,
                         const char **ret_content_type)
{
    const struct metric_row rows[] = {
        {"longshore_agent_leader", "gauge", "1 if this process sends the heartbeat",
         agent_is_leader(agent)},
        {"longshore_agent_left", "gauge", "1 if this agent has left", agent_has_left(agent)},
        {"longshore_agent_writes_total", "counter", "successful writes", agent->writes},
        {"longshore_agent_failures_total", "counter", "failed requests", agent->failures},
        {"longshore_agent_token_renewals_total", "counter", "tokens that were requested",
         agent->renewals},
    };

    return serve_rows(rows, array_length(rows), ret_body, ret_content_type);
}

static int on_request(void *data, const char *path, struct buffer *ret_body,
                      const char **ret_content_type)
{
    const struct agent *agent = &((const struct process *)data)->agent;

    if (strcmp(path, "/metrics") == 0)
        return write_metrics(agent, ret_body, ret_content_type);
    return serve_probe(path, agent_known_is_synced(agent) && !agent->is_draining, ret_body);
}

/* ---- events ---- */

static void on_signal(void *data, int signal_number)
{
    struct agent *agent = data;

    if (daemon_changes_level(signal_number) || agent->is_draining)
        return;
    log_info("shutting down", log_number("signal", signal_number));
    agent->is_draining = true;
    agent->result = agent->wants_leave ? -1 : 0;
    loop_stop(agent->loop);
}

static void on_leave_timeout(void *data)
{
    struct agent *agent = data;
    const json_t *environment = agent_only(agent, AGENT_SOURCE_ENVIRONMENT);
    const json_t *conditions = doc_get(environment, "status.conditions");
    const char *reason = "";

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "type", ""), CONDITION_DEPLOYERS_READY) == 0)
            reason = doc_text_or(condition, "message", "");
    }
    log_error("timed out: the Environment is deleted as soon as its deployers are uninstalled; run "
              "--leave again, or see its status",
              log_text("environment", agent->config->name), log_text("deployers", reason));
    agent->is_draining = true;
    agent->result = -1;
    loop_stop(agent->loop);
}

static void on_trim(void *data)
{
    struct agent *agent = data;

    memory_trim();
    loop_timer_start(&agent->trim_timer, TRIM_MS);
}

static void ask_for_cluster(void *data);

/* The uid of this namespace identifies a cluster for as long as it exists. Nothing else does: the
 * certificate authority and the address may change. */
static void on_cluster(void *data, json_t *object, const struct error *err)
{
    struct agent *agent = data;
    const char *uid = doc_text(object, "metadata.uid");
    char id[UUID_TEXT_SIZE] = {0};

    agent->cluster_call = NULL;
    if (err->kind != ERROR_NONE || !uid) {
        log_error(
            "the cluster of the agent cannot be identified, retrying; the agent needs get for "
            "the namespace kube-system",
            log_text("error", err->text));
        loop_timer_start(&agent->cluster_timer, retry_next_ms(&agent->cluster_retry, err));
        return;
    }
    uuid_make(id);
    agent->cluster_id = xstrdup(uid);
    agent->identity = xasprintf("%s_%s_%s", uid, agent->pod_name, id);
    agent_touch(agent);
}

static void ask_for_cluster(void *data)
{
    struct agent *agent = data;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = KUBE_NAMESPACES,
                                         .name = "kube-system",
                                         .grace_seconds = -1,
                                         .on_done = on_cluster,
                                         .data = agent};
    struct error err = {0};

    if (kube_start(agent->host, &request, &agent->cluster_call, &err) < 0)
        on_cluster(agent, NULL, &err);
}

/* ---- life ---- */

static int load_config(const char *path, struct agent_config **ret_config, struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};

    if (!path)
        return error_set(err, ERROR_INVALID, "--config is missing");
    if (agent_config_load(path, ret_config, &mistakes) < 0) {
        (void)!mistakes_fail(&mistakes, err);
        return error_wrap(err, "configuration \"%s\"", path);
    }
    for (size_t i = 0; i < mistakes.count; i++)
        log_info("unknown or unused field in the configuration",
                 log_text("field", mistakes.items[i].path),
                 log_text("problem", mistakes.items[i].text));
    return 0;
}

static int connect_host(struct agent *agent, const char *path, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;

    if (kube_config_default(path, &config, err) < 0)
        return error_wrap(err, "cluster of the agent");
    agent->host_cluster = agent_cluster_config(config);
    if (kube_new(agent->loop, agent->http, config, &agent->host, err) < 0)
        return -1;
    config = NULL;
    return 0;
}

static int connect_landscaper(struct agent *agent, const char *path, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;

    if (!path)
        return error_set(err, ERROR_INVALID, "--landscaper-kubeconfig is missing");
    if (kube_config_from_file(path, &config, err) < 0 ||
        agent_credential_start(agent, config, err) < 0)
        return error_wrap(err, "Landscaper's cluster");
    agent->landscaper_cluster = agent_cluster_config(config);
    if (kube_new(agent->loop, agent->http, config, &agent->landscaper, err) < 0)
        return -1;
    config = NULL;
    return 0;
}

static int open_directory(struct agent *agent, const char *path, struct error *err)
{
    if (!path)
        return 0;
    agent->directory = path;
    agent->directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (agent->directory_fd < 0)
        return error_set_errno(err, errno, "--credential-directory \"%s\"", path);
    return 0;
}

static int start_leaving(struct agent *agent, const char *timeout, struct error *err)
{
    int64_t ns = 0;

    if (duration_parse(timeout, &ns, err) < 0)
        return error_wrap(err, "--timeout");
    loop_timer_start(&agent->leave_timer, (uint64_t)(ns > 0 ? ns / NS_PER_MS : 0));
    return 0;
}

static void prepare_state(struct agent *agent, const struct agent_values *values)
{
    agent->directory_fd = -1;
    agent->wants_leave = values->is_leave;
    agent->wants_register = values->is_register;
    agent->pod_name = xstrdup(daemon_variable(ENV_MY_POD_NAME, MY_POD_NAME_DEFAULT));
    agent->deleted = json_object();
    agent->deadlines = json_object();
    agent->deployer_waits = json_object();
    retry_init(&agent->cluster_retry, AGENT_RETRY_FIRST_MS, AGENT_RETRY_MAX_MS);
    for (size_t i = 0; i < AGENT_ACTION_COUNT; i++)
        retry_init(&agent->retries[i], AGENT_RETRY_FIRST_MS,
                   i == AGENT_RENEW_OWN_TOKEN ? RENEWAL_RETRY_MAX_MS : AGENT_RETRY_MAX_MS);
}

/* Everything before the first request. */
static int connect(struct process *process, const struct agent_values *values, struct error *err)
{
    struct agent *agent = &process->agent;

    prepare_state(agent, values);
    if (load_config(values->config, &agent->config, err) < 0 ||
        loop_new(clock_system(), &agent->loop, err) < 0 ||
        loop_set_signals(agent->loop, DAEMON_SIGNALS, DAEMON_SIGNAL_COUNT, on_signal, agent, err) <
            0 ||
        http_client_new(agent->loop, AGENT_USER_AGENT, &agent->http, err) < 0 ||
        connect_landscaper(agent, values->landscaper_kubeconfig, err) < 0 ||
        connect_host(agent, values->kubeconfig, err) < 0 ||
        open_directory(agent, values->directory, err) < 0)
        return -1;
    loop_timer_init(&agent->pass_timer, agent->loop, agent_evaluate, agent);
    loop_timer_init(&agent->leave_timer, agent->loop, on_leave_timeout, agent);
    loop_timer_init(&agent->cluster_timer, agent->loop, ask_for_cluster, agent);
    loop_timer_init(&agent->trim_timer, agent->loop, on_trim, agent);
    return 0;
}

static int start(struct process *process, const struct agent_values *values, struct error *err)
{
    struct agent *agent = &process->agent;

    if ((!values->is_leave && (serve_listen(agent->loop, values->health_address, on_request,
                                            process, &process->health, err) < 0 ||
                               serve_listen(agent->loop, values->metrics_address, on_request,
                                            process, &process->metrics, err) < 0)) ||
        daemon_enter_sandbox_with(agent->directory, err) < 0 ||
        (values->is_leave && start_leaving(agent, values->timeout, err) < 0) ||
        agent_known_start(agent, err) < 0)
        return -1;
    loop_timer_start(&agent->cluster_timer, 0);
    loop_timer_start(&agent->trim_timer, TRIM_MS);
    log_info("started", log_text("version", LONGSHORE_VERSION),
             log_text("environment", agent->config->name),
             log_text("landscaper", kube_server(agent->landscaper)),
             log_text("host", kube_server(agent->host)));
    return 0;
}

static void process_done(struct process *process)
{
    struct agent *agent = &process->agent;

    agent->is_draining = true;
    server_free(process->health);
    server_free(process->metrics);
    agent_act_stop(agent);
    agent_known_stop(agent);
    lease_release(agent->lease, AGENT_RELEASE_MS);
    loop_timer_stop(&agent->pass_timer);
    loop_timer_stop(&agent->leave_timer);
    loop_timer_stop(&agent->cluster_timer);
    loop_timer_stop(&agent->trim_timer);
    kube_free(agent->host);
    kube_free(agent->landscaper);
    http_client_free(agent->http);
    loop_free(agent->loop);
    agent_credential_stop(agent);
    json_decref(agent->host_cluster);
    json_decref(agent->landscaper_cluster);
    json_decref(agent->deleted);
    json_decref(agent->deadlines);
    json_decref(agent->deployer_waits);
    agent_config_free(agent->config);
    free(agent->cluster_id);
    free(agent->identity);
    free(agent->pod_name);
}

/* --prepare: the stored token if it belongs to the given kubeconfig, else that of the kubeconfig.
 */
static int prepare(struct process *process, struct error *err)
{
    struct agent *agent = &process->agent;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = KUBE_SECRETS,
                                         .namespace_name = agent->config->namespace_name,
                                         .name = agent->config->credential_secret,
                                         .grace_seconds = -1};
    cleanup_json json_t *secret = NULL;
    cleanup_wipe char *token = NULL;

    if (!agent->directory)
        return error_set(err, ERROR_INVALID, "--prepare needs --credential-directory");
    if (daemon_enter_sandbox_with(agent->directory, err) < 0)
        return -1;
    if (kube_perform(agent->host, &request, &secret, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return error_wrap(err, "Secret \"%s\"", agent->config->credential_secret);
    agent_credential_use(agent, secret);
    if (agent->token)
        return 0;
    if (kube_config_token(kube_get_config(agent->landscaper), &token, err) < 0)
        return -1;
    if (!token)
        return error_set(err, ERROR_INVALID,
                         "the kubeconfig of Landscaper's cluster has no token: use that of a "
                         "ServiceAccount");
    return agent_credential_export(agent, token, err);
}

static int run(const struct agent_values *values, struct error *err)
{
    struct process process = {.agent.directory_fd = -1};
    int result = connect(&process, values, err);

    if (result == 0 && values->is_prepare) {
        result = prepare(&process, err);
    } else if (result == 0 && values->is_check) {
        result = agent_check(&process.agent, stdout, err);
    } else if (result == 0) {
        result = start(&process, values, err) < 0 || loop_run(process.agent.loop, err) < 0
                     ? -1
                     : process.agent.result;
        if (result < 0 && err->kind == ERROR_NONE)
            (void)error_set(err, ERROR_CANCELLED, "the environment has not been left completely");
    }
    process_done(&process);
    return result;
}

int agent_main(int argc, char **argv)
{
    struct agent_values values = {0};
    const struct daemon_command command = {
        .options = &COMMAND_AGENT,
        .values = &values,
        .log = &values.log,
        .is_help = &values.is_help,
        .is_version = &values.is_version,
        .log_name = "landscaper-agent",
        .version = LONGSHORE_VERSION,
        .on_failure = "agent failed",
    };
    struct error err = {0};
    int result = 0;

    memory_trim_set_up();
    result = daemon_begin(&command, argc, argv);
    if (result != DAEMON_GO_ON)
        return result;
    return run(&values, &err) < 0 ? daemon_fail(&command, &err) : EXIT_SUCCESS;
}
