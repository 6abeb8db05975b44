/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/command_line/logging.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "common/sandbox/sandbox.h"
#include "deployer/exit_codes.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/registrations.h"
#include "deployer/serve/daemon.h"
#include "deployer/serve/plain.h"

#define LEASE_NAME "longshore-registrations"

enum {
    TOKEN_SECONDS_MIN = 600,
    TOKEN_SECONDS_MAX = 1 << 30,
    RELEASE_MS = 3000,
};

struct process {
    struct manager manager;
    struct server *health, *metrics;
    char *identity;
};

/* ---- state ---- */

bool manager_is_synced(const struct manager *manager)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (!manager->sources[i].is_synced)
            return false;
    }
    return true;
}

bool manager_may_write(const struct manager *manager)
{
    return manager->lease && lease_is_held(manager->lease) && manager_is_synced(manager) &&
           !manager->is_draining;
}

bool manager_may_send(const void *data)
{
    return manager_may_write(data);
}

const json_t *manager_find(const struct manager *manager, enum source source, const char *name)
{
    return doc_member(manager->sources[source].objects, name);
}

void manager_touch(struct manager *manager, const char *environment)
{
    if (environment)
        (void)json_object_set_new(manager->dirty, environment, json_true());
    else
        manager->is_all_dirty = true;
    if (!loop_timer_is_running(&manager->pass_timer))
        loop_timer_start(&manager->pass_timer, 0);
}

static void on_renewal(void *data)
{
    manager_touch(data, NULL);
}

/* ---- leadership ---- */

static void on_leadership(void *data, bool is_leader)
{
    struct manager *manager = data;

    log_info(is_leader ? "leading" : "not leading");
    if (is_leader) {
        manager_touch(manager, NULL);
        loop_timer_start(&manager->report_timer, MANAGER_REPORT_MS);
    }
}

static void on_lease_problem(void *data, const struct error *err)
{
    (void)data;
    log_error("leader election failed, retrying", log_text("error", err->text));
}

/* ---- probes and metrics ---- */

static int write_metrics(const struct manager *manager, struct buffer *ret_body,
                         const char **ret_content_type)
{
    const struct metric_row rows[] = {
        {"longshore_environments", "gauge", "Environments",
         json_object_size(manager->sources[SOURCE_ENVIRONMENTS].objects)},
        {"longshore_deployer_registrations", "gauge", "DeployerRegistrations",
         json_object_size(manager->sources[SOURCE_REGISTRATIONS].objects)},
        {"longshore_registrations_requests", "gauge", "requests of pairs under way",
         manager->running},
        {"longshore_registrations_writes_total", "counter", "successful writes", manager->actions},
        {"longshore_registrations_failures_total", "counter", "failed requests", manager->failures},
        {"longshore_registrations_leader", "gauge", "1 if this process leads",
         manager->lease && lease_is_held(manager->lease)},
    };

    return serve_rows(rows, array_length(rows), ret_body, ret_content_type);
}

static int on_request(void *data, const char *path, struct buffer *ret_body,
                      const char **ret_content_type)
{
    const struct process *process = data;

    if (strcmp(path, "/metrics") == 0)
        return write_metrics(&process->manager, ret_body, ret_content_type);
    return serve_probe(path, manager_is_synced(&process->manager) && !process->manager.is_draining,
                       ret_body);
}

/* ---- life ---- */

static void on_signal(void *data, int signal_number)
{
    struct process *process = data;

    if (daemon_changes_level(signal_number) || process->manager.is_draining)
        return;
    log_info("shutting down", log_number("signal", signal_number));
    process->manager.is_draining = true;
    loop_stop(process->manager.loop);
}

static int read_options(const struct registrations_values *values,
                        struct manager_options *ret_options, struct error *err)
{
    const char *at = values->external_types ? values->external_types : "";
    uint64_t seconds = 0;

    *ret_options = (struct manager_options){.namespace_name = values->namespace_name,
                                            .role = values->role,
                                            .external_types = json_array()};
    if (!number_parse(values->token_seconds, TOKEN_SECONDS_MAX, &seconds) ||
        seconds < TOKEN_SECONDS_MIN)
        return error_set(err, ERROR_INVALID, "--token-seconds: \"%s\" is not a number from %d",
                         values->token_seconds, TOKEN_SECONDS_MIN);
    ret_options->token_seconds = (int64_t)seconds;
    while (*at) {
        size_t length = strcspn(at, ",");
        cleanup_free char *type = xstrndup(at, length);

        (void)json_array_append_new(ret_options->external_types, doc_new_text(type));
        at += length + (at[length] == ',');
    }
    return 0;
}

