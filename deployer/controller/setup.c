/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/check.h"
#include "deployer/controller/clusters.h"
#include "deployer/controller/items_page.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/controller.h"
#include "deployer/protocol/election.h"
#include "deployer/protocol/observe.h"
#include "deployer/protocol/task.h"
#include "deployer/serve/daemon.h"
#include "deployer/serve/server.h"

enum { DRAIN_MS = 10 * 1000, RELEASE_MS = 3 * 1000 };

/* Everything with the lifetime of the process. */
struct process {
    struct controller controller;
    struct server *health, *metrics;
    struct items_page *page; /* or NULL */
    struct loop_timer drain_timer;
    struct clusters clusters;
    struct check *check;
    int64_t started_unix_ms;
};

/* ---- Probes and metrics ---- */

/* The watch of the first engine that has one. */
static const struct kube_watch *watch_of_engines(const struct controller *controller)
{
    const struct kube_watch *watch = NULL;

    for (size_t i = 0; i < controller->engine_count && !watch; i++) {
        const struct engine *engine = controller->engines[i];

        watch = engine->class->watch ? engine->class->watch(engine) : NULL;
    }
    return watch;
}

/* Belongs to the caller; its texts are borrowed. */
static struct cluster_traffic *targets_of_engines(const struct controller *controller,
                                                  size_t *ret_count)
{
    struct cluster_traffic *targets = xcalloc(CLUSTER_TRAFFIC_MAX, sizeof(*targets));

    *ret_count = 0;
    for (size_t i = 0; i < controller->engine_count && *ret_count == 0; i++) {
        const struct engine *engine = controller->engines[i];

        if (engine->class->clusters)
            *ret_count = cluster_pool_traffic(engine->class->clusters(engine), targets);
    }
    return targets;
}

static const char *name_of_action(size_t action)
{
    return action < ACTION_COUNT ? action_name((enum action)action) : NULL;
}

static uint64_t longest_silence_ms(const struct controller *controller)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < controller->source_count; i++) {
        uint64_t silence = kube_watch_idle_ms(controller->sources[i].watch);

        longest = silence > longest ? silence : longest;
    }
    return longest;
}

static int serve_metrics(struct process *process, struct buffer *ret_body,
                         const char **ret_content_type)
{
    const struct controller *controller = &process->controller;
    const struct kube_watch *runs = watch_of_engines(controller);
    bool is_one = controller->landscaper == controller->host;
    struct metrics_now now = {
        .items = index_count(controller->index),
        .jobs = controller->task_count,
        .queued = controller->queue.length,
        .running = controller->running,
        .held = controller->unknown_owner_items,
        .landscaper_requests = kube_request_counts(controller->landscaper),
        .host_requests = is_one ? NULL : kube_request_counts(controller->host),
        .watch_silent_ms = {[METRICS_ITEMS] = longest_silence_ms(controller),
                            [METRICS_PODS] = runs ? kube_watch_idle_ms(runs) : 0},
        .is_leader = controller_may_write(controller),
        .is_synced = controller->is_items_synced && controller_is_synced(controller),
        .action_name = name_of_action,
        .rule_name = rule_name,
        .lease_name = controller->config->lease_name ? controller->config->lease_name : "",
        .started_unix_ms = process->started_unix_ms,
    };
    cleanup_free struct cluster_traffic *targets =
        targets_of_engines(controller, &now.target_count);
    struct error err = {0};

    now.targets = targets;
    *ret_content_type = "text/plain; version=0.0.4; charset=utf-8";
    return metrics_write(&controller->metrics, &now, ret_body, &err) < 0 ? 503 : 200;
}

static int on_request(void *data, const char *path, struct buffer *ret_body,
                      const char **ret_content_type)
{
    struct process *process = data;
    const struct controller *controller = &process->controller;
    struct error err = {0};

    if (strcmp(path, "/metrics") == 0)
        return serve_metrics(process, ret_body, ret_content_type);
    if (strcmp(path, "/readyz") == 0 &&
        (!controller->is_items_synced || !controller_is_synced(controller) ||
         controller->is_draining))
        return 503;
    if (strcmp(path, "/healthz") != 0 && strcmp(path, "/readyz") != 0)
        return 404;
    return buffer_append_text(ret_body, &err, "ok\n") < 0 ? 503 : 200;
}

static int listen_for(struct process *process, const char *given, int64_t port,
                      struct server **ret_server, struct error *err)
{
    const struct deployer_config *config = process->controller.config;
    cleanup_free char *host = xstrdup(config->serve_address ? config->serve_address : "");
    uint16_t wanted = (uint16_t)port;

