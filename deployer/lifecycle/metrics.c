/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics with the names and labels of the original, so that its dashboards work, and a few more:
 * failures by class, and the age of the oldest cluster that is not as it should be.
 *
 * The original writes a series for each cluster, module and state. With many clusters a scrape
 * would take megabytes. Beyond METRICS_CLUSTERS_MAX clusters, the value of a series is a number of
 * clusters, or of those that have a module, so that sums stay correct. Errors still have the name
 * of their cluster, because dashboards list them, but no more than METRICS_ERRORS_MAX of them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

enum {
    SLOW_MS = 60 * 1000,
    METRICS_CLUSTERS_MAX = 200,
    METRICS_ERRORS_MAX = 200,
    STATES = MODULE_ERROR + 1
};

struct writer {
    struct buffer *body;
    struct error err;
    bool has_failed;
};

/* Of clusters that are not Ready: the longest time and the sum of all times. */
struct ages {
    double oldest_seconds, unready_seconds;
};

struct sums {
    size_t kymas[STATES];
    json_t *modules, *mandatory; /* by name of the module: a list of numbers by state */
    size_t errors;               /* clusters and modules in MODULE_ERROR so far */
};

printf_like(2, 3) static void put(struct writer *writer, const char *format, ...)
{
    cleanup_free char *line = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&line, format, args) < 0)
        out_of_memory();
    va_end(args);
    writer->has_failed |= buffer_append(writer->body, line, strlen(line), &writer->err) < 0;
}

