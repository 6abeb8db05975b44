/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/number.h"

enum { TARGET_LABELS_SIZE = METRICS_SERVER_MAX + NAME_HASH_SIZE + 32 };

static const double BOUNDS[METRICS_BUCKETS - 1] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                   1,     2.5,  10,    60,   600, 3600};

static void observe(struct metrics_histogram *histogram, uint64_t ms)
{
    double seconds = (double)ms / 1000;
    size_t bucket = 0;

    while (bucket < array_length(BOUNDS) && seconds > BOUNDS[bucket])
        bucket++;
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->sum_seconds += seconds;
}

void metrics_count_action(struct metrics *metrics, size_t action, bool is_ok, uint64_t took_ms)
{
    metrics->actions[action]++;
    if (!is_ok)
        metrics->failures[action]++;
    observe(&metrics->action_time, took_ms);
}

void metrics_count_decision(struct metrics *metrics, size_t rule)
{
    metrics->decisions[rule]++;
}

void metrics_count_event(struct metrics *metrics, enum metrics_source source)
{
    metrics->events[source]++;
}

void metrics_count_queue(struct metrics *metrics, uint64_t waited_ms)
{
    metrics->queue_adds++;
    observe(&metrics->queue_time, waited_ms);
}

void metrics_count_run(struct metrics *metrics, enum metrics_run outcome, bool is_delete,
                       uint64_t took_ms)
{
    metrics->runs[outcome][is_delete]++;
    observe(&metrics->run_time[is_delete], took_ms);
}

/* Values of a label: they stay as they are. */
static const char *const LATE_OUTCOMES[METRICS_LATE_MAX] = {
    METRICS_LATE_JOB, "NotObserved",      "UpToDate",           "Changed",
    "Triggered",      "TriggerDisabled",  "BudgetExhausted",    "Flapping",
    "NoInstallation", "InstallationBusy", "InstallationFailed", "Forbidden",
};

void metrics_count_late(struct metrics *metrics, const char *outcome)
{
    for (size_t i = 0; i < METRICS_LATE_MAX && LATE_OUTCOMES[i]; i++) {
        if (strcmp(LATE_OUTCOMES[i], outcome) == 0)
            metrics->late[i]++;
    }
}

/* ---- Text ---- */

