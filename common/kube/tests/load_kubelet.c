/* SPDX-License-Identifier: Apache-2.0 */
/* Acts as a node for the API server: writes a generation of state and the export like wait, then
 * reports like a kubelet that all containers have terminated. */
#include "common/kube/tests/load_kubelet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/watch.h"

/* {"answer":42} and some state; the content does not matter. */
static const char EXPORT_BASE64[] = "eyJhbnN3ZXIiOjQyfQ==", STATE_BASE64[] = "c3RhdGU=";

struct pod {
    struct kube *kube;
    json_t *metadata;
};

void fatal(const char *what, const struct error *err)
{
    (void)fprintf(stderr, "kube_load: %s: %s\n", what, err ? err->text : "");
    exit(1);
}

static const char *annotation(const struct pod *pod, const char *key)
{
    return json_string_value(json_object_get(json_object_get(pod->metadata, "annotations"), key));
}

static void copy(json_t *target, const json_t *source, const char *const *keys)
{
    for (; *keys; keys++)
        (void)json_object_set(target, *keys, json_object_get(source, *keys));
}

/* A Secret with the labels that wait sets. */
static json_t *secret_new(const struct pod *pod, const char *name, const char *data)
{
    static const char *const labels[] = {LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, LABEL_ITEM_HASH,
                                         NULL};
    static const char *const annotations[] = {ANNOTATION_JOB, ANNOTATION_ITEM_NAME,
                                              ANNOTATION_ITEM_NAMESPACE, NULL};
    json_t *secret = json_pack(
        "{s:s, s:s, s:s, s:{s:s}, s:{s:s, s:{}, s:{s:O}}}", "apiVersion", "v1", "kind", "Secret",
        "type", SECRET_TYPE_OPAQUE, "data", SECRET_KEY_CONFIG, data, "metadata", "name", name,
        "labels", "annotations", ANNOTATION_POD_UID, json_object_get(pod->metadata, "uid"));
    json_t *metadata = json_object_get(secret, "metadata");

    copy(json_object_get(metadata, "labels"), json_object_get(pod->metadata, "labels"), labels);
    copy(json_object_get(metadata, "annotations"), json_object_get(pod->metadata, "annotations"),
         annotations);
    return secret;
}

static json_t *state_new(const struct pod *pod)
{
    const char *uid = doc_text_or(pod->metadata, "uid", "");
    cleanup_free char *name = xasprintf(PREFIX_STATE "%s-0", uid);
    cleanup_free char *sequence = xasprintf("%lld", (long long)time(NULL));
    json_t *secret = secret_new(pod, name, STATE_BASE64);
    json_t *metadata = json_object_get(secret, "metadata");

    (void)json_object_set_new(json_object_get(metadata, "labels"), LABEL_TYPE,
                              json_string(LABEL_TYPE_STATE));
    cleanup_json json_t *marks = json_pack(
        "{s:s, s:s, s:s, s:s, s:s}", ANNOTATION_STATE_UUID, uid, ANNOTATION_STATE_NUMBER, "0",
        ANNOTATION_STATE_CHUNKS, "1", ANNOTATION_STATE_SEQUENCE, sequence, ANNOTATION_STATE_SHA256,
        "0000000000000000000000000000000000000000000000000000000000000000");
    (void)json_object_update(json_object_get(metadata, "annotations"), marks);
    return secret;
}

static json_t *export_new(const struct pod *pod)
{
    json_t *secret = secret_new(pod, annotation(pod, ANNOTATION_EXPORT_NAME), EXPORT_BASE64);

    (void)json_object_set_new(json_object_get(json_object_get(secret, "metadata"), "labels"),
                              LABEL_ROLE, json_string(LABEL_ROLE_RUN));
    return secret;
}

static json_t *container_status(const char *name, const char *at)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:i, s:{s:{s:i, s:s, s:s, s:s}}}", "name", name, "image",
                     "i", "imageID", "i@sha256:0", "ready", 0, "restartCount", 0, "state",
                     "terminated", "exitCode", 0, "reason", "Completed", "startedAt", at,
                     "finishedAt", at);
}

static json_t *succeeded(void)
{
    time_t now = time(NULL);
    struct tm parts;
    char at[32];

    (void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return json_pack("{s:{s:s, s:s, s:[o], s:[o, o]}}", "status", "phase", "Succeeded", "startTime",
                     at, "initContainerStatuses", container_status("init", at), "containerStatuses",
                     container_status("main", at), container_status("wait", at));
}

static void complain(const struct error *err)
{
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND)
        (void)fprintf(stderr, "kube_load: %s\n", err->text);
}

/* Sends one request for the pod. Takes ownership of body. */
static void ask(struct pod *pod, enum kube_verb verb, struct kube_resource resource,
                const char *name, json_t *body, kube_done_fn *on_done)
{
    struct error err = {0};
    const struct kube_request request = {
        .verb = verb,
        .resource = resource,
        .namespace_name = doc_text(pod->metadata, "namespace"),
        .name = name,
        .subresource = verb == KUBE_PATCH_MERGE ? "status" : NULL,
        .field_manager = "kube_load",
        .body = body,
        .is_unread = true,
        .on_done = on_done,
        .data = pod,
    };

    if (kube_start(pod->kube, &request, NULL, &err) < 0)
        fatal("request", &err);
    json_decref(body);
}

static void on_ended(void *data, json_t *object, const struct error *err)
{
    struct pod *pod = data;

    (void)object;
    complain(err);
    json_decref(pod->metadata);
    free(pod);
}

static void on_export(void *data, json_t *object, const struct error *err)
{
    struct pod *pod = data;

    (void)object;
    complain(err);
    ask(pod, KUBE_PATCH_MERGE, KUBE_PODS, doc_text(pod->metadata, "name"), succeeded(), on_ended);
}

static void on_state(void *data, json_t *object, const struct error *err)
{
    struct pod *pod = data;

    (void)object;
    complain(err);
    ask(pod, KUBE_APPLY, KUBE_SECRETS, annotation(pod, ANNOTATION_EXPORT_NAME), export_new(pod),
        on_export);
}

static void on_pod(void *data, enum kube_event event, const json_t *object, const struct error *err)
{
    struct pod *pod = NULL;

    if (event == KUBE_EVENT_BROKEN)
        (void)fprintf(stderr, "kube_load: watch: %s\n", err->text);
    if (event != KUBE_EVENT_ADDED || doc_text(object, "metadata.deletionTimestamp"))
        return;
    pod = xcalloc(1, sizeof(*pod));
    pod->kube = data;
    pod->metadata = json_deep_copy(doc_member(object, "metadata"));
    if (!annotation(pod, ANNOTATION_EXPORT_NAME))
        fatal("a pod that is not of longshore", NULL);
    ask(pod, KUBE_CREATE, KUBE_SECRETS, NULL, state_new(pod), on_state);
}

static void on_signal(void *data, int number)
{
    (void)number;
    loop_stop(data);
}

void play_kubelet(struct loop *loop, struct kube *kube, const char *namespace_name)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct kube_watch *watch = NULL;
    struct error err = {0};
    const struct kube_watch_options options = {
        .resource = KUBE_PODS,
        .namespace_name = namespace_name,
        .is_metadata_only = true,
        .on_event = on_pod,
        .data = kube,
    };

    if (loop_set_signals(loop, signals, array_length(signals), on_signal, loop, &err) < 0 ||
        kube_watch_start(kube, &options, &watch, &err) < 0 || loop_run(loop, &err) < 0)
        fatal("kubelet", &err);
    kube_watch_stop(watch);
}
