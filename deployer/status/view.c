/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/status/view.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/metadata.h"
#include "deployer/item/status.h"
#include "deployer/pod/exit.h"
#include "deployer/status/text.h"

/* Times of the API have whole seconds. */
enum { SECOND_MS = 1000, PICK_UP_MS = 60 * 1000 };

/* What the view is made from. */
struct source {
    const json_t *item, *status;
    const json_t *pod;        /* of this job, or NULL */
    const json_t *pod_status; /* providerStatus.podStatus of this job, or NULL */
    int64_t now_unix_ms;
};

static int64_t time_of(const json_t *doc, const char *path)
{
    const char *text = doc_text(doc, path);
    struct error err = {0};
    int64_t unix_ms = 0;

    return text && timestamp_parse(text, &unix_ms, &err) == 0 && unix_ms > 0 ? unix_ms : 0;
}

static const json_t *find_by(const json_t *list, const char *key, const char *value)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);

        if (strcmp(doc_text_or(element, key, ""), value) == 0)
            return element;
    }
    return NULL;
}

/* ---- steps ---- */

/* The state of one of our containers: {"waiting" | "running" | "terminated": {...}}, or NULL. The
 * status of an item has no times if the Go deployer wrote it. */
static const json_t *container_state(const struct source *source, const char *name,
                                     const char *list, const char *status_key)
{
    const json_t *statuses = doc_member(doc_member(source->pod, "status"), list);

    if (source->pod)
        return doc_member(find_by(statuses, "name", name), "state");
    return doc_member(doc_member(source->pod_status, status_key), "state");
}

static void set_ended(struct view_step *step, const json_t *terminated)
{
    const char *reason = doc_text_or(terminated, "reason", "");

    step->state = doc_integer_or(terminated, "exitCode", -1) == 0 ? STEP_DONE : STEP_FAILED;
    step->started_unix_ms = time_of(terminated, "startedAt");
    step->finished_unix_ms = time_of(terminated, "finishedAt");
    if (step->state == STEP_FAILED) {
        cleanup_free char *end = exit_describe(terminated);

        step->detail = strcmp(reason, "Error") == 0 || !*reason ? steal(&end)
                                                                : xasprintf("%s, %s", reason, end);
    }
}

static void set_container(const struct source *source, struct view_step *step, const char *name,
                          const char *list, const char *status_key)
{
    const json_t *state = container_state(source, name, list, status_key);
    const json_t *exit_code = doc_member(doc_member(source->pod_status, status_key), "exitCode");
    const json_t *running = doc_member(state, "running");
    const json_t *waiting = doc_member(state, "waiting");
    const char *reason = doc_text_or(waiting, "reason", "");

    if (doc_member(state, "terminated")) {
        set_ended(step, doc_member(state, "terminated"));
    } else if (running) {
        step->state = STEP_RUNNING;
        step->started_unix_ms = time_of(running, "startedAt");
    } else if (!source->pod && json_is_integer(exit_code)) {
        step->state = json_integer_value(exit_code) == 0 ? STEP_DONE : STEP_FAILED;
    } else if (*reason && strcmp(reason, "PodInitializing") != 0) {
        step->detail = xstrdup(reason);
    }
}

static void set_scheduled(const struct source *source, struct view_step *step)
{
    const json_t *condition =
        find_by(doc_get(source->pod, "status.conditions"), "type", "PodScheduled");
    const char *node = doc_text(source->pod, "spec.nodeName");

    if (node) {
        step->state = STEP_DONE;
        step->finished_unix_ms = time_of(condition, "lastTransitionTime");
        step->detail = xasprintf("node %s", node);
    } else if (source->pod) {
        step->state = STEP_RUNNING;
        step->started_unix_ms = time_of(source->pod, "metadata.creationTimestamp");
        step->detail = xstrdup_or_null(doc_text(condition, "reason"));
    } else if (source->pod_status) {
        step->state = STEP_DONE;
        step->finished_unix_ms = time_of(source->pod_status, "lastRun");
    }
}

static void set_exported(const struct view *view, const struct source *source,
                         struct view_step *step)
{
    const char *secret = doc_text(source->status, "exportRef.name");