    if (given) {
        free(steal(&host));
        if (address_parse(given, &host, &wanted, err) < 0)
            return -1;
    }
    if (!wanted)
        return 0;
    return server_new(process->controller.loop, host, wanted, on_request, process, ret_server, err);
}

static int start_serving(struct process *process, const struct controller_options *options,
                         struct error *err)
{
    const struct deployer_config *config = process->controller.config;

    if (listen_for(process, options->health_address, config->health_port, &process->health, err) <
        0)
        return -1;
    /* One port can serve both. */
    if (!options->metrics_address && process->health &&
        config->metrics_port == server_port(process->health))
        return 0;
    return listen_for(process, options->metrics_address, config->metrics_port, &process->metrics,
                      err);
}

/* The page is served where the metrics are. */
static void start_page(struct process *process)
{
    const struct deployer_config *config = process->controller.config;
    bool is_shared = config->metrics_port && config->metrics_port == config->health_port;
    struct server *server = process->metrics || !is_shared ? process->metrics : process->health;

    if (!config->is_page_enabled)
        return;
    if (!server) {
        log_error("the status page is not served",
                  log_text("reason", "ui.enabled needs the port of the metrics, which is off; set "
                                     "serve.metricsPort"));
        return;
    }
    process->page = items_page_new(&process->controller, server);
    log_info("serving the status page", log_number("port", server_port(server)));
}

/* ---- Signals ---- */

static void on_drained(void *data)
{
    struct process *process = data;

    log_info("shutting down although requests are under way",
             log_number("requests", process->controller.running));
    loop_stop(process->controller.loop);
}

static void on_signal(void *data, int signal_number)
{
    struct process *process = data;
    struct controller *controller = &process->controller;

    if (daemon_changes_level(signal_number) || controller->is_draining)
        return;
    log_info("shutting down", log_number("signal", signal_number),
             log_number("requests", controller->running));
    controller->is_draining = true;
    loop_timer_start(&process->drain_timer, DRAIN_MS);
    controller_pump(controller);
}

/* ---- Clusters ---- */

static int connect_clusters(struct process *process, const struct controller_options *options,
                            struct deployer_config *config, struct error *err)
{
    struct controller *controller = &process->controller;
    int result = clusters_connect(controller->loop, controller->http, options->kubeconfig,
                                  options->landscaper_kubeconfig, config, &process->clusters, err);

    controller->host = process->clusters.host;
    controller->landscaper = process->clusters.landscaper;
    return result;
}

static void on_checked(void *data)
{
    struct process *process = data;

    check_log(process->check);
    check_free(process->check);
    process->check = NULL;
}

/* ---- Watching ---- */

static int watch_items_of(struct item_source *source, struct error *err)
{
    struct kube_watch_options items = {.resource = KUBE_DEPLOY_ITEMS,
                                       .namespace_name = source->namespace_name,
                                       .page_size = CONTROLLER_LIST_PAGE,
                                       .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                       .is_known = observe_item_is_known,
                                       .on_event = observe_item_event,
                                       .data = source};

    if (kube_watch_start(source->controller->landscaper, &items, &source->watch, err) < 0)
        return error_wrap(err, "watch items");
    return 0;
}

/* One watch for all namespaces, or one for each that the configuration names. */
static int watch_items(struct controller *controller, struct error *err)
{
    char *const *names = controller->config->namespaces;
    size_t count = 0;

    while (names[count])
        count++;
    controller->source_count = count > 0 ? count : 1;
    controller->sources = xcalloc(controller->source_count, sizeof(*controller->sources));
    for (size_t i = 0; i < controller->source_count; i++) {
        controller->sources[i] =
            (struct item_source){.controller = controller, .namespace_name = names[i], .epoch = 1};
        if (watch_items_of(&controller->sources[i], err) < 0)
            return -1;
    }
    return 0;
}

