/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/memory_trim.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/exit_codes.h"
#include "deployer/lifecycle/check.h"
#include "deployer/lifecycle/lifecycle.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"
#include "deployer/page/watched.h"
#include "deployer/serve/command.h"
#include "deployer/serve/daemon.h"
#include "deployer/serve/leader.h"
#include "deployer/serve/plain.h"

enum { DEFINITIONS_RETRY_MS = 5000, TRIM_MS = 2000, DOCUMENTS_MS = 20 * 1000 };

struct process {
    struct lifecycle lifecycle;
    struct server *health, *metrics;
};

/* ---- State ---- */

bool lifecycle_is_synced(const struct lifecycle *lifecycle)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (!lifecycle->sources[i].is_synced)
            return false;
    }
    return true;
}

bool lifecycle_may_write(const struct lifecycle *lifecycle)
{
    return leader_is_elected(lifecycle->lease) && lifecycle_is_synced(lifecycle) &&
           !lifecycle->is_draining;
}

/* A cluster after the other, and other events in between. */
static void on_pump(void *data)
{
    struct lifecycle *lifecycle = data;
    uint64_t begin_ms = loop_now_ms(lifecycle->loop);

    if (!lifecycle_may_write(lifecycle))
        return;
    if (lifecycle_may_send(lifecycle))
        releases_finalize(lifecycle);
    for (size_t i = 0; i < LIFECYCLE_PASSES_MAX && lifecycle->queue_first; i++) {
        struct kyma *kyma = lifecycle->queue_first;

        lifecycle->queue_first = kyma->queue_next;
        if (!lifecycle->queue_first)
            lifecycle->queue_end = &lifecycle->queue_first;
        kyma->is_queued = false;
        lifecycle->passes++;
        lifecycle->queue_wait_ms += loop_now_ms(lifecycle->loop) - kyma->queued_ms;
        kyma_pass(kyma);
    }
    kymas_offer_slots(lifecycle);
    lifecycle->pass_ms += loop_now_ms(lifecycle->loop) - begin_ms;
    if (lifecycle->queue_first)
        loop_timer_start(&lifecycle->pump, 0);
    if (!loop_timer_is_running(&lifecycle->trim_timer))
        loop_timer_start(&lifecycle->trim_timer, TRIM_MS);
    if (!loop_timer_is_running(&lifecycle->documents_timer))
        loop_timer_start(&lifecycle->documents_timer, DOCUMENTS_MS);
}

/* Requests and plans of thousands of clusters come and go. What they leave free is scattered over
 * the heap and would stay resident: after a rollout to 10,000 clusters, tens of megabytes. */
static void on_trim(void *data)
{
    (void)data;
    memory_trim();
}

static void on_documents(void *data)
{
    struct lifecycle *lifecycle = data;

    documents_release_all(&lifecycle->documents);
    memory_trim();
}

static void touch_if_connected(struct kyma *kyma)
{
    if (kyma->phase == KYMA_STEADY)
        kyma_touch(kyma);
}

/* A component's content has become known, or is known to be wrong. Clusters that are not connected
 * yet need it later: after a restart that is most of them. */
static void on_content(void *data, const char *component)
{
    (void)component;
    kymas_foreach(data, touch_if_connected);
}

/* ---- Definitions for managed clusters ---- */

static const char *const definition_names[] = {
    "moduletemplates." KYMA_GROUP, "modulereleasemetas." KYMA_GROUP, "kymas." KYMA_GROUP};

static void read_definition(struct lifecycle *lifecycle);

static json_t *definition_for_clusters(const json_t *definition)
{
    json_t *spec = json_deep_copy(doc_get(definition, "spec"));

    json_object_set_new(spec, "conversion", json_pack("{s:s}", "strategy", "None"));
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:o}", "apiVersion", "apiextensions.k8s.io/v1",
                     "kind", "CustomResourceDefinition", "metadata", "name",
                     doc_text_or(definition, "metadata.name", ""), "labels", KYMA_LABEL_MANAGED_BY,
                     KYMA_MANAGED_BY_CLUSTER, "spec", spec);
}

