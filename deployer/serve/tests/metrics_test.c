/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "deployer/serve/metrics.h"

enum { START = 2, RULE = 1 };

static const char *name_of_action(size_t action)
{
    static const char *const names[] = {"none", "wait", "start"};

    return action < array_length(names) ? names[action] : NULL;
}

static const char *name_of_rule(size_t rule)
{
    return rule <= RULE ? (rule == RULE ? "back_off" : "first") : NULL;
}

static char *write_all(const struct metrics *metrics)
{
    struct kube_counts landscaper = {0};
    struct kube_counts host = {0};
    const struct cluster_traffic targets[] = {
        {.hash = "0123456789abcdef",
         .server = (char[]){"https://a\"\n\\x"},
         .connections = 2,
         .watches = 7,
         .requests.numbers[0] = {4, 1, 2}},
        {.server = (char[]){""}, .is_backing_off = true},
    };
    struct metrics_now now = {.items = 3,
                              .jobs = 2,
                              .queued = 1,
                              .held = 4,
                              .landscaper_requests = &landscaper,
                              .host_requests = &host,
                              .targets = targets,
                              .target_count = array_length(targets),
                              .watch_silent_ms = {[METRICS_PODS] = 1500},
                              .is_leader = true,
                              .is_synced = true,
                              .lease_name = "lease",
                              .action_name = name_of_action,
                              .rule_name = name_of_rule};
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

static void documented_metric_names_are_exported(void **state)
{
    struct metrics metrics = {0};
    cleanup_free char *text = NULL;

    (void)state;
    metrics_count_action(&metrics, START, true, 20);
    metrics_count_action(&metrics, START, false, 20);
    metrics_count_decision(&metrics, RULE);
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
    has(text, "longshore_decisions_total{rule=\"back_off\"} 1\n");
    has(text,
        "longshore_target_requests_total{target=\"0123456789abcdef\",server=\"https://a___x\","
        "result=\"success\"} 3\n");
    has(text, "server=\"https://a___x\",result=\"no_response\"} 4\n");
    has(text,
        "longshore_target_connections{target=\"0123456789abcdef\",server=\"https://a___x\"} 2\n");
    has(text, "longshore_target_watches{target=\"0123456789abcdef\",server=\"https://a___x\"} 7\n");
    has(text, "longshore_target_backing_off{target=\"other\",server=\"\"} 1\n");
    has(text, "longshore_items 3\n");
    has(text, "process_resident_memory_bytes ");
}

/* However many target clusters there are, and whatever they respond. */
static void the_metrics_of_target_clusters_are_bounded(void **state)
{
    static struct cluster_traffic targets[CLUSTER_TRAFFIC_MAX];
    struct metrics metrics = {0};
    struct metrics_now now = {.targets = targets,
                              .target_count = CLUSTER_TRAFFIC_MAX,
                              .lease_name = "",
                              .action_name = name_of_action,
                              .rule_name = name_of_rule};
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};
    char server[3000];

    (void)state;
    memset(server, 'x', sizeof(server));
    server[sizeof(server) - 1] = '\0';
    for (size_t i = 0; i < CLUSTER_TRAFFIC_MAX; i++) {
        memset(targets[i].hash, 'a', NAME_HASH_SIZE - 1);
        targets[i].server = server;
        memset(&targets[i].requests, 0x7f, sizeof(targets[i].requests));
        targets[i].connections = targets[i].watches = SIZE_MAX;
    }
    buffer_init(&text, METRICS_BYTES_MAX);
    assert_int_equal(metrics_write(&metrics, &now, &text, &err), 0);
}

enum { FAMILIES_MAX = 64 };

/* The metric families seen so far. All lines of a family are contiguous. */
struct families {
    char *names[FAMILIES_MAX];
    size_t count;
    bool is_histogram;
};

