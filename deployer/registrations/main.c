/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/exit_codes.h"
#include "deployer/registrations/check.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/environments_page.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/registrations.h"
#include "deployer/serve/command.h"
#include "deployer/serve/daemon.h"
#include "deployer/serve/leader.h"
#include "deployer/serve/plain.h"

#define LEASE_NAME "longshore-registrations"
#define MANAGER_MAPS(manager_)                                                                     \
    &(manager_)->installed, &(manager_)->owned, &(manager_)->children, &(manager_)->rendered,      \
        &(manager_)->served, &(manager_)->results, &(manager_)->problems, &(manager_)->beats,      \
        &(manager_)->left, &(manager_)->patched, &(manager_)->deleted, &(manager_)->dirty,         \
        &(manager_)->reports

struct process {
    struct manager manager;
    struct server *health, *metrics;
    json_t *page_data;
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
    return leader_is_elected(manager->lease) && manager_is_synced(manager) && !manager->is_draining;
}

bool manager_may_send(const void *data)
{
    return manager_may_write(data);
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

/* ---- probes and metrics ---- */

/* The number of pairs in each phase. Phases are our reasons and those of Landscaper, so their
 * number is bounded. */
static int write_pairs(const struct manager *manager, struct buffer *body)
{
    static const char metric[] = "longshore_registrations_pairs";
    cleanup_json json_t *counts = json_object();
    const char *key = NULL;
    const char *environment = NULL;
    json_t *of_environments = NULL;
    json_t *value = NULL;
    struct error err = {0};

    doc_foreach(manager->results, key, of_environments)
    {
        doc_foreach(of_environments, environment, value)
        {
            const char *phase = result_phase(value);

            (void)json_object_set_new(
                counts, phase,
                json_integer(json_integer_value(json_object_get(counts, phase)) + 1));
        }
    }
    if (buffer_append_text(body, &err,
                           "# HELP %s pairs of environment and registration\n"
                           "# TYPE %s gauge\n",
                           metric, metric) < 0)
        return -1;
    doc_foreach(counts, key, value)
    {
        if (buffer_append_text(body, &err, "%s{phase=\"%s\"} %lld\n", metric, key,
                               (long long)json_integer_value(value)) < 0)
            return -1;
    }
    return 0;
}

/* Seconds since the oldest heartbeat, and the number of agents that are alive. */
static void count_heartbeats(struct manager *manager, uint64_t *ret_alive, uint64_t *ret_oldest_ms)
{
    uint64_t now = loop_now_ms(manager->loop);
    uint64_t oldest = 0;
    uint64_t alive = 0;
    const char *name = NULL;
    json_t *value = NULL;

    doc_foreach(manager->sources[SOURCE_ENVIRONMENTS].objects, name, value)
    {
        const char *lease = environment_lease(manager_find(manager, SOURCE_ENVIRONMENTS, name));
        uint64_t age = heartbeat_age_ms(manager->beats, lease, now);

        oldest = age > oldest ? age : oldest;
        alive += heartbeat_judge(manager->beats, lease, now) == HEARTBEAT_ALIVE;
        manager_close(manager);
    }
    *ret_alive = alive;
    *ret_oldest_ms = oldest;
}

static int write_metrics(struct manager *manager, struct buffer *ret_body,
                         const char **ret_content_type)
{
    uint64_t alive = 0;
    uint64_t oldest_ms = 0;
    struct metric_row rows[] = {
        {"longshore_environments_alive", "gauge", "environments whose agent renews its Lease", 0},
        {"longshore_heartbeat_age_seconds_max", "gauge",
         "time since the oldest heartbeat of an agent", 0},
        {"longshore_environments", "gauge", "Environments",
         json_object_size(manager->sources[SOURCE_ENVIRONMENTS].objects)},
        {"longshore_deployer_registrations", "gauge", "DeployerRegistrations",
         json_object_size(manager->sources[SOURCE_REGISTRATIONS].objects)},
        {"longshore_registrations_requests", "gauge", "requests of pairs under way",
         manager->running},
        {"longshore_registrations_writes_total", "counter", "successful writes", manager->actions},
        {"longshore_registrations_failures_total", "counter", "failed requests", manager->failures},
        {"longshore_registrations_token_renewals_total", "counter", "renewed tokens of deployers",
         manager->renewals},
        {"longshore_registrations_events_total", "counter", "Events written", manager->events},
        {"longshore_registrations_leader", "gauge", "1 if this process leads",
         leader_is_elected(manager->lease)},
    };

    int status = 0;

    count_heartbeats(manager, &alive, &oldest_ms);
    rows[0].value = alive;
    rows[1].value = oldest_ms / 1000;
    status = serve_rows(rows, array_length(rows), ret_body, ret_content_type);
    return status == 200 && write_pairs(manager, ret_body) < 0 ? 503 : status;
}

static int on_request(void *data, const char *path, struct buffer *ret_body,
                      const char **ret_content_type)
{
    struct process *process = data;

    if (strcmp(path, "/metrics") == 0)
        return write_metrics(&process->manager, ret_body, ret_content_type);
    return serve_probe(path, manager_is_synced(&process->manager) && !process->manager.is_draining,
                       ret_body);
}

static bool is_leader(const void *data)
{
    const struct manager *manager = data;

    return leader_is_elected(manager->lease);
}

static void start_page(struct process *process, const char *mode)
{
    struct manager *manager = &process->manager;
    struct watched_options options = ENVIRONMENTS_PAGE;

    options.loop = manager->loop;
    options.kube = manager->kube;
    options.is_leader = is_leader;
    options.command = manager;
    options.data = process->page_data = json_object();
    manager->page = watched_page_open(&options, mode, process->metrics);
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

static int read_settings(const struct registrations_values *values, struct settings *ret_settings,
                         struct error *err)
{
    cleanup_mistakes struct mistakes mistakes = {0};

    if (settings_read(values, ret_settings, &mistakes, err) < 0)
        return -1;
    for (size_t i = 0; i < mistakes.count; i++)
        log_info("configuration field ignored", log_text("field", mistakes.items[i].path),
                 log_text("reason", mistakes.items[i].text));
    return 0;
}

static int elect(struct manager *manager, struct error *err)
{
    const struct lease_options options = {.namespace_name = manager->settings.namespace_name,
                                          .name = LEASE_NAME,
                                          .on_change = on_leadership,
                                          .data = manager};

    return leader_elect(manager->kube, &options, &manager->lease, err);
}

static void make_maps(struct manager *manager)
{
    json_t **const maps[] = {MANAGER_MAPS(manager)};

    for (size_t i = 0; i < array_length(maps); i++)
        *maps[i] = json_object();
    manager->opened = json_array();
}

static int start(struct process *process, const struct registrations_values *values,
                 struct error *err)
{
    struct manager *manager = &process->manager;

    if (read_settings(values, &manager->settings, err) < 0 ||
        loop_new(clock_system(), &manager->loop, err) < 0 ||
        loop_set_signals(manager->loop, DAEMON_SIGNALS, DAEMON_SIGNAL_COUNT, on_signal, process,
                         err) < 0 ||
        http_client_new(manager->loop, REGISTRATIONS_USER_AGENT, &manager->http, err) < 0 ||
        kube_new_default(manager->loop, manager->http, values->kubeconfig, &manager->kube, err) < 0)
        return -1;
    loop_timer_init(&manager->pass_timer, manager->loop, evaluate_all, manager);
    loop_timer_init(&manager->report_timer, manager->loop, report_all, manager);
    loop_timer_init(&manager->renewal_timer, manager->loop, on_renewal, manager);
    loop_timer_init(&manager->beat_timer, manager->loop, beats_judge, manager);
    make_maps(manager);
    if (serve_listen(manager->loop, values->health_address, on_request, process, &process->health,
                     err) < 0 ||
        serve_listen(manager->loop, values->metrics_address, on_request, process, &process->metrics,
                     err) < 0 ||
        daemon_enter_sandbox(err) < 0 || elect(manager, err) < 0 || known_start(manager, err) < 0)
        return -1;
    start_page(process, values->page);
    log_info("started", log_text("version", LONGSHORE_VERSION),
             log_text("landscaper", kube_server(manager->kube)),
             log_text("namespace", manager->settings.namespace_name));
    return 0;
}

static void process_done(struct process *process)
{
    struct manager *manager = &process->manager;
    json_t **const maps[] = {MANAGER_MAPS(manager)};

    manager->is_draining = true;
    server_free(process->health);
    server_free(process->metrics);
    watched_page_free(steal(&manager->page));
    json_decref(process->page_data);
    while (manager->tasks)
        pair_task_free(manager->tasks);
    report_stop(manager);
    known_stop(manager);
    lease_release(manager->lease, LEADER_RELEASE_MS);
    loop_timer_stop(&manager->pass_timer);
    loop_timer_stop(&manager->report_timer);
    loop_timer_stop(&manager->renewal_timer);
    loop_timer_stop(&manager->beat_timer);
    kube_free(manager->kube);
    http_client_free(manager->http);
    loop_free(manager->loop);
    for (size_t i = 0; i < array_length(maps); i++)
        json_decref(*maps[i]);
    json_decref(manager->opened);
    settings_done(&manager->settings);
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

/* --check: exit code 1 if something is missing. */
static int check(const struct registrations_values *values, struct error *err)
{
    struct settings settings = {0};
    bool is_complete = false;
    int result = 0;

    if (read_settings(values, &settings, err) < 0)
        return -1;
    result = registrations_check_run(&settings, values, stdout, &is_complete, err);
    settings_done(&settings);
    if (result < 0)
        return -1;
    return is_complete ? EXIT_SUCCESS : EXIT_FAILURE;
}

int registrations_main(int argc, char **argv)
{
    struct registrations_values values = {0};
    const struct daemon_command command = {
        .options = &COMMAND_REGISTRATIONS,
        .values = &values,
        .log = &values.log,
        .is_help = &values.is_help,
        .log_name = "longshore",
        .on_failure = "unable to manage deployers",
    };
    struct error err = {0};
    int result = daemon_begin(&command, argc, argv);

    if (result != DAEMON_GO_ON)
        return result;
    result = values.is_check ? check(&values, &err) : run(&values, &err);
    return result < 0 ? daemon_fail(&command, &err) : result;
}
