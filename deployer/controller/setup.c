/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/setup.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/uuid.h"
#include "common/sandbox/sandbox.h"
#include "deployer/controller/controller.h"
#include "deployer/controller/gc.h"
#include "deployer/controller/observe.h"
#include "deployer/controller/serve.h"
#include "deployer/controller/task.h"
#include "deployer/pod/docker_files.h"

#define USER_AGENT "longshore/" LONGSHORE_VERSION

enum { DRAIN_MS = 10 * 1000, RELEASE_MS = 3 * 1000 };

/* Everything that lives as long as the process. */
struct process {
    struct controller controller;
    struct server *health, *metrics;
    struct loop_timer drain_timer;
    int64_t started_unix_ms;
    char *pod_selector, *lease_identity;
};

/* ---- Probes and metrics ---- */

static int serve_metrics(struct process *process, struct buffer *ret_body,
                         const char **ret_content_type)
{
    const struct controller *controller = &process->controller;
    bool is_one = controller->landscaper == controller->host;
    struct metrics_now now = {
        .items = index_count(controller->index),
        .jobs = controller->open_jobs,
        .queued = controller->queue.length,
        .running = controller->running,
        .held = controller->held_items,
        .landscaper_requests = kube_request_counts(controller->landscaper),
        .host_requests = is_one ? NULL : kube_request_counts(controller->host),
        .watch_silent_ms = {[METRICS_ITEMS] = kube_watch_silent_ms(controller->item_watch),
                            [METRICS_PODS] = kube_watch_silent_ms(controller->pod_watch)},
        .is_leader = controller_may_write(controller),
        .is_synced = controller->is_items_synced && controller->is_pods_synced,
        .lease_name = controller->config->lease_name ? controller->config->lease_name : "",
        .started_unix_ms = process->started_unix_ms,
    };
    struct error err = {0};

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
        (!controller->is_items_synced || !controller->is_pods_synced || controller->is_draining))
        return 503;
    if (strcmp(path, "/healthz") != 0 && strcmp(path, "/readyz") != 0)
        return 404;
    return buffer_append_text(ret_body, &err, "ok\n") < 0 ? 503 : 200;
}

