/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/provider_status.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/status.h"
#include "deployer/pod/mask.h"
#include "deployer/validation/text.h"

enum { CONTAINER_MESSAGE_MAX = 2048 };

static const json_t *find_container(const json_t *pod, const char *list_key, const char *name)
{
    const json_t *list = doc_member(doc_member(pod, "status"), list_key);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *status = json_array_get(list, i);

        if (strcmp(doc_text_or(status, "name", ""), name) == 0)
            return status;
    }
    return NULL;
}

/* The end of the output of a program, masked, as JSON. */
static json_t *message_json(const char *message)
{
    cleanup_free char *masked = mask_text(message, NULL);
    size_t size = strlen(masked);
    size_t start = text_tail(masked, size, CONTAINER_MESSAGE_MAX);

    return doc_new_string(masked + start, size - start);
}

/* corev1.ContainerState without reason and message, which are separate fields. */
static json_t *state_json(const json_t *state)
{
    json_t *copy = json_is_object(state) ? json_deep_copy(state) : json_object();

    (void)json_object_del(json_object_get(copy, "waiting"), "message");
    (void)json_object_del(json_object_get(copy, "terminated"), "message");
    return copy;
}

static json_t *container_json(const json_t *status)
{
    const json_t *state = doc_member(status, "state");
    const json_t *waiting = doc_member(state, "waiting");
    const json_t *terminated = doc_member(state, "terminated");
    const json_t *cause = terminated ? terminated : waiting;
    const char *reason = doc_text(cause, "reason");
    const char *message = doc_text(cause, "message");
    json_t *object = json_object();

    if (!cause && doc_member(state, "running"))
        reason = "Running";
    if (message && *message)
        (void)json_object_set_new(object, "message", message_json(message));
    if (reason && *reason)
        (void)json_object_set_new(object, "reason", json_string(reason));
    (void)json_object_set_new(object, "state", state_json(state));
    (void)json_object_set_new(object, "image", json_string(doc_text_or(status, "image", "")));
    (void)json_object_set_new(object, "imageID", json_string(doc_text_or(status, "imageID", "")));
    if (terminated)
        (void)json_object_set_new(object, "exitCode",
                                  json_integer(doc_integer_or(terminated, "exitCode", 0)));
    return object;
}

static const char *outcome_name(enum pod_outcome outcome)
{
    switch (outcome) {
    case POD_WAITING:
        return "Waiting";
    case POD_RUNNING:
        return "Running";
    case POD_SUCCEEDED:
        return "Succeeded";
    case POD_FAILED:
        return "Failed";
    case POD_STUCK:
        return "Stuck";
    case POD_HOPELESS:
        return "Hopeless";
    }
    return "Waiting";
}

json_t *status_provider(const json_t *pod, const char *operation, const char *last_successful_job,
                        const struct pod_verdict *verdict, const char *log_tail)
{
    json_t *pod_status = json_object();
    const char *created = doc_text(pod, "metadata.creationTimestamp");

    doc_set_text(pod_status, "podName", doc_text_or(pod, "metadata.name", ""));
    if (created)
        doc_set_text(pod_status, "lastRun", created);
    if (last_successful_job && *last_successful_job)
        doc_set_text(pod_status, "lastSuccessfulJobID", last_successful_job);
    doc_set_new(pod_status, "containerStatus",
                container_json(find_container(pod, "containerStatuses", CONTAINER_MAIN)));
    doc_set_new(pod_status, "initContainerStatus",
                container_json(find_container(pod, "initContainerStatuses", CONTAINER_INIT)));
    doc_set_new(pod_status, "waitContainerStatus",
                container_json(find_container(pod, "containerStatuses", CONTAINER_WAIT)));
    /* Additional fields, which the Go deployer ignores. */
    if (verdict)
        doc_set_text(pod_status, "outcome", outcome_name(verdict->outcome));
    if (log_tail && *log_tail)
        doc_set_new(pod_status, "mainLogTail", message_json(log_tail));
    return json_pack("{s:s,s:s,s:s,s:o}", "apiVersion", DEPLOYER_API_VERSION, "kind",
                     KIND_PROVIDER_STATUS, "lastOperation", operation, "podStatus", pod_status);
}

const char *status_running_container(const json_t *provider_status)
{
    static const struct {
        const char *name, *state;
    } containers[] = {{CONTAINER_MAIN, "podStatus.containerStatus.state.running"},
                      {CONTAINER_INIT, "podStatus.initContainerStatus.state.running"},
                      {CONTAINER_WAIT, "podStatus.waitContainerStatus.state.running"}};

    for (size_t i = 0; i < array_length(containers); i++) {
        if (json_is_object(doc_get(provider_status, containers[i].state)))
            return containers[i].name;
    }
    return NULL;
}

/* The default format of a time in Go. */
static char *running_message(const json_t *running)
{
    const char *started = doc_text_or(running, "startedAt", "");
    char text[TIMESTAMP_MAX] = "";
    struct error err = {0};
    int64_t unix_ms = 0;

    if (timestamp_parse(started, &unix_ms, &err) < 0)
        return xstrdup("Pod started running");
    timestamp_format(unix_ms, text); /* 2006-01-02T15:04:05Z */
    return xasprintf("Pod started running at %.10s %.8s +0000 UTC", text, text + 11);
}

/* The status of the condition for a container state; NULL if there is none. */
static json_t *condition_of(const json_t *state)
{
    const json_t *terminated = doc_member(state, "terminated");
    const json_t *running = doc_member(state, "running");
    const json_t *waiting = doc_member(state, "waiting");
    cleanup_free char *message = NULL;

    if (terminated && doc_integer_or(terminated, "exitCode", 0) == 0)
        return json_pack("{s:s,s:s,s:s}", "status", "True", "reason", "ContainerSucceeded",
                         "message", "Container successfully finished");
    if (terminated)
        return json_pack("{s:s,s:s,s:o}", "status", "False", "reason",
                         doc_text_or(terminated, "reason", ""), "message",
                         message_json(doc_text_or(terminated, "message", "")));
    if (running) {
        message = running_message(running);
        return json_pack("{s:s,s:s,s:s}", "status", "Progressing", "reason", "Pod running",
                         "message", message);
    }
    if (!waiting)
        return NULL;
    return json_pack("{s:s,s:s,s:o}", "status", "Progressing", "reason",
                     doc_text_or(waiting, "reason", ""), "message",
                     message_json(doc_text_or(waiting, "message", "")));
}

void status_set_conditions(json_t *status, const json_t *pod, int64_t now_unix_ms)
{
    const json_t *init = find_container(pod, "initContainerStatuses", CONTAINER_INIT);
    const json_t *wait = find_container(pod, "containerStatuses", CONTAINER_WAIT);
    cleanup_json json_t *of_init = condition_of(doc_member(init, "state"));
    cleanup_json json_t *of_wait = condition_of(doc_member(wait, "state"));

    if (of_init)
        status_set_condition(status, CONDITION_INIT, of_init, now_unix_ms);
    if (of_wait)
        status_set_condition(status, CONDITION_WAIT, of_wait, now_unix_ms);
}