static void on_definition(void *data, json_t *object, const struct error *err)
{
    struct lifecycle *lifecycle = data;
    cleanup_free char *text = NULL;

    lifecycle->definitions_call = NULL;
    if (err->kind != ERROR_NONE) {
        log_error("reading the definitions of Kyma's kinds failed, retrying",
                  log_text("error", err->text));
        loop_timer_start(&lifecycle->definitions_timer, DEFINITIONS_RETRY_MS);
        return;
    }
    json_array_append_new(lifecycle->reading, definition_for_clusters(object));
    if (json_array_size(lifecycle->reading) < array_length(definition_names)) {
        read_definition(lifecycle);
        return;
    }
    text = doc_dump_sorted(lifecycle->reading);
    lifecycle->definitions = steal(&lifecycle->reading);
    lifecycle->definitions_hash = hash_bytes(HASH_FIRST, text, strlen(text)) | 1;
    kymas_touch_all(lifecycle);
}

static void read_definition(struct lifecycle *lifecycle)
{
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
        .name = definition_names[json_array_size(lifecycle->reading)],
        .on_done = on_definition,
        .data = lifecycle,
    };
    struct error err = {0};

    if (kube_start(lifecycle->kube, &request, &lifecycle->definitions_call, &err) < 0)
        on_definition(lifecycle, NULL, &err);
}

static void on_definitions_timer(void *data)
{
    struct lifecycle *lifecycle = data;

    json_decref(lifecycle->reading);
    lifecycle->reading = json_array();
    read_definition(lifecycle);
}

/* ---- Probes and metrics ---- */

static int on_request(void *data, const char *path, struct buffer *ret_body,
                      const char **ret_content_type)
{
    struct process *process = data;

    if (strcmp(path, "/metrics") == 0) {
        *ret_content_type = "text/plain; version=0.0.4; charset=utf-8";
        return lifecycle_write_metrics(&process->lifecycle, ret_body) < 0 ? 503 : 200;
    }
    return serve_probe(path,
                       lifecycle_is_synced(&process->lifecycle) && !process->lifecycle.is_draining,
                       ret_body);
}

static bool is_leader(const void *data)
{
    const struct lifecycle *lifecycle = data;

    return leader_is_elected(lifecycle->lease);
}

static void start_page(struct process *process, const char *mode)
{
    struct lifecycle *lifecycle = &process->lifecycle;
    struct watched_options options = CLUSTERS_PAGE;

    options.loop = lifecycle->loop;
    options.kube = lifecycle->kube;
    options.namespace_name = lifecycle->options.namespace_name;
    options.is_leader = is_leader;
    options.command = lifecycle;
    lifecycle->page = watched_page_open(&options, mode, process->metrics);
}

/* ---- Life ---- */

static void on_signal(void *data, int signal_number)
{
    struct process *process = data;

    if (daemon_changes_level(signal_number) || process->lifecycle.is_draining)
        return;
    log_info("shutting down", log_number("signal", signal_number));
    process->lifecycle.is_draining = true;
    loop_stop(process->lifecycle.loop);
}

static int start(struct process *process, const struct lifecycle_values *values, struct error *err)
{
    struct lifecycle *lifecycle = &process->lifecycle;

    lifecycle->queue_end = &lifecycle->queue_first;
    lifecycle->templates = json_object();
    lifecycle->releases = json_object();
    lifecycle->finalizing = json_object();
    lifecycle->secret_owners = json_object();
    lifecycle->mandatory_counts = json_object();
    if (lifecycle_read_options(lifecycle, values, err) < 0 ||
        loop_new(clock_system(), &lifecycle->loop, err) < 0 ||
        loop_set_signals(lifecycle->loop, DAEMON_SIGNALS, DAEMON_SIGNAL_COUNT, on_signal, process,
                         err) < 0 ||
        lifecycle_open_clients(lifecycle, values->kubeconfig, on_content, lifecycle, err) < 0)
        return -1;
    loop_timer_init(&lifecycle->pump, lifecycle->loop, on_pump, lifecycle);
    loop_timer_init(&lifecycle->trim_timer, lifecycle->loop, on_trim, lifecycle);
    loop_timer_init(&lifecycle->documents_timer, lifecycle->loop, on_documents, lifecycle);
    slots_init(&lifecycle->apply_slots, APPLY_SLOTS_MAX, APPLY_SLOT_MS);
    slots_init(&lifecycle->connect_slots, CONNECT_SLOTS_MAX, CONNECT_SLOT_MS);
    slots_init(&lifecycle->report_slots, REPORT_SLOTS_MAX, 0); /* every write ends in time */
    loop_timer_init(&lifecycle->slot_timer, lifecycle->loop, kymas_on_slot_timer, lifecycle);
    loop_timer_init(&lifecycle->connect_slot_timer, lifecycle->loop, kymas_on_connect_slot_timer,
                    lifecycle);
    loop_timer_init(&lifecycle->definitions_timer, lifecycle->loop, on_definitions_timer,
                    lifecycle);
    loop_timer_start(&lifecycle->definitions_timer, 0);
    if (serve_listen(lifecycle->loop, values->health_address, on_request, process, &process->health,
                     err) < 0 ||
        serve_listen(lifecycle->loop, values->metrics_address, on_request, process,
                     &process->metrics, err) < 0 ||
        daemon_enter_sandbox(err) < 0 || sharing_start(lifecycle, err) < 0 ||
        control_plane_start(lifecycle, err) < 0)
        return -1;
    start_page(process, values->page);
    log_info("started", log_text("server", kube_server(lifecycle->kube)),
             log_text("namespace", lifecycle->options.namespace_name));
    return 0;
}