    if (view->is_open)
        return;
    if (view->is_failed || !secret) {
        step->state = STEP_SKIPPED;
        step->detail = xstrdup(view->is_failed ? "the run failed" : "no exports");
        return;
    }
    step->state = STEP_DONE;
    step->finished_unix_ms = view->finished_unix_ms;
    step->detail = xasprintf("Secret %s", secret);
}

static void set_steps(struct view *view, const struct source *source)
{
    static const char *const names[STEP_COUNT] = {
        [STEP_TRIGGERED] = "triggered", [STEP_PICKED_UP] = "picked up",
        [STEP_SCHEDULED] = "scheduled", [STEP_INIT] = "init",
        [STEP_MAIN] = "main",           [STEP_WAIT] = "wait",
        [STEP_EXPORTED] = "exported",
    };
    int64_t triggered = time_of(source->status, "transitionTimes.triggerTime");

    for (size_t i = 0; i < STEP_COUNT; i++)
        view->steps[i].name = names[i];
    if (!*view->job)
        return;
    view->steps[STEP_TRIGGERED].state = STEP_DONE;
    view->steps[STEP_TRIGGERED].finished_unix_ms =
        triggered ? triggered : time_of(source->status, "jobIDGenerationTime");
    if (view->started_unix_ms) {
        view->steps[STEP_PICKED_UP].state = STEP_DONE;
        view->steps[STEP_PICKED_UP].finished_unix_ms = view->started_unix_ms;
    }
    set_scheduled(source, &view->steps[STEP_SCHEDULED]);
    set_container(source, &view->steps[STEP_INIT], CONTAINER_INIT, "initContainerStatuses",
                  "initContainerStatus");
    set_container(source, &view->steps[STEP_MAIN], CONTAINER_MAIN, "containerStatuses",
                  "containerStatus");
    set_container(source, &view->steps[STEP_WAIT], CONTAINER_WAIT, "containerStatuses",
                  "waitContainerStatus");
    set_exported(view, source, &view->steps[STEP_EXPORTED]);
    /* What was not reached before the job ended is not going to happen. */
    for (size_t i = 0; !view->is_open && i < STEP_COUNT; i++) {
        if (view->steps[i].state == STEP_PENDING || view->steps[i].state == STEP_RUNNING)
            view->steps[i].state = STEP_SKIPPED;
    }
}

/* ---- the last error ---- */

/* The controller appends the end of main's log to the message, from the second line on. */
static void set_error(struct view *view, const struct source *source)
{
    const json_t *error = doc_member(source->status, "lastError");
    const char *message = doc_text_or(error, "message", "");
    const char *tail = doc_text(source->pod_status, "mainLogTail");
    size_t length = tail && *tail ? strcspn(message, "\n") : strlen(message);

    view->operation = xstrdup(doc_text_or(error, "operation", ""));
    view->reason = xstrdup(doc_text_or(error, "reason", ""));
    view->message = xstrndup(message, length);
    view->log_tail = tail && *tail ? xstrdup(tail) : NULL;
    if (*view->reason || *view->operation)
        view->hint = hint_find(view->operation, view->reason, message);
}

/* ---- what the job waits for ---- */

static char *since(const char *what, const struct view_step *step, int64_t now_unix_ms)
{
    char text[TEXT_DURATION_MAX] = "";

    if (!step->started_unix_ms || now_unix_ms < step->started_unix_ms)
        return xstrdup(what);
    text_duration(now_unix_ms - step->started_unix_ms, text);
    return xasprintf("%s (for %s)", what, text);
}

static char *waiting_for_pick_up(struct view *view, const struct source *source)
{
    int64_t triggered = view->steps[STEP_TRIGGERED].finished_unix_ms;
    int64_t waited = triggered ? source->now_unix_ms - triggered : 0;
    char text[TEXT_DURATION_MAX] = "";

    if (waited >= PICK_UP_MS) {
        free(view->reason);
        view->reason = xstrdup(HINT_NOT_PICKED_UP);
        view->hint = hint_find(NULL, HINT_NOT_PICKED_UP, NULL);
    }
    text_duration(waited > 0 ? waited : 0, text);
    return xasprintf("a deployer that picks up the job (triggered %s ago)", text);
}