static int start_engines(struct controller *controller, const struct engine_class *const *engines,
                         struct error *err)
{
    for (; *engines; engines++) {
        if ((*engines)->is_enabled && !(*engines)->is_enabled(controller->config))
            continue;
        if (controller_add_engine(controller, *engines, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Life ---- */

/* Variables of the Go deployer that have no effect are logged, as fields of the configuration are.
 */
static void name_unused_variables(void)
{
    static const char *const names[] = {ENV_LS_HOST_CLIENT_QPS, ENV_LS_HOST_CLIENT_BURST,
                                        ENV_LS_RESOURCE_CLIENT_QPS, ENV_LS_RESOURCE_CLIENT_BURST};
    cleanup_free char *given = xstrdup("");

    for (size_t i = 0; i < array_length(names); i++) {
        char *longer = NULL;

        if (!*daemon_variable(names[i], ""))
            continue;
        longer = xasprintf("%s%s%s", given, *given ? ", " : "", names[i]);
        free(given);
        given = longer;
    }
    if (*given)
        log_info(
            "environment variables have no effect", log_text("variables", given),
            log_text("reason", "the number of concurrent requests is limited, not their rate"));
}

static void init_controller(struct process *process, const struct deployer_config *config)
{
    struct controller *controller = &process->controller;

    process->started_unix_ms = controller_now_unix_ms(controller);
    controller->config = config;
    controller->is_electing = config->is_electing;
    controller->is_locking = config->max_replicas > 1;
    controller->has_selector = !selector_is_empty(config->target_selector);
    controller->identity = *config->identity
                               ? xstrdup(config->identity)
                               : xasprintf("%s-%lld",
                                           config->is_container_enabled ? DEPLOYER_NAME
                                           : config->is_helm_enabled    ? HELM_DEPLOYER_NAME
                                                                        : MANIFEST_DEPLOYER_NAME,
                                           (long long)(process->started_unix_ms / 1000));
    controller->pod_name = daemon_variable(ENV_MY_POD_NAME, MY_POD_NAME_DEFAULT);
    controller->pod_namespace = daemon_variable(ENV_MY_POD_NAMESPACE, MY_POD_NAMESPACE_DEFAULT);
    controller->index = index_new(controller->engines);
    loop_timer_init(&controller->pump_timer, controller->loop, controller_on_pump, controller);
    loop_timer_init(&process->drain_timer, controller->loop, on_drained, process);
}

static void free_task(void *data, struct record *record)
{
    (void)data;
    task_free(record->task);
}

static void process_done(struct process *process)
{
    struct controller *controller = &process->controller;

    /* election_stop() runs the loop: from here on nothing may answer a request for metrics, which
     * reads the watches. */
    server_free(process->health);
    server_free(process->metrics);
    items_page_free(process->page);
    for (size_t i = 0; i < controller->source_count; i++)
        kube_watch_stop(controller->sources[i].watch);
    if (controller->index)
        index_each(controller->index, free_task, NULL);
    election_stop(controller, RELEASE_MS);
    index_free(controller->index);
    for (size_t i = 0; i < controller->engine_count; i++)
        controller->engines[i]->class->free(controller->engines[i]);
    loop_timer_stop(&controller->pump_timer);
    loop_timer_stop(&process->drain_timer);
    check_free(process->check);
    clusters_done(&process->clusters);
    http_client_free(controller->http);
    free(controller->sources);
    free(controller->identity);
    loop_free(controller->loop);
}

/* A target cluster needs about five descriptors, and many systems start processes with a soft limit
 * of 1024. It exists for programs that use select(), which nothing here does. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct process *process, const struct controller_options *options,
                 struct deployer_config *config, struct error *err)
{
    struct controller *controller = &process->controller;

    raise_descriptor_limit();
    if (loop_new(clock_system(), &controller->loop, err) < 0)
        return -1;
    init_controller(process, config);
    name_unused_variables();
    if (loop_set_signals(controller->loop, DAEMON_SIGNALS, DAEMON_SIGNAL_COUNT, on_signal, process,
                         err) < 0 ||
        http_client_new(controller->loop, CONTROLLER_USER_AGENT, &controller->http, err) < 0 ||
        connect_clusters(process, options, config, err) < 0 ||
        start_serving(process, options, err) < 0 || daemon_enter_sandbox(err) < 0 ||
        election_start(controller, clusters_lease_namespace(config, controller->pod_namespace),
                       err) < 0 ||
        start_engines(controller, options->engines, err) < 0 || watch_items(controller, err) < 0)
        return -1;
    start_page(process);
    log_info("started", log_text("version", LONGSHORE_VERSION),
             log_text("identity", controller->identity),
             log_text("landscaper", kube_server(controller->landscaper)),
             log_text("host", kube_server(controller->host)),
             log_text("hostNamespace", config->namespace_name));
    process->check =
        check_start(&process->clusters, config, controller->pod_namespace, on_checked, process);
    return 0;
}

int controller_run(const struct controller_options *options, struct deployer_config *config,
                   struct error *err)
{
    struct process process = {0};
    int result = 0;

    if (start(&process, options, config, err) < 0 || loop_run(process.controller.loop, err) < 0)
        result = -1;
    else
        log_info("ended");
    process_done(&process);
    return result;
}
