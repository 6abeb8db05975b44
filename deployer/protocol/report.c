/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/report.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/data/uuid.h"
#include "deployer/controller/events.h"
#include "deployer/controller/least.h"
#include "deployer/controller/objects.h"
#include "deployer/controller/observe.h"

#define OPERATION_DEPLOY_POD "DeployPod"

static void set_time(json_t *status, const char *path, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX] = {0};

    timestamp_format(unix_ms, text);
    doc_set_text(status, path, text);
}

/* ---- Pieces ---- */

static json_t *copy_status(const struct task *task)
{
    json_t *status = json_deep_copy(task->item->status);

    (void)json_object_del(status, "deployItemPhase");
    return status;
}

static void begin(const struct task *task, json_t *status)
{
    const struct item *item = task->item;
    int64_t now = controller_now_unix_ms(task->controller);
    /* With a clock behind Landscaper's, the job would look as if nobody had picked it up. */
    int64_t reconciled = now > item->job_generated_unix_ms ? now : item->job_generated_unix_ms;

    doc_set_text(status, "phase", item->is_deleting ? PHASE_INIT_DELETE : PHASE_INIT);
    doc_set_new(status, "observedGeneration", json_integer(item->generation));
    set_time(status, "transitionTimes.initTime", task_now_unix_ms(task)); /* the deadline's begin */
    set_time(status, "lastReconcileTime", reconciled);
    doc_set_text(status, "deployer.identity", task->controller->identity);
    doc_set_text(status, "deployer.name", DEPLOYER_NAME);
    doc_set_text(status, "deployer.version", LONGSHORE_VERSION);
    status_reset_errors(status);
}

json_t *report_base(const struct task *task)
{
    json_t *status = copy_status(task);

    if (task_phase_of(task->item) == JOB_IDLE)
        begin(task, status);
    return status;
}

json_t *report_test_job(const struct task *task)
{
    json_t *status = copy_status(task);
    int64_t now = controller_now_unix_ms(task->controller);
    char id[UUID_TEXT_SIZE] = {0};

    uuid_make(id);
    doc_set_text(status, "jobID", id);
    doc_set_new(status, "transitionTimes", json_object());
    set_time(status, "transitionTimes.triggerTime", now);
    begin(task, status);
    return status;
}

/* All that lastError keeps of it. Injected containers share one operation. */
static bool is_about(const json_t *last, const char *container)
{
    cleanup_free char *begin = container ? xasprintf("container %s:", container) : NULL;

    return !begin || strncmp(doc_text_or(last, "message", ""), begin, strlen(begin)) == 0;
}

/* Kubelet says ErrImagePull and ImagePullBackOff in turn while it tries: one trouble, one Event. */
static bool is_same_trouble(const json_t *last, const struct pod_verdict *verdict)
{
    static const char *const pulls[] = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"};
    const char *reason = doc_text_or(last, "reason", "");
    bool is_last_pull = false, is_pull = false;

    if (strcmp(doc_text_or(last, "operation", ""), verdict->operation) != 0 ||
        !is_about(last, verdict->container))
        return false;
    for (size_t i = 0; i < array_length(pulls); i++) {
        is_last_pull = is_last_pull || strcmp(reason, pulls[i]) == 0;
        is_pull = is_pull || strcmp(verdict->reason, pulls[i]) == 0;
    }
    return (is_last_pull && is_pull) || strcmp(reason, verdict->reason) == 0;
}

static void set_trouble(const struct task *task, json_t *status, const struct pod_verdict *verdict)
{
    struct status_error error = {
        .operation = verdict->operation, .reason = verdict->reason, .message = verdict->message};

    if (verdict->outcome != POD_STUCK || !verdict->operation || !verdict->reason)
        status_clear_error(status);
    else if (!is_same_trouble(doc_member(status, "lastError"), verdict))
        (void)status_set_error(status, &error, controller_now_unix_ms(task->controller));
}

json_t *report_of_pod(const struct task *task, const struct pod_entry *entry)
{
    json_t *status = report_base(task);
    cleanup_json json_t *pod =
        entry->told ? json_incref(entry->told) : hidden_from_pod(entry->pod, NULL);
    cleanup_pod_verdict struct pod_verdict verdict = {0};
    const char *operation = task_operation(task);
    bool is_delete = strcmp(operation, OPERATION_DELETE) == 0;

    pod_judge(pod, task->controller->config, task_now_unix_ms(task), entry->stuck_since_unix_ms,
              &verdict);
    doc_set_text(status, "phase", is_delete ? PHASE_DELETING : PHASE_PROGRESSING);
    doc_set_new(status, "providerStatus", status_provider(pod, operation, NULL, &verdict, NULL));
    status_set_conditions(status, pod, controller_now_unix_ms(task->controller));
    set_trouble(task, status, &verdict);
    return status;
}

json_t *report_of_fault(const struct task *task, bool *ret_is_new)
{
    json_t *status = report_base(task);
    const struct task_fault *fault = &task->fault;
    struct status_error error = {.operation = fault->operation,
                                 .reason = fault->reason,
                                 .message = fault->message,
                                 .codes = {fault->code}};

    *ret_is_new = status_set_error(status, &error, controller_now_unix_ms(task->controller));
    return status;
}

char *report_hindrance(const struct task *task)
{
    enum pod_claim claim = POD_ABSENT;
    const struct pod_entry *entry = task_pod(task, &claim);
    const char *job = entry ? object_annotation(entry->pod, ANNOTATION_JOB) : NULL;

    /* One that is over is gone in a moment: not worth a word. */
    if (!entry || claim != POD_FOREIGN || pod_is_over(entry->pod))
        return NULL;
    if (!job)
        return xasprintf("pod '%s' of an earlier run has not ended", entry->name);
    return xasprintf("pod '%s' of job '%s' has not ended", entry->name, job);
}