/* A container that is not running for a reason that the controller reports, or NULL. */
static char *waiting_for_problem(const struct view *view)
{
    if (!*view->reason)
        return NULL;
    return strcmp(view->reason, REASON_PREVIOUS_RUNS) == 0
               ? xstrdup("the end of an earlier job's pod")
               : xasprintf("a solution for %s", view->reason);
}

static char *waiting_for_container(const struct view *view, const struct source *source)
{
    static const struct {
        int step;
        const char *running;
    } order[] = {
        {STEP_INIT, "init, which writes the inputs"},
        {STEP_MAIN, "main"},
        {STEP_WAIT, "wait, which saves state and exports"},
    };

    for (size_t i = 0; i < array_length(order); i++) {
        const struct view_step *step = &view->steps[order[i].step];

        if (step->state == STEP_RUNNING)
            return since(order[i].running, step, source->now_unix_ms);
        if (step->state == STEP_PENDING)
            return xasprintf("the start of container %s%s%s%s", step->name,
                             step->detail ? " (" : "", step->detail ? step->detail : "",
                             step->detail ? ")" : "");
    }
    return xstrdup("the controller, which reads the result");
}

static char *waiting_for(struct view *view, const struct source *source)
{
    char *problem = NULL;

    if (!*view->job)
        return xstrdup("Landscaper, which has not triggered a job");
    if (!view->is_open)
        return NULL;
    if (!view->started_unix_ms)
        return waiting_for_pick_up(view, source);
    problem = waiting_for_problem(view);
    if (problem)
        return problem;
    if (!source->pod && !source->pod_status)
        return xstrdup("the creation of the pod");
    if (view->steps[STEP_SCHEDULED].state == STEP_RUNNING)
        return since("a node for the pod", &view->steps[STEP_SCHEDULED], source->now_unix_ms);
    return waiting_for_container(view, source);
}

/* ---- the view ---- */

static void set_job(struct view *view, const struct source *source)
{
    const char *finished_job = doc_text_or(source->status, "jobIDFinished", "");
    int64_t begun = time_of(source->status, "transitionTimes.initTime");

    view->is_open = *view->job && strcmp(view->job, finished_job) != 0;
    /* Times of an earlier job, which the phase belongs to, too. */
    if (view->is_open && status_is_final(view->phase))
        return;
    view->started_unix_ms = begun;
    view->finished_unix_ms =
        view->is_open ? 0 : time_of(source->status, "transitionTimes.finishedTime");
    view->is_failed = !view->is_open && status_is_failed(view->phase);
}

/* The providerStatus of an earlier job stays until there is something to report about the new one.
 */
static const json_t *pod_status_of_job(const struct view *view, const json_t *status)
{
    const json_t *pod_status = doc_get(status, "providerStatus.podStatus");
    int64_t run = time_of(pod_status, "lastRun");

    if (!json_is_object(pod_status) || !view->started_unix_ms)
        return NULL;
    return view->is_open && run + SECOND_MS < view->started_unix_ms ? NULL : pod_status;
}

static const char *short_type(const json_t *item)
{
    const char *type = object_annotation(item, ANNOTATION_DEPLOYER_TYPE);
    const char *slash = NULL;

    if (!type)
        type = doc_text_or(item, "spec.type", "");
    slash = strrchr(type, '/');
    return slash ? slash + 1 : type;
}

static bool is_of_job(const json_t *pod, const char *job)
{
    const char *of = pod ? object_annotation(pod, ANNOTATION_JOB) : NULL;

    /* The Go deployer does not say which job a pod is of. */
    return pod && (!of || strcmp(of, job) == 0);
}