static void head(struct writer *writer, const char *name, const char *type, const char *help)
{
    put(writer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* ---- States ---- */

static void put_kyma(struct writer *writer, const struct kyma *kyma, int64_t state)
{
    put(writer,
        "lifecycle_mgr_kyma_state{kyma_name=\"%s\",state=\"%s\",shoot=\"%s\",instance_id=\"%s\"} "
        "%d\n",
        kyma->name, module_state_name((enum module_state)state), kyma->shoot, kyma->instance,
        kyma->reported_state == state);
}

static void put_module(struct writer *writer, const struct module *module, size_t state)
{
    const struct kyma *kyma = module->kyma;
    const char *name = module_state_name((enum module_state)state);
    int value = module->reported_state == state;

    if (module->is_mandatory)
        put(writer,
            "lifecycle_mgr_mandatory_module_state{module_name=\"%s\",kyma_name=\"%s\",state=\"%s\"}"
            " "
            "%d\n",
            module->module_name, kyma->name, name, value);
    else
        put(writer,
            "lifecycle_mgr_module_state{module_name=\"%s\",kyma_name=\"%s\",state=\"%s\","
            "shoot=\"%s\",instance_id=\"%s\"} %d\n",
            module->module_name, kyma->name, name, kyma->shoot, kyma->instance, value);
}

static void put_cluster(struct writer *writer, const struct kyma *kyma)
{
    for (int64_t state = 0; state < STATES; state++)
        put_kyma(writer, kyma, state);
    for (const struct module *module = kyma->modules; module; module = module->next) {
        if (!module->module_name)
            continue;
        for (size_t state = 0; state < STATES; state++)
            put_module(writer, module, state);
        /* As in the original: only what took long. */
        if (module->took_ms >= SLOW_MS)
            put(writer, "reconcile_duration_seconds{manifest_name=\"%s\"} %.1f\n", module->name,
                (double)module->took_ms / 1000);
    }
}

static void count_module(json_t *by_name, const struct module *module)
{
    json_t *numbers = json_object_get(by_name, module->module_name), *number;

    if (!numbers) {
        numbers = json_array();
        for (size_t state = 0; state < STATES; state++)
            json_array_append_new(numbers, json_integer(0));
        json_object_set_new(by_name, module->module_name, numbers);
    }
    number = json_array_get(numbers, module->reported_state);
    json_integer_set(number, json_integer_value(number) + 1);
}

/* Whether an error is written with the name of its cluster. */
static bool is_named(struct sums *sums, int64_t state)
{
    return state == MODULE_ERROR && sums->errors++ < METRICS_ERRORS_MAX;
}

static void count_cluster(struct writer *writer, struct sums *sums, const struct kyma *kyma)
{
    if (is_named(sums, kyma->reported_state))
        put_kyma(writer, kyma, MODULE_ERROR);
    else
        sums->kymas[kyma->reported_state]++;
    for (const struct module *module = kyma->modules; module; module = module->next) {
        if (module->module_name && is_named(sums, module->reported_state))
            put_module(writer, module, MODULE_ERROR);
        else if (module->module_name)
            count_module(module->is_mandatory ? sums->mandatory : sums->modules, module);
    }
}

static void put_sums_of(struct writer *writer, const char *metric, const json_t *by_name)
{
    const char *module;
    json_t *numbers;

    doc_foreach(by_name, module, numbers)
    {
        for (size_t state = 0; state < STATES; state++)
            put(writer, "%s{module_name=\"%s\",state=\"%s\"} %" JSON_INTEGER_FORMAT "\n", metric,
                module, module_state_name((enum module_state)state),
                json_integer_value(json_array_get(numbers, state)));
    }
}

static void put_sums(struct writer *writer, const struct sums *sums)
{
    for (size_t state = 0; state < STATES; state++)
        put(writer, "lifecycle_mgr_kyma_state{state=\"%s\"} %zu\n",
            module_state_name((enum module_state)state), sums->kymas[state]);
    put_sums_of(writer, "lifecycle_mgr_module_state", sums->modules);
    put_sums_of(writer, "lifecycle_mgr_mandatory_module_state", sums->mandatory);
}

static void count_age(struct ages *ages, const struct kyma *kyma)
{
    double age =
        (double)((int64_t)loop_now_ms(kyma->lifecycle->loop) - kyma->unready_since_ms) / 1000;

    if (kyma->unready_since_ms) {
        ages->unready_seconds += age;
        ages->oldest_seconds = age > ages->oldest_seconds ? age : ages->oldest_seconds;
    }
}

static void put_states(struct writer *writer, const struct lifecycle *lifecycle, struct ages *ages)
{
    cleanup_json json_t *modules = json_object(), *mandatory = json_object();
    struct sums sums = {.modules = modules, .mandatory = mandatory};
    bool is_small = lifecycle->kyma_count <= METRICS_CLUSTERS_MAX;

    for (size_t i = 0; i < lifecycle->table_size; i++) {
        for (const struct kyma *kyma = lifecycle->table[i]; kyma; kyma = kyma->hash_next) {
            if (kyma->reported_state < 0)
                continue;
            count_age(ages, kyma);
            if (is_small)
                put_cluster(writer, kyma);
            else
                count_cluster(writer, &sums, kyma);
        }
    }
    if (!is_small)
        put_sums(writer, &sums);
}

/* ---- Work ---- */

static size_t count_mandatory_releases(const struct lifecycle *lifecycle)
{
    size_t count = 0;
    const char *name;
    json_t *release;

    doc_foreach(lifecycle->releases, name, release) count +=
        doc_get(release, "spec.mandatory") != NULL;
    return count;
}

/* What the original counts by the reason of a new attempt. Reasons that no step of ours has are not
 * written. */
static void put_reasons(struct writer *writer, const struct lifecycle *lifecycle)
{
    static const char *const reasons[FAILURE_COUNT] = {
        [FAILURE_NETWORK] = "sync_context_retrieval", [FAILURE_UNAUTHORIZED] = "kyma_unauthorized",
        [FAILURE_OBJECT] = "manifest_sync_resources", [FAILURE_BUSY] = "manifest_client_init",
        [FAILURE_CONTENT] = "manifest_parse_spec",
    };
    static const char *const steps[MODULE_ACTION_COUNT] = {
        [MODULE_ADD_FINALIZERS] = "manifest_add_finalizer",
        [MODULE_APPLY] = "manifest_sync_resources_enqueue_required",
        [MODULE_APPLY_DIRTY] = "manifest_sync_state",
        [MODULE_MARK] = "manifest_update_synced_oci_ref",
        [MODULE_CREATE_RESOURCE] = "manifest_initialize",
        [MODULE_REPORT] = "manifest_reconcile_finished",
        [MODULE_FAIL] = "manifest_render_resources",
        [MODULE_HAND_OVER] = "manifest_labels_removal",
        [MODULE_DELETE_MANIFEST] = "manifest_unmanaged_update",
        [MODULE_DELETE_RESOURCE] = "manifest_pre_delete_enqueue_required",
        [MODULE_DROP_RESOURCE_FINALIZER] = "manifest_pre_delete",
        [MODULE_REMOVE_OBJECTS] = "manifest_prune_diff_not_finished",
        [MODULE_DROP_FINALIZERS] = "manifest_prune_diff",
    };

    head(writer, "lifecycle_mgr_requeue_reason_total", "counter",
         "steps of the work on Kymas and Manifests, and attempts that have to be repeated");
    for (size_t i = FAILURE_NONE + 1; i < FAILURE_COUNT; i++)
        put(writer,
            "lifecycle_mgr_requeue_reason_total{requeue_reason=\"%s\",requeue_type=\"unexpected\"} "
            "%llu\n",
            reasons[i], (unsigned long long)lifecycle->failures[i]);
    for (size_t i = 0; i < MODULE_ACTION_COUNT; i++) {
        if (steps[i])
            put(writer,
                "lifecycle_mgr_requeue_reason_total{requeue_reason=\"%s\",requeue_type="
                "\"intended\"}"
                " %llu\n",
                steps[i], (unsigned long long)lifecycle->actions[i]);
    }
    put(writer,
        "lifecycle_mgr_requeue_reason_total{requeue_reason=\"processing_kyma_state\","
        "requeue_type=\"intended\"} %llu\n",
        (unsigned long long)lifecycle->passes);
    head(writer, "longshore_lifecycle_failures_total", "counter", "failures by class");
    for (size_t i = FAILURE_NONE + 1; i < FAILURE_COUNT; i++)
        put(writer, "longshore_lifecycle_failures_total{class=\"%s\"} %llu\n",
            failure_name((enum failure_class)i), (unsigned long long)lifecycle->failures[i]);
    head(writer, "longshore_lifecycle_events_total", "counter", "Events by result");
    put(writer,
        "longshore_lifecycle_events_total{result=\"sent\"} %llu\n"
        "longshore_lifecycle_events_total{result=\"dropped\"} %llu\n",
        (unsigned long long)lifecycle->events_sent, (unsigned long long)lifecycle->events_dropped);
}

/* One queue has the clusters; the steps of their Manifests are part of the same passes. */
struct work {
    const char *name;
    unsigned long long done, errors;
};

static void put_work_of(struct writer *writer, const struct lifecycle *lifecycle, struct work work,
                        size_t depth, const struct ages *ages)
{
    const char *name = work.name;
    double seconds = (double)lifecycle->pass_ms / 1000;

    put(writer,
        "workqueue_depth{name=\"%s\"} %zu\nworkqueue_adds_total{name=\"%s\"} %llu\n"
        "workqueue_queue_duration_seconds_sum{name=\"%s\"} %.3f\n"
        "workqueue_queue_duration_seconds_count{name=\"%s\"} %llu\n"
        "workqueue_work_duration_seconds_sum{name=\"%s\"} %.3f\n"
        "workqueue_work_duration_seconds_count{name=\"%s\"} %llu\n"
        "workqueue_longest_running_processor_seconds{name=\"%s\"} %.1f\n"
        "workqueue_unfinished_work_seconds{name=\"%s\"} %.1f\n",
        name, depth, name, (unsigned long long)lifecycle->queue_adds, name,
        (double)lifecycle->queue_wait_ms / 1000, name, work.done, name, seconds, name, work.done,
        name, ages->oldest_seconds, name, ages->unready_seconds);
    put(writer,
        "controller_runtime_active_workers{controller=\"%s\"} %d\n"
        "controller_runtime_max_concurrent_reconciles{controller=\"%s\"} %d\n"
        "controller_runtime_reconcile_errors_total{controller=\"%s\"} %llu\n"
        "controller_runtime_reconcile_time_seconds_sum{controller=\"%s\"} %.3f\n"
        "controller_runtime_reconcile_time_seconds_count{controller=\"%s\"} %llu\n"
        "controller_runtime_reconcile_total{controller=\"%s\",result=\"error\"} %llu\n"
        "controller_runtime_reconcile_total{controller=\"%s\",result=\"success\"} %llu\n",
        name, depth > 0, name, LIFECYCLE_PASSES_MAX, name, work.errors, name, seconds, name,
        work.done, name, work.errors, name, work.done);
}

static void put_work(struct writer *writer, const struct lifecycle *lifecycle,
                     const struct ages *ages)
{
    unsigned long long errors = 0, steps = 0;
    size_t depth = 0;

    for (const struct kyma *kyma = lifecycle->queue_first; kyma; kyma = kyma->queue_next)
        depth++;
    for (size_t i = FAILURE_NONE + 1; i < FAILURE_COUNT; i++)
        errors += (unsigned long long)lifecycle->failures[i];
    for (size_t i = 0; i < MODULE_ACTION_COUNT; i++)
        steps += (unsigned long long)lifecycle->actions[i];
    put_work_of(writer, lifecycle,
                (struct work){"kyma", (unsigned long long)lifecycle->passes,
                              errors - (unsigned long long)lifecycle->module_failures},
                depth, ages);
    put_work_of(writer, lifecycle,
                (struct work){"manifest", steps, (unsigned long long)lifecycle->module_failures},
                depth, ages);
}

static void put_requests(struct writer *writer, const struct lifecycle *lifecycle)
{
    const struct kube_counts *counts = kube_request_counts(lifecycle->kube);

    head(writer, "rest_client_requests_total", "counter", "requests to the control plane");
    for (size_t method = 0; method < KUBE_COUNT_METHODS; method++) {
        for (size_t code = 0; code < KUBE_COUNT_CODES; code++) {
            if (counts->numbers[method][code])
                put(writer, "rest_client_requests_total{code=\"%s\",method=\"%s\"} %llu\n",
                    kube_count_code(code), kube_count_method(method),
                    (unsigned long long)counts->numbers[method][code]);
        }
    }
}

static void put_process(struct writer *writer)
{
    cleanup_file FILE *statm = fopen("/proc/self/statm", "re");
    struct rusage usage = {0};
    long size = 0, resident = 0;

    if (statm && fscanf(statm, "%ld %ld", &size, &resident) == 2)
        put(writer,
            "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %ld\n",
            resident * sysconf(_SC_PAGESIZE));
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        put(writer, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.2f\n",
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

int lifecycle_write_metrics(struct lifecycle *lifecycle, struct buffer *ret_body)
{
    struct writer writer = {.body = ret_body};
    struct ages ages = {0};

    head(&writer, "lifecycle_mgr_kyma_state", "gauge", "1 for the state of a Kyma");
    put_states(&writer, lifecycle, &ages);
    head(&writer, "lifecycle_mgr_mandatory_modules", "gauge", "mandatory ModuleReleaseMetas");
    put(&writer, "lifecycle_mgr_mandatory_modules %zu\n", count_mandatory_releases(lifecycle));
    put(&writer,
        "lifecycle_mgr_maintenance_window_config_read_success %d\nlifecycle_mgr_fips_mode 0\n",
        lifecycle->policy != NULL);
    put_reasons(&writer, lifecycle);
    put_work(&writer, lifecycle, &ages);
    put_requests(&writer, lifecycle);
    put_process(&writer);
    put(&writer,
        "# HELP longshore_lifecycle_oldest_unready_seconds time since which a Kyma is not Ready\n"
        "longshore_lifecycle_oldest_unready_seconds %.1f\n"
        "longshore_lifecycle_clusters %zu\nlongshore_lifecycle_connecting %zu\n"
        "longshore_lifecycle_writes_total{to=\"clusters\"} %llu\n"
        "longshore_lifecycle_writes_total{to=\"control_plane\"} %llu\n"
        "longshore_lifecycle_leader %d\n"
        "longshore_lifecycle_shares %zu\nlongshore_lifecycle_shares_held %zu\n",
        ages.oldest_seconds, lifecycle->kyma_count, lifecycle->connect_slots.count,
        (unsigned long long)lifecycle->cluster_writes,
        (unsigned long long)lifecycle->control_plane_writes,
        lifecycle->lease && lease_is_held(lifecycle->lease), sharing_bucket_count(lifecycle),
        sharing_held_count(lifecycle));
    return writer.has_failed ? -1 : 0;
}