json_t *report_of_begin(const struct task *task, bool *ret_is_new)
{
    json_t *status = report_base(task);
    cleanup_free char *hindrance = report_hindrance(task);
    struct status_error error = {
        .operation = OPERATION_DEPLOY_POD, .reason = "PreviousPodRuns", .message = hindrance};

    *ret_is_new =
        hindrance && status_set_error(status, &error, controller_now_unix_ms(task->controller));
    return status;
}

void report_finish(const struct task *task, json_t *status, const char *phase)
{
    doc_set_text(status, "phase", phase);
    doc_set_text(status, "jobIDFinished", doc_text_or(status, "jobID", ""));
    set_time(status, "transitionTimes.finishedTime", controller_now_unix_ms(task->controller));
}

/* ---- Writing ---- */

json_t *report_difference(const json_t *before, const json_t *after)
{
    json_t *difference = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)after, key, value)
    {
        const json_t *old = json_object_get(before, key);

        if (json_is_object(old) && json_is_object(value)) {
            cleanup_json json_t *inner = report_difference(old, value);

            if (json_object_size(inner))
                (void)json_object_set(difference, key, inner);
        } else if (!old || !json_equal(old, value)) {
            (void)json_object_set(difference, key, value);
        }
    }
    json_object_foreach((json_t *)(uintptr_t)before, key, value)
    {
        if (!json_object_get(after, key))
            (void)json_object_set_new(difference, key, json_null());
    }
    return difference;
}

/* 404 is also what a server says that does not serve items at all (yet), or a proxy before it. */
static bool is_item_missing(const struct task *task, const struct error *err)
{
    cleanup_free char *words = xasprintf("\"%s\" not found", task->record->name);

    return err->kind == ERROR_NOT_FOUND && strstr(err->text, words);
}

/* The server has an older item than the one that it refused to write to, and nobody has told of a
 * newer one since: its state was put back. The watch will find out; till then nothing fits. */
static bool is_item_rewound(const struct task *task, const json_t *object)
{
    return object_version(object) < task->record->version &&
           task->record->version == task->refused_version;
}

/* As the watch tells of it, which has not told yet, and may never. */
static void take_for_gone(struct task *task)
{
    observe_item_gone(task->controller, task->record);
    task_done(task);
}

static void on_item_read(struct task *task, json_t *object, const struct error *err)
{
    if (is_item_missing(task, err)) {
        take_for_gone(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_hold(task, "the item can't be read", err);
        return;
    }
    if (!task_take_item(task, object)) {
        struct error gone = {0};

        (void)error_set(&gone, ERROR_NOT_FOUND, "another item has its name");
        task_hold(task, "the item is gone", &gone);
        return;
    }
    if (is_item_rewound(task, object)) {
        struct error rewound = {0};

        (void)error_set(&rewound, ERROR_CONFLICT, "the server's item is older than what it told");
        task_hold(task, "the status can't be written", &rewound);
        return;
    }
    task_done(task);
}

static void on_denied_item_read(struct task *task, json_t *object, const struct error *err)
{
    struct error denied = *err;

    (void)object;
    if (is_item_missing(task, err)) {
        take_for_gone(task);
        return;
    }
    if (err->kind == ERROR_NONE)
        (void)error_set(&denied, ERROR_NOT_FOUND, "the server has it, and does not find it");
    task_hold(task, "the item can't be written", &denied);
}

static void read_item(struct task *task, task_next_fn *next)
{
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name};

    task_request(task, task->controller->landscaper, &request, next);
}

void report_check_gone(struct task *task)
{
    read_item(task, on_denied_item_read);
}

static void on_written(struct task *task, json_t *object, const struct error *err)
{
    task_next_fn *next = task->after_write;

    task->is_last = false;
    if (!task->item) {
        task_done(task);
        return;
    }
    if (err->kind == ERROR_CONFLICT) {
        task->refused_version = task->record->version;
        read_item(task, on_item_read);
        return;
    }
    if (err->kind == ERROR_NOT_FOUND) {
        report_check_gone(task);
        return;
    }
    if (err->kind == ERROR_TOO_LARGE) {
        least_write(task, err);
        return;
    }
    if (err->kind != ERROR_NONE) {
        task_hold(task, "the status can't be written", err);
        return;
    }
    task_take_item(task, object);
    task->reported_unix_ms = task_now_unix_ms(task);
    next(task, object, err);
}

void report_write(struct task *task, json_t *status, task_next_fn *next)
{
    cleanup_json json_t *taken = status;
    cleanup_json json_t *difference = report_difference(task->item->status, taken);
    cleanup_json json_t *body = json_object();
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .left_out = OBJECT_LEFT_OUT,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name,
                                   .subresource = "status",
                                   .body = body};
    struct error none = {0};

    if (!json_object_size(difference)) {
        next(task, NULL, &none);
        return;
    }
    /* Before the write: whoever writes a job's first status, in whichever phase, tells. What was
     * told of an earlier job or generation, and by whom, nobody knows. */
    if (task_phase_of(task->item) == JOB_IDLE)
        events_tell_continuous(task);
    doc_set_text(body, "metadata.resourceVersion", task->item->resource_version);
    (void)json_object_set(body, "status", difference);
    json_decref(task->wanted);
    task->wanted = json_pack("{s:s,s:O}", "version", task->item->resource_version, "status", taken);
    task->after_write = next;
    task->is_last = true;
    task_request(task, task->controller->landscaper, &request, on_written);
}
