/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore status`: what the DeployItems of a cluster are doing. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/watch.h"
#include "deployer/commands/commands.h"
#include "deployer/status/cluster.h"
#include "deployer/status/show.h"
#include "deployer/status/view.h"

enum { LINES_MAX = 1000 };

struct status {
    struct cluster cluster;
    const struct status_values *values;
    bool is_json;
    int64_t lines; /* of the log */
};

static int64_t now(void)
{
    return clock_unix_ms(clock_system());
}

static void print_json(const json_t *doc)
{
    cleanup_free char *text = doc_dump(doc);

    (void)printf("%s\n", text);
}

/* ---- hints ---- */

static json_t *hint_json(const struct hint *hint)
{
    return json_pack("{s:s,s:s?,s:s?,s:s?,s:s,s:s}", "group", hint->group, "operation",
                     hint->operation, "reason", hint->reason, "text", hint->text, "cause",
                     hint->cause, "solution", hint->solution);
}

static void print_hints(bool is_json)
{
    cleanup_json json_t *list = json_array();

    for (size_t i = 0; hint_at(i); i++) {
        const struct hint *hint = hint_at(i);

        (void)json_array_append_new(list, hint_json(hint));
        if (is_json)
            continue;
        (void)printf("%s%s%s%s%s%s\n  cause     %s\n  solution  %s\n",
                     hint->operation ? hint->operation : "",
                     hint->operation && hint->reason ? " " : "", hint->reason ? hint->reason : "",
                     hint->text ? " \"" : "", hint->text ? hint->text : "", hint->text ? "\"" : "",
                     hint->cause, hint->solution);
    }
    if (is_json)
        print_json(list);
}

/* ---- list ---- */

/* The items that were printed, for comparison: "namespace/name" -> JSON without times that pass. */
struct listing {
    const struct status *status;
    struct show_columns columns;
    json_t *printed;
};

/* What has to change for an item to be printed again. New reference. */
static json_t *fingerprint(const struct view *view)
{
    return json_pack("{s:s,s:s,s:s,s:s}", "phase", view->phase, "job", view->job, "reason",
                     view->reason, "message", view->message);
}

static void print_listed(struct listing *listing, const struct view *view)
{
    cleanup_free char *key = xasprintf("%s/%s", view->namespace_name, view->name);
    cleanup_json json_t *print = fingerprint(view);

    if (json_equal(json_object_get(listing->printed, key), print))
        return;
    (void)json_object_set(listing->printed, key, print);
    if (listing->status->is_json) {
        cleanup_json json_t *doc = view_json(view, now());

        print_json(doc);
    } else {
        show_row(&listing->columns, view, now());
    }
    (void)fflush(stdout);
}

static void on_list_event(void *data, enum kube_event event, const json_t *object,
                          const struct error *err)
{
    struct listing *listing = data;
    cleanup_view struct view view = {0};

    if (event == KUBE_EVENT_BROKEN)
        (void)fprintf(stderr, "longshore status: %s; retrying\n", err->text);
    if (event != KUBE_EVENT_LISTED && event != KUBE_EVENT_ADDED && event != KUBE_EVENT_MODIFIED)
        return;
    view_init(&view, object, NULL, now());
    print_listed(listing, &view);
}

/* Prints each change until the process is interrupted or its output is closed. */
static int watch_list(struct status *status, struct listing *listing, struct error *err)
{
    const struct kube_watch_options options = {
        .resource = KUBE_DEPLOY_ITEMS,
        .namespace_name = status->values->namespace_name,
        .on_event = on_list_event,
        .data = listing,
    };
    struct kube_watch *watch = NULL;
    int result = kube_watch_start(status->cluster.landscaper, &options, &watch, err);

    while (result == 0 && !ferror(stdout))
        result = loop_run_once(status->cluster.loop, -1, err);
    kube_watch_stop(watch);
    return result;
}

static int show_list(struct status *status, struct error *err)
{
    cleanup_json json_t *items = NULL;
    cleanup_json json_t *printed = json_object();
    cleanup_json json_t *shown = json_array();
    struct listing listing = {.status = status, .printed = printed};

    if (cluster_list_items(&status->cluster, status->values->namespace_name, &items, err) < 0)
        return -1;
    show_columns_init(&listing.columns);
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < json_array_size(items); i++) {
            cleanup_view struct view view = {0};

            view_init(&view, json_array_get(items, i), NULL, now());
            if (pass == 0)
                show_columns_add(&listing.columns, &view);
            else if (status->is_json && !status->values->is_watch)
                (void)json_array_append_new(shown, view_json(&view, now()));
            else
                print_listed(&listing, &view);
        }
        if (pass == 0 && !status->is_json && json_array_size(items) > 0)
            show_header(&listing.columns);
    }
    if (status->values->is_watch)
        return watch_list(status, &listing, err);
    if (status->is_json) {
        cleanup_json json_t *doc = json_pack("{s:O}", "items", shown);

        print_json(doc);
    } else if (json_array_size(items) == 0) {
        (void)printf("no DeployItems found\n");
    }
    return 0;
}

/* ---- one item ---- */

/* The container whose log explains the state of the job. */
static const char *interesting_container(const struct view *view)
{
    static const int order[] = {STEP_INIT, STEP_MAIN, STEP_WAIT};

    for (size_t i = 0; i < array_length(order); i++) {
        if (view->steps[order[i]].state == STEP_FAILED)
            return view->steps[order[i]].name;
    }
    return view->steps[STEP_INIT].state == STEP_RUNNING ? CONTAINER_INIT : CONTAINER_MAIN;
}

/* The end of the log of the pod, or of the status if the pod is gone. Belongs to the caller; NULL:
 * there is none. */
static char *log_of(struct status *status, const struct view *view, const json_t *pod,
                    const char **ret_origin)
{
    struct error err = {0};
    char *text = NULL;

    *ret_origin = "";
    if (status->lines > 0 && view->pod &&
        cluster_read_log(&status->cluster, pod, interesting_container(view), status->lines, &text,
                         &err) == 0 &&
        *text)
        return text;
    free(text);
    *ret_origin = " (from the status of the item)";
    return status->lines > 0 && view->log_tail ? xstrdup(view->log_tail) : NULL;
}

static void print_item(struct status *status, const struct view *view, const json_t *pod)
{
    const char *origin = NULL;
    cleanup_free char *text = log_of(status, view, pod, &origin);
    cleanup_json json_t *doc = NULL;

    if (!status->is_json) {
        show_item(view, now());
        if (text)
            show_log(interesting_container(view), origin, text);
        return;
    }
    doc = view_json(view, now());
    if (text)
        (void)json_object_set_new(doc, "logTail", doc_new_text(text));
    print_json(doc);
}

/* An item that is watched until its job is finished. */
struct following {
    struct status *status;
    json_t *item, *pods;
    struct view view;
    bool is_gone;
};

static void follow(struct following *following)
{
    const json_t *pod = cluster_pick_pod(following->pods, following->item);
    struct view next = {0};

    view_init(&next, following->item, pod, now());
    if (following->status->is_json) {
        cleanup_json json_t *before = view_json(&following->view, 0);
        cleanup_json json_t *after = view_json(&next, 0);
        cleanup_json json_t *doc = view_json(&next, now());

        (void)json_object_del(before, "waitingFor"); /* has a time that passes */
        (void)json_object_del(after, "waitingFor");
        if (!json_equal(before, after))
            print_json(doc);
    } else {
        show_changes(&following->view, &next, now());
    }
    (void)fflush(stdout);
    view_done(&following->view);
    following->view = next;
}

static void on_item_event(void *data, enum kube_event event, const json_t *object,
                          const struct error *err)
{
    struct following *following = data;

    if (event == KUBE_EVENT_BROKEN)
        (void)fprintf(stderr, "longshore status: %s; retrying\n", err->text);
    if (event == KUBE_EVENT_DELETED)
        following->is_gone = true;
    if (event != KUBE_EVENT_LISTED && event != KUBE_EVENT_ADDED && event != KUBE_EVENT_MODIFIED)
        return;
    json_decref(following->item);
    following->item = json_incref(doc_writable(object));
    follow(following);
}

static size_t pod_index(const json_t *pods, const json_t *pod)
{
    const char *uid = doc_text_or(pod, "metadata.uid", "");
    size_t index = 0;

    while (index < json_array_size(pods) &&
           strcmp(doc_text_or(json_array_get(pods, index), "metadata.uid", ""), uid) != 0)
        index++;
    return index;
}

static void on_pod_event(void *data, enum kube_event event, const json_t *object,
                         const struct error *err)
{
    struct following *following = data;
    size_t index = object ? pod_index(following->pods, object) : 0;

    (void)err; /* pods are optional; the item alone says enough */
    if (event == KUBE_EVENT_LISTING)
        (void)json_array_clear(following->pods);
    if (!object)
        return;
    if (index < json_array_size(following->pods))
        (void)json_array_remove(following->pods, index);
    if (event != KUBE_EVENT_DELETED)
        (void)json_array_append(following->pods, doc_writable(object));
    follow(following);
}

static bool is_over(const struct following *following)
{
    return following->is_gone || !following->view.is_open || ferror(stdout);
}

static int watch_item(struct following *following, const char *namespace_name, const char *name,
                      struct error *err)
{
    struct cluster *cluster = &following->status->cluster;
    cleanup_free char *field = xasprintf("metadata.name=%s", name);
    cleanup_free char *selector = cluster_pod_selector(namespace_name, name);
    const struct kube_watch_options of_item = {.resource = KUBE_DEPLOY_ITEMS,
                                               .namespace_name = namespace_name,
                                               .field_selector = field,
                                               .on_event = on_item_event,
                                               .data = following};
    const struct kube_watch_options of_pods = {.resource = KUBE_PODS,
                                               .namespace_name = cluster->host_namespace,
                                               .label_selector = selector,
                                               .on_event = on_pod_event,
                                               .data = following};
    struct kube_watch *item_watch = NULL, *pod_watch = NULL;
    int result = 0;

    if (kube_watch_start(cluster->landscaper, &of_item, &item_watch, err) < 0 ||
        kube_watch_start(cluster->host, &of_pods, &pod_watch, err) < 0)
        result = -1;
    while (result == 0 && !is_over(following))
        result = loop_run_once(cluster->loop, -1, err);
    kube_watch_stop(item_watch);
    kube_watch_stop(pod_watch);
    return result;
}

/* After the last change: the result, with the error and the log that the controller has stored. */
static void print_end(const struct following *following)
{
    const struct view *view = &following->view;

    if (following->is_gone && !following->status->is_json)
        (void)printf("the item is deleted\n");
    else if (!following->status->is_json && view->is_failed && view->log_tail &&
             following->status->lines > 0)
        show_log(CONTAINER_MAIN, " (from the status of the item)", view->log_tail);
}

static int show_one(struct status *status, const char *operand, int *ret_code, struct error *err)
{
    cleanup_free char *namespace_name = NULL;
    cleanup_free char *name = NULL;
    cleanup_json json_t *pod = NULL;
    struct following following = {.status = status, .pods = json_array()};
    struct error pod_err = {0};
    int result = cluster_parse_item(operand, &namespace_name, &name, err);

    if (result == 0)
        result = cluster_read_item(&status->cluster, namespace_name, name, &following.item, err);
    if (result == 0) {
        /* Users of Landscaper's cluster may have no access to the pods. */
        if (cluster_find_pod(&status->cluster, following.item, &pod, &pod_err) < 0)
            (void)fprintf(stderr, "longshore status: pods not shown: %s\n", pod_err.text);
        if (pod)
            (void)json_array_append(following.pods, pod);
        view_init(&following.view, following.item, pod, now());
        print_item(status, &following.view, pod);
        (void)fflush(stdout);
    }
    if (result == 0 && status->values->is_watch && following.view.is_open) {
        result = watch_item(&following, namespace_name, name, err);
        print_end(&following);
    }
    if (status->values->is_watch && following.view.is_failed)
        *ret_code = EXIT_FAILURE;
    view_done(&following.view);
    json_decref(following.item);
    json_decref(following.pods);
    return result;
}

/* ---- command ---- */

static int run(struct status *status, int count, char **operands, int *ret_code, struct error *err)
{
    const struct status_values *values = status->values;
    const struct cluster_options options = {.kubeconfig = values->cluster.kubeconfig,
                                            .host_kubeconfig = values->cluster.host_kubeconfig,
                                            .host_namespace = values->cluster.host_namespace};
    uint64_t lines = 0;

    if (count > 1)
        return error_set(err, ERROR_INVALID,
                         "unexpected operand \"%s\"; expected one NAMESPACE/NAME", operands[1]);
    if (!number_parse(values->lines, LINES_MAX, &lines))
        return error_set(err, ERROR_INVALID, "option --lines: expected a number from 0 to %d",
                         LINES_MAX);
    status->lines = (int64_t)lines;
    status->is_json = strcmp(values->output, "json") == 0;
    if (values->is_hints) {
        print_hints(status->is_json);
        return 0;
    }
    if (cluster_open(&options, &status->cluster, err) < 0)
        return -1;
    return count == 0 ? show_list(status, err) : show_one(status, operands[0], ret_code, err);
}

int status_main(int argc, char **argv)
{
    struct status_values values = {0};
    struct status status = {.values = &values};
    struct error err = {0};
    int first = 0;
    int code = EXIT_SUCCESS;
    int result = options_parse(&COMMAND_STATUS, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help)
        options_print_help(&COMMAND_STATUS, stdout);
    else if (result == 0)
        result = run(&status, argc - first, argv + first, &code, &err);
    cluster_close(&status.cluster);
    if (result < 0) {
        (void)fprintf(stderr, "longshore status: %s\n", err.text);
        return err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
    }
    return fflush(stdout) == 0 ? code : EXIT_FAILURE;
}
