/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore logs`: the log of an item's run. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/log_stream.h"
#include "common/kube/watch.h"
#include "deployer/commands/commands.h"
#include "deployer/status/cluster.h"
#include "deployer/status/view.h"

/* How long --follow waits at most before it looks again for a pod or container that has not
 * started.
 */
enum { LOOK_AGAIN_MS = 1000 };

struct logs {
    struct cluster cluster;
    const struct logs_values *values;
    int64_t lines; /* negative: all */
};

static int write_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)data;
    if (fwrite(bytes, 1, size, stdout) != size || fflush(stdout) != 0)
        return error_set(err, ERROR_CANCELLED, "standard output is closed");
    return 0;
}

static void on_timer(void *data)
{
    *(bool *)data = true;
}

static void on_pod_event(void *data, enum kube_event event, const json_t *object,
                         const struct error *err)
{
    (void)object;
    (void)err;
    /* What is listed was there before. */
    if (event == KUBE_EVENT_ADDED || event == KUBE_EVENT_MODIFIED)
        *(bool *)data = true;
}

/* Until something changes about the pods of the item; for a second at most, since the pod may have
 * changed before the watch began. */
static int wait_for_change(struct logs *logs, const char *namespace_name, const char *name,
                           struct error *err)
{
    cleanup_free char *selector = cluster_pod_selector(namespace_name, name);
    struct loop_timer timer = {0};
    struct kube_watch *watch = NULL;
    bool is_over = false;
    const struct kube_watch_options options = {.resource = KUBE_PODS,
                                               .namespace_name = logs->cluster.host_namespace,
                                               .label_selector = selector,
                                               .on_event = on_pod_event,
                                               .data = &is_over};
    int result = kube_watch_start(logs->cluster.host, &options, &watch, err);

    loop_timer_init(&timer, logs->cluster.loop, on_timer, &is_over);
    loop_timer_start(&timer, LOOK_AGAIN_MS);
    while (result == 0 && !is_over)
        result = loop_run_once(logs->cluster.loop, -1, err);
    loop_timer_stop(&timer);
    kube_watch_stop(watch);
    return result;
}

/* What the status has of main's log. The pod is removed when its run is finished. */
static int print_stored(const struct logs *logs, const struct view *view, struct error *err)
{
    if (strcmp(logs->values->container, CONTAINER_MAIN) != 0 || !view->log_tail)
        return error_set(err, ERROR_NOT_FOUND,
                         "no pod found for the item \"%s/%s\" (it is removed when a run is "
                         "finished; debug.keepPod in the deployer's configuration keeps it)",
                         view->namespace_name, view->name);
    (void)fprintf(stderr, "longshore logs: the pod is gone; these lines are from the status of the "
                          "item\n");
    (void)printf("%s%s", view->log_tail,
                 view->log_tail[strlen(view->log_tail) - 1] == '\n' ? "" : "\n");
    return 0;
}

/* Before a container has started, the API server may answer 400, 404, 500, or 200 with an empty log
 * that has ended. */
static bool has_not_started(const struct view *view, const char *container)
{
    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (strcmp(view->steps[i].name, container) == 0)
            return view->steps[i].state == STEP_PENDING;
    }
    return false;
}

/* One attempt. *ret_is_early: the pod or container has not started, and the job is not over. */
static int print_log(struct logs *logs, const char *namespace_name, const char *name,
                     bool *ret_is_early, struct error *err)
{
    cleanup_json json_t *item = NULL;
    cleanup_json json_t *pod = NULL;
    cleanup_view struct view view = {0};
    struct kube_log_options options = {.container = logs->values->container,
                                       .tail_lines = logs->lines,
                                       .is_follow = logs->values->is_follow,
                                       .on_bytes = write_bytes};

    if (cluster_read_item(&logs->cluster, namespace_name, name, &item, err) < 0 ||
        cluster_find_pod(&logs->cluster, item, &pod, err) < 0)
        return -1;
    view_init(&view, item, pod, clock_unix_ms(clock_system()));
    *ret_is_early = view.waiting_for;
    if (!pod || (logs->values->is_follow && view.waiting_for &&
                 (!view.pod || has_not_started(&view, options.container))))
        return view.waiting_for ? error_set(err, ERROR_NOT_FOUND, "the item \"%s/%s\" waits for %s",
                                            namespace_name, name, view.waiting_for)
                                : print_stored(logs, &view, err);
    options.namespace_name = doc_text_or(pod, "metadata.namespace", "");
    options.pod = doc_text_or(pod, "metadata.name", "");
    if (kube_log_perform(logs->cluster.host, &options, err) == 0)
        return 0;
    /* 400: the container has restarted, or the status was ahead of the log. */
    *ret_is_early = view.waiting_for && err->kind == ERROR_INVALID;
    return -1;
}

static int run(struct logs *logs, const char *operand, struct error *err)
{
    const struct logs_values *values = logs->values;
    const struct cluster_options options = {.kubeconfig = values->cluster.kubeconfig,
                                            .host_kubeconfig = values->cluster.host_kubeconfig,
                                            .host_namespace = values->cluster.host_namespace};
    cleanup_free char *namespace_name = NULL;
    cleanup_free char *name = NULL;
    uint64_t lines = 0;
    bool is_early = false;

    logs->lines = -1;
    if (values->lines && !number_parse(values->lines, INT32_MAX, &lines))
        return error_set(err, ERROR_INVALID, "option --lines: expected a number");
    if (values->lines)
        logs->lines = (int64_t)lines;
    if (cluster_parse_item(operand, &namespace_name, &name, err) < 0 ||
        cluster_open(&options, &logs->cluster, err) < 0)
        return -1;
    for (;;) {
        if (print_log(logs, namespace_name, name, &is_early, err) == 0)
            return 0;
        if (!values->is_follow || !is_early)
            return -1;
        if (wait_for_change(logs, namespace_name, name, err) < 0)
            return -1;
    }
}

int logs_main(int argc, char **argv)
{
    struct logs_values values = {0};
    struct logs logs = {.values = &values};
    struct error err = {0};
    int first = 0;
    int result = options_parse(&COMMAND_LOGS, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help)
        options_print_help(&COMMAND_LOGS, stdout);
    else if (result == 0 && argc - first != 1)
        result = error_set(&err, ERROR_INVALID,
                           "expected one NAMESPACE/NAME; see 'longshore logs --help'");
    else if (result == 0)
        result = run(&logs, argv[first], &err);
    cluster_close(&logs.cluster);
    if (result < 0) {
        (void)fprintf(stderr, "longshore logs: %s\n", err.text);
        return err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
