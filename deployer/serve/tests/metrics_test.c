/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "deployer/controller/metrics.h"

static char *write_all(const struct metrics *metrics)
{
    struct kube_counts landscaper = {0};
    struct kube_counts host = {0};
    struct metrics_now now = {.items = 3,
                              .jobs = 2,
                              .queued = 1,
                              .held = 4,
                              .landscaper_requests = &landscaper,
                              .host_requests = &host,
                              .watch_silent_ms = {[METRICS_PODS] = 1500},
                              .is_leader = true,
                              .is_synced = true,
                              .lease_name = "lease"};
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    kube_counts_add(&landscaper, "PATCH", 409);
    kube_counts_add(&host, "GET", 0);
    buffer_init(&text, METRICS_BYTES_MAX);
    assert_int_equal(metrics_write(metrics, &now, &text, &err), 0);
    return buffer_take(&text);
}

static void has(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("no '%s' in\n%s", line, text);
}

static void the_names_that_dashboards_know_are_there(void **state)
{
    struct metrics metrics = {0};
    cleanup_free char *text = NULL;

    (void)state;
    metrics_count_action(&metrics, ACTION_START, true, 20);
    metrics_count_action(&metrics, ACTION_START, false, 20);
    metrics_count_event(&metrics, METRICS_PODS);
    metrics_count_queue(&metrics, 3);
    metrics_count_run(&metrics, METRICS_RUN_FAILED, true, 5000);
    text = write_all(&metrics);
    has(text,
        "controller_runtime_reconcile_total{controller=\"deployitem\",result=\"success\"} 1\n");
    has(text, "controller_runtime_reconcile_errors_total{controller=\"deployitem\"} 1\n");
    has(text, "controller_runtime_reconcile_time_seconds_count{controller=\"deployitem\"} 2\n");
    has(text, "workqueue_depth{name=\"deployitem\"} 1\n");
    has(text, "workqueue_queue_duration_seconds_bucket{name=\"deployitem\",le=\"0.005\"} 1\n");
    has(text, "longshore_items_held 4\n");
    has(text,
        "rest_client_requests_total{cluster=\"landscaper\",code=\"409\",method=\"PATCH\"} 1\n");
    has(text, "rest_client_requests_total{cluster=\"host\",code=\"<error>\",method=\"GET\"} 1\n");
    has(text, "longshore_watch_silent_seconds{resource=\"deployitems\"} 0\n");
    has(text, "longshore_watch_silent_seconds{resource=\"pods\"} 1.5\n");
    has(text, "leader_election_master_status{name=\"lease\"} 1\n");
    has(text, "longshore_runs_total{operation=\"DELETE\",outcome=\"failed\"} 1\n");
    has(text, "longshore_run_duration_seconds_bucket{operation=\"DELETE\",le=\"2.5\"} 0\n");
    has(text, "longshore_run_duration_seconds_bucket{operation=\"DELETE\",le=\"10\"} 1\n");
    has(text, "longshore_actions_total{action=\"start\",result=\"error\"} 1\n");
    has(text, "longshore_items 3\n");
    has(text, "process_resident_memory_bytes ");
}

/* name{labels} value, HELP and TYPE once and before the first line of a name. */
static void every_line_is_well_formed(void **state)
{
    struct metrics metrics = {0};
    cleanup_free char *text = NULL;
    char *rest = NULL;

    (void)state;
    metrics_count_action(&metrics, ACTION_FAIL, true, 1);
    text = write_all(&metrics);
    rest = text;
    while (*rest) {
        char *end = strchr(rest, '\n');
        const char *space = NULL;

        assert_non_null(end);
        *end = '\0';
        if (*rest == '#') {
            assert_true(strncmp(rest, "# HELP ", 7) == 0 || strncmp(rest, "# TYPE ", 7) == 0);
        } else {
            assert_true(islower((unsigned char)*rest));
            space = strrchr(rest, ' ');
            assert_non_null(space);
            assert_true(isdigit((unsigned char)space[1]));
            assert_null(strstr(rest, ",}"));
        }
        rest = end + 1;
    }
}

static void a_histogram_counts_everything_below_its_bounds(void **state)
{
    struct metrics metrics = {0};
    cleanup_free char *text = NULL;

    (void)state;
    metrics_count_run(&metrics, METRICS_RUN_SUCCEEDED, false, 1);
    metrics_count_run(&metrics, METRICS_RUN_SUCCEEDED, false, 30000);
    metrics_count_run(&metrics, METRICS_RUN_SUCCEEDED, false, 100000000);
    text = write_all(&metrics);
    has(text, "longshore_run_duration_seconds_bucket{operation=\"RECONCILE\",le=\"0.005\"} 1\n");
    has(text, "longshore_run_duration_seconds_bucket{operation=\"RECONCILE\",le=\"60\"} 2\n");
    has(text, "longshore_run_duration_seconds_bucket{operation=\"RECONCILE\",le=\"3600\"} 2\n");
    has(text, "longshore_run_duration_seconds_bucket{operation=\"RECONCILE\",le=\"+Inf\"} 3\n");
    has(text, "longshore_run_duration_seconds_count{operation=\"RECONCILE\"} 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_that_dashboards_know_are_there),
        cmocka_unit_test(every_line_is_well_formed),
        cmocka_unit_test(a_histogram_counts_everything_below_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