static int head(struct buffer *text, const char *name, const char *type, const char *help,
                struct error *err)
{
    return buffer_append_text(text, err, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int number(struct buffer *text, const char *name, const char *type, const char *help,
                  double value, struct error *err)
{
    if (head(text, name, type, help, err) < 0)
        return -1;
    return buffer_append_text(text, err, "%s %.17g\n", name, value);
}

static int histogram_lines(struct buffer *text, const char *name, const char *labels,
                           const struct metrics_histogram *histogram, struct error *err)
{
    uint64_t below = 0;

    for (size_t i = 0; i < array_length(BOUNDS); i++) {
        below += histogram->buckets[i];
        if (buffer_append_text(text, err, "%s_bucket{%s,le=\"%g\"} %llu\n", name, labels, BOUNDS[i],
                               (unsigned long long)below) < 0)
            return -1;
    }
    if (buffer_append_text(text, err, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels,
                           (unsigned long long)histogram->count) < 0)
        return -1;
    if (buffer_append_text(text, err, "%s_sum{%s} %.17g\n", name, labels, histogram->sum_seconds) <
        0)
        return -1;
    return buffer_append_text(text, err, "%s_count{%s} %llu\n", name, labels,
                              (unsigned long long)histogram->count);
}

static int write_actions(const struct metrics *metrics, const struct metrics_now *now,
                         struct buffer *text, struct error *err)
{
    uint64_t all = 0, failed = 0;

    for (size_t i = 0; i < array_length(metrics->actions); i++) {
        all += metrics->actions[i];
        failed += metrics->failures[i];
    }
    if (head(text, "controller_runtime_reconcile_total", "counter", "Actions on items, by result.",
             err) < 0 ||
        buffer_append_text(
            text, err,
            "controller_runtime_reconcile_total{controller=\"deployitem\",result=\"success\"} "
            "%llu\n"
            "controller_runtime_reconcile_total{controller=\"deployitem\",result=\"error\"} %llu\n",
            (unsigned long long)(all - failed), (unsigned long long)failed) < 0)
        return -1;
    if (head(text, "controller_runtime_reconcile_errors_total", "counter",
             "Actions on items that failed.", err) < 0 ||
        buffer_append_text(
            text, err,
            "controller_runtime_reconcile_errors_total{controller=\"deployitem\"} %llu\n",
            (unsigned long long)failed) < 0)
        return -1;
    if (head(text, "controller_runtime_reconcile_time_seconds", "histogram",
             "Duration of an action on an item.", err) < 0 ||
        histogram_lines(text, "controller_runtime_reconcile_time_seconds",
                        "controller=\"deployitem\"", &metrics->action_time, err) < 0)
        return -1;
    if (head(text, "longshore_actions_total", "counter", "Actions on items, by kind and result.",
             err) < 0)
        return -1;
    for (size_t i = 0; i < array_length(metrics->actions); i++) {
        const char *name = now->action_name(i);

        if (!metrics->actions[i])
            continue;
        if (buffer_append_text(text, err,
                               "longshore_actions_total{action=\"%s\",result=\"success\"} %llu\n"
                               "longshore_actions_total{action=\"%s\",result=\"error\"} %llu\n",
                               name,
                               (unsigned long long)(metrics->actions[i] - metrics->failures[i]),
                               name, (unsigned long long)metrics->failures[i]) < 0)
            return -1;
    }
    return 0;
}

static int write_decisions(const struct metrics *metrics, const struct metrics_now *now,
                           struct buffer *text, struct error *err)
{
    if (head(text, "longshore_decisions_total", "counter",
             "Decisions on items, by the rule applied.", err) < 0)
        return -1;
    for (size_t i = 0; now->rule_name(i); i++) {
        if (metrics->decisions[i] &&
            buffer_append_text(text, err, "longshore_decisions_total{rule=\"%s\"} %llu\n",
                               now->rule_name(i), (unsigned long long)metrics->decisions[i]) < 0)
            return -1;
    }
    return 0;
}

static int write_runs(const struct metrics *metrics, struct buffer *text, struct error *err)
{
    static const char *const outcomes[] = {"succeeded", "failed"};
    static const char *const operations[] = {"RECONCILE", "DELETE"};

    if (head(text, "longshore_runs_total", "counter", "Jobs that ended, by operation and outcome.",
             err) < 0)
        return -1;
    for (size_t outcome = 0; outcome < METRICS_RUN_COUNT; outcome++) {
        for (size_t operation = 0; operation < array_length(operations); operation++) {
            if (buffer_append_text(text, err,
                                   "longshore_runs_total{operation=\"%s\",outcome=\"%s\"} %llu\n",
                                   operations[operation], outcomes[outcome],
                                   (unsigned long long)metrics->runs[outcome][operation]) < 0)
                return -1;
        }
    }
    if (head(text, "longshore_run_duration_seconds", "histogram",
             "Duration of a job from its start to its end.", err) < 0)
        return -1;
    return histogram_lines(text, "longshore_run_duration_seconds", "operation=\"RECONCILE\"",
                           &metrics->run_time[0], err) < 0 ||
                   histogram_lines(text, "longshore_run_duration_seconds", "operation=\"DELETE\"",
                                   &metrics->run_time[1], err) < 0
               ? -1
               : 0;
}

static int write_late(const struct metrics *metrics, struct buffer *text, struct error *err)
{
    if (head(text, "longshore_late_changes_total", "counter",
             "Reports about items that are watched after their jobs, by outcome.", err) < 0)
        return -1;
    for (size_t i = 0; i < METRICS_LATE_MAX && LATE_OUTCOMES[i]; i++) {
        if (buffer_append_text(text, err, "longshore_late_changes_total{outcome=\"%s\"} %llu\n",
                               LATE_OUTCOMES[i], (unsigned long long)metrics->late[i]) < 0)
            return -1;
    }
    return 0;
}

static int write_queue(const struct metrics *metrics, const struct metrics_now *now,
                       struct buffer *text, struct error *err)
{
    if (head(text, "workqueue_depth", "gauge", "Items in the queue.", err) < 0 ||
        buffer_append_text(text, err, "workqueue_depth{name=\"deployitem\"} %zu\n", now->queued) <
            0 ||
        head(text, "workqueue_adds_total", "counter", "Items that were queued.", err) < 0 ||
        buffer_append_text(text, err, "workqueue_adds_total{name=\"deployitem\"} %llu\n",
                           (unsigned long long)metrics->queue_adds) < 0 ||
        head(text, "workqueue_queue_duration_seconds", "histogram",
             "How long items waited in the queue.", err) < 0 ||
        histogram_lines(text, "workqueue_queue_duration_seconds", "name=\"deployitem\"",
                        &metrics->queue_time, err) < 0)
        return -1;
    return number(text, "longshore_items_in_flight", "gauge", "Items with a request in progress.",
                  (double)now->running, err);
}

static int write_requests(const struct kube_counts *counts, const char *cluster,
                          struct buffer *text, struct error *err)
{
    for (size_t method = 0; counts && method < KUBE_COUNT_METHODS; method++) {
        for (size_t code = 0; code < KUBE_COUNT_CODES; code++) {
            if (counts->numbers[method][code] &&
                buffer_append_text(
                    text, err,
                    "rest_client_requests_total{cluster=\"%s\",code=\"%s\",method=\"%s\"} %llu\n",
                    cluster, kube_count_code(code), kube_count_method(method),
                    (unsigned long long)counts->numbers[method][code]) < 0)
                return -1;
        }
    }
    return 0;
}

static int write_clients(const struct metrics_now *now, struct buffer *text, struct error *err)
{
    if (head(text, "rest_client_requests_total", "counter",
             "Completed requests to API servers, including watches.", err) < 0 ||
        write_requests(now->landscaper_requests, "landscaper", text, err) < 0 ||
        write_requests(now->host_requests, "host", text, err) < 0 ||
        head(text, "leader_election_master_status", "gauge", "1 while this process is the leader.",
             err) < 0)
        return -1;
    return buffer_append_text(text, err, "leader_election_master_status{name=\"%s\"} %d\n",
                              now->lease_name, now->is_leader ? 1 : 0);
}

/* ---- Target clusters ---- */

enum result { SUCCESS, THROTTLED, REJECTED, SERVER_ERROR, NO_RESPONSE, OTHER, RESULT_COUNT };

static enum result result_of(const char *code)
{
    if (strcmp(code, "429") == 0)
        return THROTTLED;
    switch (code[0]) {
    case '2':
        return SUCCESS;
    case '4':
        return REJECTED;
    case '5':
        return SERVER_ERROR;
    case '<':
        return NO_RESPONSE;
    default:
        return OTHER;
    }
}

/* target="...",server="...": the server is a text that users choose. */
static void target_labels(const struct cluster_traffic *target, char ret_labels[TARGET_LABELS_SIZE])
{
    char server[METRICS_SERVER_MAX + 1] = "";
    size_t size = 0;

    for (const char *c = target->server; *c && size < METRICS_SERVER_MAX; c++)
        server[size++] = (char)(*c > ' ' && *c < 0x7f && *c != '"' && *c != '\\' ? *c : '_');
    (void)snprintf(ret_labels, TARGET_LABELS_SIZE, "target=\"%s\",server=\"%s\"",
                   target->hash[0] ? target->hash : "other", server);
}

static int write_target_requests(const struct cluster_traffic *target, struct buffer *text,
                                 struct error *err)
{
    static const char *const names[RESULT_COUNT] = {
        [SUCCESS] = "success",           [THROTTLED] = "throttled",     [REJECTED] = "rejected",
        [SERVER_ERROR] = "server_error", [NO_RESPONSE] = "no_response", [OTHER] = "other"};
    uint64_t results[RESULT_COUNT] = {0};
    char labels[TARGET_LABELS_SIZE];

    for (size_t method = 0; method < KUBE_COUNT_METHODS; method++) {
        for (size_t code = 0; code < KUBE_COUNT_CODES; code++)
            results[result_of(kube_count_code(code))] += target->requests.numbers[method][code];
    }
    target_labels(target, labels);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        if (results[i] && buffer_append_text(
                              text, err, "longshore_target_requests_total{%s,result=\"%s\"} %llu\n",
                              labels, names[i], (unsigned long long)results[i]) < 0)
            return -1;
    }
    return 0;
}

static size_t connections_of(const struct cluster_traffic *target)
{
    return target->connections;
}

static size_t watches_of(const struct cluster_traffic *target)
{
    return target->watches;
}

static size_t back_off_of(const struct cluster_traffic *target)
{
    return target->is_backing_off ? 1 : 0;
}

static int write_targets(const struct metrics_now *now, struct buffer *text, struct error *err)
{
    static const struct {
        const char *name, *help;
        size_t (*value)(const struct cluster_traffic *target);
    } gauges[] = {
        {"longshore_target_connections", "Connections that are kept to a target cluster.",
         connections_of},
        {"longshore_target_watches", "Watches in a target cluster.", watches_of},
        {"longshore_target_backing_off",
         "1 while a target cluster does not respond: requests wait for the next attempt.",
         back_off_of},
    };

    if (head(text, "longshore_target_requests_total", "counter",
             "Completed requests to target clusters, including watches, by result.", err) < 0)
        return -1;
    for (size_t i = 0; i < now->target_count; i++) {
        if (write_target_requests(&now->targets[i], text, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < array_length(gauges); i++) {
        if (head(text, gauges[i].name, "gauge", gauges[i].help, err) < 0)
            return -1;
        for (size_t j = 0; j < now->target_count; j++) {
            char labels[TARGET_LABELS_SIZE];

            target_labels(&now->targets[j], labels);
            if (buffer_append_text(text, err, "%s{%s} %zu\n", gauges[i].name, labels,
                                   gauges[i].value(&now->targets[j])) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- Watches and the process ---- */

static int write_watches(const struct metrics *metrics, const struct metrics_now *now,
                         struct buffer *text, struct error *err)
{
    static const char *const resources[METRICS_SOURCE_COUNT] = {"deployitems", "pods"};

    if (head(text, "longshore_watch_events_total", "counter", "Events received by the watches.",
             err) < 0)
        return -1;
    for (size_t i = 0; i < METRICS_SOURCE_COUNT; i++) {
        if (buffer_append_text(text, err, "longshore_watch_events_total{resource=\"%s\"} %llu\n",
                               resources[i], (unsigned long long)metrics->events[i]) < 0)
            return -1;
    }
    if (head(text, "longshore_watch_silent_seconds", "gauge",
             "Time since a watch received anything, bookmarks included.", err) < 0)
        return -1;
    for (size_t i = 0; i < METRICS_SOURCE_COUNT; i++) {
        if (buffer_append_text(text, err, "longshore_watch_silent_seconds{resource=\"%s\"} %.17g\n",
                               resources[i], (double)now->watch_silent_ms[i] / 1000) < 0)
            return -1;
    }
    return 0;
}

static double resident_bytes(void)
{
    cleanup_file FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = {0};
    uint64_t pages = 0;
    size_t first = 0; /* length of the first column, the total size */

    if (!file || !fgets(line, sizeof(line), file))
        return 0;
    first = number_scan(line, UINT64_MAX, &pages);
    if (line[first] != ' ' || !number_scan(line + first + 1, UINT64_MAX, &pages))
        return 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static int write_process(const struct metrics_now *now, struct buffer *text, struct error *err)
{
    struct rusage usage = {0};
    double seconds = 0;

    (void)getrusage(RUSAGE_SELF, &usage);
    seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    if (number(text, "process_cpu_seconds_total", "counter", "User and system time.", seconds,
               err) < 0 ||
        number(text, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes(),
               err) < 0 ||
        number(text, "process_start_time_seconds", "gauge",
               "Start time of the process since the Unix epoch.",
               (double)now->started_unix_ms / 1000, err) < 0 ||
        head(text, "longshore_build_info", "gauge", "Version of the program.", err) < 0)
        return -1;
    return buffer_append_text(text, err, "longshore_build_info{version=\"%s\"} 1\n",
                              LONGSHORE_VERSION);
}

int metrics_write(const struct metrics *metrics, const struct metrics_now *now,
                  struct buffer *ret_text, struct error *err)
{
    if (write_actions(metrics, now, ret_text, err) < 0 ||
        write_decisions(metrics, now, ret_text, err) < 0 ||
        write_runs(metrics, ret_text, err) < 0 || write_late(metrics, ret_text, err) < 0 ||
        write_queue(metrics, now, ret_text, err) < 0 || write_clients(now, ret_text, err) < 0 ||
        write_targets(now, ret_text, err) < 0 || write_watches(metrics, now, ret_text, err) < 0 ||
        write_process(now, ret_text, err) < 0)
        return -1;
    if (number(ret_text, "longshore_items", "gauge", "Items of our types.", (double)now->items,
               err) < 0 ||
        number(ret_text, "longshore_jobs", "gauge", "Items with an open task.", (double)now->jobs,
               err) < 0 ||
        number(ret_text, "longshore_items_held", "gauge",
               "Items whose Target can't be read, so that the responsible deployer is unknown.",
               (double)now->held, err) < 0 ||
        number(ret_text, "longshore_synced", "gauge", "1 once items and pods are listed.",
               now->is_synced ? 1 : 0, err) < 0 ||
        number(ret_text, "longshore_collected_objects_total", "counter",
               "Objects that the garbage collector removed.", (double)metrics->collected, err) < 0)
        return -1;
    return number(ret_text, "longshore_collected_state_total", "counter",
                  "Old chunks of state that were removed.", (double)metrics->state_collected, err);
}