void view_init(struct view *view, const json_t *item, const json_t *pod, int64_t now_unix_ms)
{
    struct source source = {
        .item = item, .status = doc_member(item, "status"), .now_unix_ms = now_unix_ms};

    *view = (struct view){
        .namespace_name = xstrdup(doc_text_or(item, "metadata.namespace", "")),
        .name = xstrdup(doc_text_or(item, "metadata.name", "")),
        .type = xstrdup(short_type(item)),
        .phase = xstrdup(doc_text_or(source.status, "phase", "")),
        .job = xstrdup(doc_text_or(source.status, "jobID", "")),
        .created_unix_ms = time_of(item, "metadata.creationTimestamp"),
        .is_deleting = doc_text(item, "metadata.deletionTimestamp") != NULL,
    };
    set_job(view, &source);
    source.pod = is_of_job(pod, view->job) ? pod : NULL;
    source.pod_status = pod_status_of_job(view, source.status);
    if (source.pod)
        view->pod = xasprintf("%s/%s", doc_text_or(pod, "metadata.namespace", ""),
                              doc_text_or(pod, "metadata.name", ""));
    set_error(view, &source);
    set_steps(view, &source);
    view->waiting_for = waiting_for(view, &source);
}

void view_done(struct view *view)
{
    char **const texts[] = {
        &view->namespace_name, &view->name,     &view->type,
        &view->phase,          &view->job,      &view->pod,
        &view->operation,      &view->reason,   &view->message,
        &view->waiting_for,    &view->log_tail,
    };

    for (size_t i = 0; i < array_length(texts); i++)
        free(*texts[i]);
    for (size_t i = 0; i < STEP_COUNT; i++)
        free(view->steps[i].detail);
    *view = (struct view){0};
}

int64_t view_duration_ms(const struct view *view, int64_t now_unix_ms)
{
    int64_t end = view->finished_unix_ms ? view->finished_unix_ms : now_unix_ms;

    if (!view->started_unix_ms)
        return -1;
    return end > view->started_unix_ms ? end - view->started_unix_ms : 0;
}

const char *step_state_name(enum step_state state)
{
    static const char *const names[] = {
        [STEP_PENDING] = "pending", [STEP_RUNNING] = "running", [STEP_DONE] = "done",
        [STEP_FAILED] = "failed",   [STEP_SKIPPED] = "skipped",
    };

    return names[state];
}

/* ---- JSON ---- */

static void set_time(json_t *doc, const char *key, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX] = "";

    if (unix_ms <= 0)
        return;
    timestamp_format(unix_ms, text);
    (void)json_object_set_new(doc, key, json_string(text));
}

static void set_text(json_t *doc, const char *key, const char *text)
{
    if (text && *text)
        (void)json_object_set_new(doc, key, doc_new_text(text));
}

static json_t *steps_json(const struct view *view)
{
    json_t *list = json_array();

    for (size_t i = 0; i < STEP_COUNT; i++) {
        const struct view_step *step = &view->steps[i];
        json_t *entry =
            json_pack("{s:s,s:s}", "step", step->name, "state", step_state_name(step->state));

        set_time(entry, "startedAt", step->started_unix_ms);
        set_time(entry, "finishedAt", step->finished_unix_ms);
        set_text(entry, "detail", step->detail);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

json_t *view_json(const struct view *view, int64_t now_unix_ms)
{
    json_t *doc = json_pack("{s:s,s:s,s:s,s:s,s:b}", "namespace", view->namespace_name, "name",
                            view->name, "type", view->type, "phase", view->phase, "isFinished",
                            *view->job && !view->is_open);
    int64_t duration_ms = view_duration_ms(view, now_unix_ms);

    set_text(doc, "jobID", view->job);
    set_text(doc, "pod", view->pod);
    set_time(doc, "createdAt", view->created_unix_ms);
    set_time(doc, "startedAt", view->started_unix_ms);
    set_time(doc, "finishedAt", view->finished_unix_ms);
    if (duration_ms >= 0)
        (void)json_object_set_new(doc, "durationSeconds",
                                  json_integer((json_int_t)(duration_ms / SECOND_MS)));
    set_text(doc, "reason", view->reason);
    set_text(doc, "operation", view->operation);
    set_text(doc, "message", view->message);
    set_text(doc, "waitingFor", view->waiting_for);
    if (view->hint)
        (void)json_object_set_new(
            doc, "hint",
            json_pack("{s:s,s:s}", "cause", view->hint->cause, "solution", view->hint->solution));
    (void)json_object_set_new(doc, "timeline", steps_json(view));
    return doc;
}