static void process_done(struct process *process)
{
    struct lifecycle *lifecycle = &process->lifecycle;
    json_t *const maps[] = {
        lifecycle->templates,     lifecycle->releases,         lifecycle->finalizing,
        lifecycle->secret_owners, lifecycle->mandatory_counts, lifecycle->definitions,
        lifecycle->reading,       lifecycle->catalogs[0],      lifecycle->catalogs[1],
        lifecycle->catalogs[2],   lifecycle->catalogs[3]};

    lifecycle->is_draining = true;
    server_free(process->health);
    server_free(process->metrics);
    watched_page_free(steal(&lifecycle->page));
    sharing_hand_over(lifecycle);
    kymas_free_all(lifecycle);
    control_plane_stop(lifecycle);
    kube_cancel(lifecycle->definitions_call);
    sharing_stop(lifecycle);
    loop_timer_stop(&lifecycle->pump);
    loop_timer_stop(&lifecycle->trim_timer);
    loop_timer_stop(&lifecycle->documents_timer);
    loop_timer_stop(&lifecycle->slot_timer);
    loop_timer_stop(&lifecycle->connect_slot_timer);
    loop_timer_stop(&lifecycle->definitions_timer);
    lifecycle_close_clients(lifecycle);
    for (size_t i = 0; i < array_length(maps); i++)
        json_decref(maps[i]);
}

static int run(const struct lifecycle_values *values, struct error *err)
{
    struct process process = {0};
    int result = 0;

    if (start(&process, values, err) < 0 || loop_run(process.lifecycle.loop, err) < 0)
        result = -1;
    else
        log_info("ended");
    process_done(&process);
    return result;
}

/* Prints what is missing. Returns the exit code, or -1. */
static int run_check(const struct lifecycle_values *values, struct error *err)
{
    cleanup_loop struct loop *loop = NULL;
    cleanup_http_client struct http_client *http = NULL;
    cleanup_kube struct kube *kube = NULL;
    bool is_complete = false;

    if (loop_new(clock_system(), &loop, err) < 0 ||
        http_client_new(loop, LIFECYCLE_USER_AGENT, &http, err) < 0 ||
        kube_new_default(loop, http, values->kubeconfig, &kube, err) < 0 ||
        lifecycle_check(kube, values->namespace_name, watched_page_is_authenticated(values->page),
                        stdout, &is_complete, err) < 0)
        return -1;
    return is_complete ? EXIT_SUCCESS : EXIT_FAILURE;
}

int lifecycle_main(int argc, char **argv)
{
    struct lifecycle_values values = {0};
    const struct daemon_command command = {
        .options = &COMMAND_LIFECYCLE,
        .values = &values,
        .log = &values.log,
        .is_help = &values.is_help,
        .log_name = "longshore",
        .on_failure = "unable to manage modules",
    };
    struct error err = {0};
    int result = 0;

    memory_trim_set_up();
    result = daemon_begin(&command, argc, argv);
    if (result != DAEMON_GO_ON)
        return result;
    result = values.is_check ? run_check(&values, &err) : run(&values, &err);
    return result < 0 ? daemon_fail(&command, &err) : result;
}
