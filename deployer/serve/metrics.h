/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for Prometheus: the names that dashboards for controller-runtime know, and our own for
 * runs. No label has values that users choose. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/kube/count.h"
#include "deployer/controller/decide.h"

enum { METRICS_BYTES_MAX = 256 * 1024, METRICS_BUCKETS = 14 };

enum metrics_source { METRICS_ITEMS, METRICS_PODS, METRICS_SOURCE_COUNT };

enum metrics_run { METRICS_RUN_SUCCEEDED, METRICS_RUN_FAILED, METRICS_RUN_COUNT };

struct metrics_histogram {
    uint64_t buckets[METRICS_BUCKETS]; /* not cumulative; the last is +Inf */
    uint64_t count;
    double sum_seconds;
};

struct metrics {
    uint64_t actions[ACTION_CLEAN_ITEM + 1], failures[ACTION_CLEAN_ITEM + 1];
    uint64_t events[METRICS_SOURCE_COUNT];
    uint64_t runs[METRICS_RUN_COUNT][2]; /* by outcome; RECONCILE, DELETE */
    uint64_t queue_adds, collected, state_collected;
    struct metrics_histogram action_time, queue_time, run_time[2];
};

/* What is true right now, asked for at each scrape. */
struct metrics_now {
    size_t items, jobs, queued, running, held;
    const struct kube_counts *landscaper_requests, *host_requests; /* NULL: it has no own client */
    uint64_t watch_silent_ms[METRICS_SOURCE_COUNT];
    bool is_leader, is_synced;
    const char *lease_name;
    int64_t started_unix_ms;
};

void metrics_count_action(struct metrics *metrics, enum action action, bool is_ok,
                          uint64_t took_ms);
void metrics_count_event(struct metrics *metrics, enum metrics_source source);
void metrics_count_queue(struct metrics *metrics, uint64_t waited_ms);
void metrics_count_run(struct metrics *metrics, enum metrics_run outcome, bool is_delete,
                       uint64_t took_ms);

/* The text exposition format 0.0.4. */
int metrics_write(const struct metrics *metrics, const struct metrics_now *now,
                  struct buffer *ret_text, struct error *err) must_check;