static int start_lease(struct process *process, const char *namespace_name, struct error *err)
{
    char id[UUID_TEXT_SIZE] = {0};
    struct lease_options options = {.namespace_name = namespace_name,
                                    .name = LEASE_NAME,
                                    .on_change = on_leadership,
                                    .on_problem = on_lease_problem,
                                    .data = &process->manager};

    uuid_make(id);
    process->identity =
        xasprintf("%s_%s", daemon_variable(ENV_MY_POD_NAME, MY_POD_NAME_DEFAULT), id);
    options.identity = process->identity;
    if (lease_start(process->manager.kube, &options, &process->manager.lease, err) < 0)
        return error_wrap(err, "lease '%s/%s'", namespace_name, LEASE_NAME);
    return 0;
}

static int start(struct process *process, const struct registrations_values *values,
                 struct error *err)
{
    struct manager *manager = &process->manager;
    cleanup_kube_config struct kube_config *config = NULL;

    if (read_options(values, &manager->options, err) < 0 ||
        loop_new(clock_system(), &manager->loop, err) < 0 ||
        loop_set_signals(manager->loop, DAEMON_SIGNALS, DAEMON_SIGNAL_COUNT, on_signal, process,
                         err) < 0 ||
        http_client_new(manager->loop, REGISTRATIONS_USER_AGENT, &manager->http, err) < 0 ||
        kube_config_default(values->kubeconfig, &config, err) < 0 ||
        kube_new(manager->loop, manager->http, config, &manager->kube, err) < 0)
        return -1;
    config = NULL;
    loop_timer_init(&manager->pass_timer, manager->loop, evaluate_all, manager);
    loop_timer_init(&manager->report_timer, manager->loop, report_all, manager);
    loop_timer_init(&manager->renewal_timer, manager->loop, on_renewal, manager);
    manager->installed = json_object();
    manager->owned = json_object();
    manager->rendered = json_object();
    manager->served = json_object();
    manager->results = json_object();
    manager->patched = json_object();
    manager->deleted = json_object();
    manager->dirty = json_object();
    manager->reports = json_object();
    if (serve_listen(manager->loop, values->health_address, on_request, process, &process->health,
                     err) < 0 ||
        serve_listen(manager->loop, values->metrics_address, on_request, process, &process->metrics,
                     err) < 0 ||
        daemon_enter_sandbox(err) < 0 ||
        start_lease(process, manager->options.namespace_name, err) < 0 ||
        known_start(manager, err) < 0)
        return -1;
    log_info("started", log_text("version", LONGSHORE_VERSION),
             log_text("landscaper", kube_server(manager->kube)),
             log_text("namespace", manager->options.namespace_name));
    return 0;
}

static void process_done(struct process *process)
{
    struct manager *manager = &process->manager;
    json_t *const maps[] = {manager->installed, manager->owned,
                            manager->rendered,  manager->served,
                            manager->results,   manager->dirty,
                            manager->deleted,   manager->patched,
                            manager->reports,   manager->options.external_types};

    manager->is_draining = true;
    server_free(process->health);
    server_free(process->metrics);
    while (manager->tasks)
        pair_task_free(manager->tasks);
    report_stop(manager);
    known_stop(manager);
    lease_release(manager->lease, RELEASE_MS);
    loop_timer_stop(&manager->pass_timer);
    loop_timer_stop(&manager->report_timer);
    loop_timer_stop(&manager->renewal_timer);
    kube_free(manager->kube);
    http_client_free(manager->http);
    loop_free(manager->loop);
    for (size_t i = 0; i < array_length(maps); i++)
        json_decref(maps[i]);
    free(process->identity);
}

static int run(const struct registrations_values *values, struct error *err)
{
    struct process process = {0};
    int result = 0;

    if (start(&process, values, err) < 0 || loop_run(process.manager.loop, err) < 0)
        result = -1;
    else
        log_info("ended");
    process_done(&process);
    return result;
}

static int fail(const struct error *err)
{
    log_error("unable to manage deployers", log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)));
    return err->kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
}

int registrations_main(int argc, char **argv)
{
    struct registrations_values values = {0};
    enum log_level level = LOG_LEVEL_INFO;
    enum log_format format = LOG_FORMAT_JSON;
    struct error err = {0};
    int first = 0;

    daemon_block_signals();
    sandbox_no_core();
    log_configure("longshore", level, format);
    if (options_parse(&COMMAND_REGISTRATIONS, argc, argv, &values, &first, &err) < 0 ||
        log_values_read(&values.log, &level, &format, &err) < 0)
        return fail(&err);
    log_configure("longshore", level, format);
    if (values.is_help) {
        options_print_help(&COMMAND_REGISTRATIONS, stdout);
        return EXIT_SUCCESS;
    }
    if (first < argc) {
        (void)error_set(&err, ERROR_INVALID, "unexpected argument '%s'", argv[first]);
        return fail(&err);
    }
    return run(&values, &err) < 0 ? fail(&err) : EXIT_SUCCESS;
}