int address_parse(const char *text, char **ret_host, uint16_t *ret_port, struct error *err)
{
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    uint64_t port = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (strcmp(text, "off") == 0) {
        *ret_port = 0;
        *ret_host = xstrdup("");
        return 0;
    }
    if (!number_parse(digits, UINT16_MAX, &port))
        return error_set(err, ERROR_INVALID, "'%s' is no address: use host:port", text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    *ret_port = (uint16_t)port;
    *ret_host = xstrndup(text, length);
    return 0;
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

/* ---- Signals ---- */

static void on_drained(void *data)
{
    struct process *process = data;

    log_info("requests are still under way, going all the same",
             log_number("requests", process->controller.running));
    loop_stop(process->controller.loop);
}

static void change_level(int by)
{
    int level = (int)log_get_level() + by;

    if (level < LOG_LEVEL_ERROR || level > LOG_LEVEL_DEBUG)
        return;
    log_set_level((enum log_level)level);
    log_error("log level changed", log_number("level", level));
}

static void on_signal(void *data, int signal_number)
{
    struct process *process = data;
    struct controller *controller = &process->controller;

    if (signal_number == SIGUSR1) {
        change_level(1);
        return;
    }
    if (signal_number == SIGUSR2) {
        change_level(-1);
        return;
    }
    if (controller->is_draining)
        return;
    log_info("ending", log_number("signal", signal_number),
             log_number("requests", controller->running));
    controller->is_draining = true;
    loop_timer_start(&process->drain_timer, DRAIN_MS);
    controller_pump(controller);
}

/* ---- Clusters ---- */

static int connect_clusters(struct controller *controller, const struct controller_options *options,
                            struct deployer_config *config, struct error *err)
{
    cleanup_kube_config struct kube_config *host = NULL;
    cleanup_kube_config struct kube_config *landscaper = NULL;

    if (kube_config_default(options->kubeconfig, &host, err) < 0)
        return error_wrap(err, "host cluster");
    kube_config_hash(host, config->landscaper_mark);
    if (kube_new(controller->loop, controller->http, host, &controller->host, err) < 0)
        return error_wrap(err, "host cluster");
    host = NULL;
    controller->landscaper = controller->host;
    if (!options->landscaper_kubeconfig)
        return 0;
    controller->landscaper = NULL;
    if (kube_config_from_file(options->landscaper_kubeconfig, NULL, &landscaper, err) < 0)
        return error_wrap(err, "Landscaper cluster");
    kube_config_hash(landscaper, config->landscaper_mark);
    if (kube_new(controller->loop, controller->http, landscaper, &controller->landscaper, err) < 0)
        return error_wrap(err, "Landscaper cluster");
    landscaper = NULL;
    return 0;
}

/* ---- Watching ---- */

static int watch_items(struct controller *controller, struct error *err)
{
    struct kube_watch_options items = {.resource = KUBE_DEPLOY_ITEMS,
                                       .page_size = CONTROLLER_LIST_PAGE,
                                       .left_out = OBJECT_LEFT_OUT,
                                       .is_known = observe_item_is_known,
                                       .on_event = observe_item_event,
                                       .data = controller};

    if (kube_watch_start(controller->landscaper, &items, &controller->item_watch, err) < 0)
        return error_wrap(err, "watch items");
    return 0;
}

static int start_watches(struct process *process, struct error *err)
{
    struct controller *controller = &process->controller;
    cleanup_free char *identity = name_label_value(controller->config->identity);
    struct kube_watch_options pods = {.resource = KUBE_PODS,
                                      .namespace_name = controller->config->namespace_name,
                                      .left_out = POD_LEFT_OUT,
                                      .on_event = observe_pod_event,
                                      .data = controller};

    process->pod_selector =
        xasprintf(LABEL_ITEM_NAME "," LABEL_ITEM_NAMESPACE "," LABEL_DEPLOYER_ID "=%s", identity);
    pods.label_selector = process->pod_selector;
    if (kube_watch_start(controller->host, &pods, &controller->pod_watch, err) < 0)
        return error_wrap(err, "watch pods");
    return watch_items(controller, err);
}

static void on_leadership(void *data, bool is_leader)
{
    struct controller *controller = data;

    log_info(is_leader ? "leading" : "not leading");
    if (!is_leader)
        return;
    controller_touch_all(controller);
}

static void on_lease_problem(void *data, const struct error *err)
{
    (void)data;
    log_error("lease", log_text("error", err->text));
}

static int start_election(struct process *process, struct error *err)
{
    struct controller *controller = &process->controller;
    const struct deployer_config *config = controller->config;
    bool is_in_pod = strcmp(controller->pod_namespace, MY_POD_NAMESPACE_DEFAULT) != 0;
    char id[UUID_TEXT_SIZE] = {0};
    struct lease_options lease = {.name = config->lease_name,
                                  .namespace_name = config->lease_namespace,
                                  /* In the proportions of other controllers: 15, 10 and 2 s. */
                                  .duration_ms = (uint32_t)config->lease_ms,
                                  .renew_deadline_ms = (uint32_t)config->lease_ms * 2 / 3,
                                  .retry_ms = (uint32_t)config->lease_ms * 2 / 15,
                                  .on_change = on_leadership,
                                  .on_problem = on_lease_problem,
                                  .data = controller};

    if (!config->is_electing)
        return 0;
    if (!lease.namespace_name)
        lease.namespace_name = is_in_pod ? controller->pod_namespace : config->namespace_name;
    uuid_make(id);
    process->lease_identity = xasprintf("%s_%s", controller->pod_name, id);
    lease.identity = process->lease_identity;
    if (lease_start(controller->host, &lease, &controller->lease, err) < 0)
        return error_wrap(err, "lease '%s/%s'", lease.namespace_name, lease.name);
    return 0;
}

/* ---- Life ---- */

static const char *env_or(const char *name, const char *fallback)
{
    const char *value = getenv(name);

    return value && *value ? value : fallback;
}

/* As for fields of the configuration: who sets them should know. */
static void name_unused_variables(void)
{
    static const char *const names[] = {ENV_LS_HOST_CLIENT_QPS, ENV_LS_HOST_CLIENT_BURST,
                                        ENV_LS_RESOURCE_CLIENT_QPS, ENV_LS_RESOURCE_CLIENT_BURST};
    cleanup_free char *given = xstrdup("");

    for (size_t i = 0; i < array_length(names); i++) {
        char *longer = NULL;

        if (!*env_or(names[i], ""))
            continue;
        longer = xasprintf("%s%s%s", given, *given ? ", " : "", names[i]);
        free(given);
        given = longer;
    }
    if (*given)
        log_info("variables of the environment are not used", log_text("variables", given),
                 log_text("reason", "have no effect: requests are bounded by how many are under "
                                    "way, not by a rate"));
}

static void init_controller(struct process *process, const struct deployer_config *config)
{
    struct controller *controller = &process->controller;

    process->started_unix_ms = controller_now_unix_ms(controller);
    controller->config = config;
    controller->has_selector = !selector_is_empty(config->target_selector);
    controller->identity =
        *config->identity
            ? xstrdup(config->identity)
            : xasprintf(DEPLOYER_NAME "-%lld", (long long)(process->started_unix_ms / 1000));
    controller->pod_name = env_or(ENV_MY_POD_NAME, MY_POD_NAME_DEFAULT);
    controller->pod_namespace = env_or(ENV_MY_POD_NAMESPACE, MY_POD_NAMESPACE_DEFAULT);
    controller->index = index_new();
    controller->item_epoch = controller->pod_epoch = 1;
    controller->gc = gc_new(controller);
    loop_timer_init(&controller->pump_timer, controller->loop, controller_on_pump, controller);
    loop_timer_init(&process->drain_timer, controller->loop, on_drained, process);
    controller->docker_files = docker_files_new(config->oci_config_files);
    /* What can't be used of them is told now, and not only when an item comes. */
    json_decref(controller_docker_configs(controller));
}

static int enter_sandbox(struct error *err)
{
    /* Tokens, certificates and name resolution are read again and again; nothing is ever written.
     */
    const struct sandbox_path paths[] = {{.path = "/", .is_writable = false}};
    const struct sandbox_options options = {.paths = paths,
                                            .path_count = array_length(paths),
                                            .is_network_allowed = true,
                                            .is_listening = true};
    struct sandbox_result result = {0};

    if (sandbox_enter(&options, &result, err) < 0)
        return error_wrap(err, "sandbox");
    log_debug("in the sandbox", log_number("landlock", result.has_landlock));
    return 0;
}

static void free_task(void *data, struct record *record)
{
    (void)data;
    task_free(record->task);
}

static void process_done(struct process *process)
{
    struct controller *controller = &process->controller;

    kube_watch_stop(controller->item_watch);
    kube_watch_stop(controller->pod_watch);
    gc_free(controller->gc);
    if (controller->index)
        index_each(controller->index, free_task, NULL);
    lease_release(controller->lease, RELEASE_MS);
    index_free(controller->index);
    server_free(process->health);
    server_free(process->metrics);
    loop_timer_stop(&controller->pump_timer);
    loop_timer_stop(&process->drain_timer);
    if (controller->landscaper != controller->host)
        kube_free(controller->landscaper);
    kube_free(controller->host);
    http_client_free(controller->http);
    docker_files_free(controller->docker_files);
    free(controller->identity);
    free(process->pod_selector);
    free(process->lease_identity);
    loop_free(controller->loop);
}

static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};

void controller_block_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < array_length(signals); i++)
        (void)sigaddset(&set, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int start(struct process *process, const struct controller_options *options,
                 struct deployer_config *config, struct error *err)
{
    struct controller *controller = &process->controller;

    if (loop_new(clock_system(), &controller->loop, err) < 0)
        return -1;
    init_controller(process, config);
    name_unused_variables();
    if (loop_set_signals(controller->loop, signals, array_length(signals), on_signal, process,
                         err) < 0 ||
        http_client_new(controller->loop, USER_AGENT, &controller->http, err) < 0 ||
        connect_clusters(controller, options, config, err) < 0 ||
        start_serving(process, options, err) < 0 || enter_sandbox(err) < 0 ||
        start_election(process, err) < 0 || start_watches(process, err) < 0)
        return -1;
    log_info("started", log_text("version", LONGSHORE_VERSION),
             log_text("identity", controller->identity),
             log_text("landscaper", kube_server(controller->landscaper)),
             log_text("host", kube_server(controller->host)),
             log_text("hostNamespace", config->namespace_name));
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