/* "# HELP name text" or "# TYPE name type": HELP starts a new family, TYPE is the next line. */
static void check_comment(struct families *families, const char *line, bool *is_type_due)
{
    cleanup_free char *name = xstrndup(line + 7, strcspn(line + 7, " "));

    if (strncmp(line, "# HELP ", 7) == 0) {
        assert_false(*is_type_due);
        for (size_t i = 0; i < families->count; i++)
            assert_string_not_equal(families->names[i], name);
        assert_true(families->count < FAMILIES_MAX);
        families->names[families->count++] = steal(&name);
        *is_type_due = true;
        return;
    }
    assert_memory_equal(line, "# TYPE ", 7);
    assert_true(*is_type_due);
    assert_string_equal(name, families->names[families->count - 1]);
    families->is_histogram = strstr(line, " histogram") != NULL;
    *is_type_due = false;
}

/* name{labels} value, of the current family. */
static void check_sample(const struct families *families, const char *line)
{
    const char *family = NULL, *suffix = NULL, *space = strrchr(line, ' ');

    assert_true(families->count > 0);
    family = families->names[families->count - 1];
    assert_int_equal(strncmp(line, family, strlen(family)), 0);
    suffix = line + strlen(family);
    if (families->is_histogram)
        assert_true(strncmp(suffix, "_bucket{", 8) == 0 || strncmp(suffix, "_sum{", 5) == 0 ||
                    strncmp(suffix, "_count{", 7) == 0);
    else
        assert_true(*suffix == '{' || *suffix == ' ');
    assert_non_null(space);
    assert_true(isdigit((unsigned char)space[1]));
    assert_null(strstr(line, ",}"));
}

static void every_family_has_help_and_type_once_and_before_its_samples(void **state)
{
    struct metrics metrics = {0};
    struct families families = {0};
    cleanup_free char *text = NULL;
    bool is_type_due = false;
    char *rest = NULL;

    (void)state;
    metrics_count_action(&metrics, START, true, 1);
    text = write_all(&metrics);
    rest = text;
    while (*rest) {
        char *end = strchr(rest, '\n');

        assert_non_null(end);
        *end = '\0';
        if (*rest == '#') {
            check_comment(&families, rest, &is_type_due);
        } else {
            assert_false(is_type_due);
            check_sample(&families, rest);
        }
        rest = end + 1;
    }
    assert_true(families.count > 20);
    for (size_t i = 0; i < families.count; i++)
        free(families.names[i]);
}

/* The page has one row for each metric, with its name in the first column. */
static void the_reference_names_every_metric_and_no_other(void **state)
{
    struct metrics metrics = {0};
    cleanup_free char *text = NULL;
    cleanup_buffer struct buffer page = {0};
    cleanup_close int fd = open("../../../docs/reference.md", O_RDONLY | O_CLOEXEC);
    struct error err = {0};
    const char *table = NULL;
    size_t count = 0;

    (void)state;
    metrics_count_action(&metrics, START, true, 1);
    text = write_all(&metrics);
    buffer_init(&page, 1 << 20);
    assert_int_equal(file_read_all(fd, "reference.md", &page, &err), 0);
    table = strstr(page.data, "\n## Metrics\n");
    assert_non_null(table);
    for (const char *line = strstr(text, "# TYPE "); line; line = strstr(line + 1, "# TYPE ")) {
        cleanup_free char *name = xasprintf("`%.*s`", (int)strcspn(line + 7, " "), line + 7);

        has(table, name);
    }
    for (const char *row = strstr(table, "\n| `"); row; row = strstr(row + 1, "\n| `")) {
        const char *end = row + 4 + strcspn(row + 4, "|");

        for (const char *at = strchr(row, '`'); at && at < end; at = strchr(at + 1, '`')) {
            size_t length = strcspn(at + 1, "`");
            cleanup_free char *line = xasprintf("# TYPE %.*s ", (int)length, at + 1);

            has(text, line);
            count++;
            at += 1 + length;
        }
    }
    assert_true(count > 20);
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
        cmocka_unit_test(documented_metric_names_are_exported),
        cmocka_unit_test(the_metrics_of_target_clusters_are_bounded),
        cmocka_unit_test(the_reference_names_every_metric_and_no_other),
        cmocka_unit_test(every_family_has_help_and_type_once_and_before_its_samples),
        cmocka_unit_test(a_histogram_counts_everything_below_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
