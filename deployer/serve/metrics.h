/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics for Prometheus: those of controller-runtime, which existing dashboards know, and our own
 * for runs. The number of series is bounded: no label has values that users choose, except for
 * target clusters, of which only CLUSTER_TRAFFIC_SERVERS_MAX have labels of their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/apply/cluster_traffic.h"
#include "common/base/buffer.h"
#include "common/kube/count.h"

enum {
    METRICS_BYTES_MAX = 256 * 1024,
    METRICS_SERVER_MAX = 128, /* of the label server; longer ones are cut off */
    METRICS_BUCKETS = 14,
    METRICS_ACTIONS_MAX = 32,
    METRICS_RULES_MAX = 64,
    METRICS_LATE_MAX = 16,
};

#define METRICS_LATE_JOB "JobTriggered" /* outcome: a job was triggered */

enum metrics_source { METRICS_ITEMS, METRICS_PODS, METRICS_SOURCE_COUNT };

enum metrics_run { METRICS_RUN_SUCCEEDED, METRICS_RUN_FAILED, METRICS_RUN_COUNT };

struct metrics_histogram {
    uint64_t buckets[METRICS_BUCKETS]; /* not cumulative; the last is +Inf */
    uint64_t count;
    double sum_seconds;
};

struct metrics {
    uint64_t actions[METRICS_ACTIONS_MAX], failures[METRICS_ACTIONS_MAX];
    uint64_t decisions[METRICS_RULES_MAX];
    uint64_t events[METRICS_SOURCE_COUNT];
    uint64_t runs[METRICS_RUN_COUNT][2]; /* by outcome; [0] RECONCILE, [1] DELETE */
    uint64_t queue_adds, collected, state_collected;
    uint64_t late[METRICS_LATE_MAX]; /* late changes, by outcome */
    struct metrics_histogram action_time, queue_time, run_time[2];
};

/* Values that are collected at each scrape. */
struct metrics_now {
    size_t items, jobs, queued, running, held;
    const struct kube_counts *landscaper_requests, *host_requests; /* NULL: no client of its own */
    const struct cluster_traffic *targets; /* the clusters that objects are applied to */
    size_t target_count;
    uint64_t watch_silent_ms[METRICS_SOURCE_COUNT];
    bool is_leader, is_synced;
    const char *lease_name;
    const char *(*action_name)(size_t action), *(*rule_name)(size_t rule); /* NULL: no such */
    int64_t started_unix_ms;
};

void metrics_count_action(struct metrics *metrics, size_t action, bool is_ok, uint64_t took_ms);
void metrics_count_decision(struct metrics *metrics, size_t rule);
void metrics_count_event(struct metrics *metrics, enum metrics_source source);
void metrics_count_queue(struct metrics *metrics, uint64_t waited_ms);
void metrics_count_run(struct metrics *metrics, enum metrics_run outcome, bool is_delete,
                       uint64_t took_ms);

/* outcome: the reason of a condition, or METRICS_LATE_JOB. */
void metrics_count_late(struct metrics *metrics, const char *outcome);

/* Appends all metrics in the text exposition format 0.0.4. */
int metrics_write(const struct metrics *metrics, const struct metrics_now *now,
                  struct buffer *ret_text, struct error *err) must_check;
