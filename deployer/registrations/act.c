/* SPDX-License-Identifier: Apache-2.0 */
/* The requests. Every answer goes into the index, and the environment is looked at again. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/manager.h"

/* ---- tasks ---- */

static bool is_task(const struct pair_task *task, const char *registration, const char *environment)
{
    return strcmp(task->registration, registration) == 0 &&
           strcmp(task->environment, environment) == 0;
}

struct pair_task *pair_task_find(const struct manager *manager, const char *registration,
                                 const char *environment)
{
    struct pair_task *task = manager->tasks;

    while (task && !is_task(task, registration, environment))
        task = task->next;
    return task;
}

void pair_task_free(struct pair_task *task)
{
    struct pair_task **at = &task->manager->tasks;

    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    kube_cancel(task->call);
    loop_timer_stop(&task->timer);
    free(task->registration);
    free(task->environment);
    free(task->name);
    free(task->patch_hash);
    free(task->problem);
    free(task->uid);
    free(task);
}

static void touch(const struct pair_task *task)
{
    manager_touch(task->manager, *task->environment ? task->environment : NULL);
}

static void on_retry(void *data)
{
    touch(data);
}

/* The task for the next request; NULL if one is under way or waits for its retry. */
static struct pair_task *take_task(struct manager *manager, const char *registration,
                                   const char *environment)
{
    struct pair_task *task = pair_task_find(manager, registration, environment);

    if (task && (task->call || loop_timer_is_running(&task->timer)))
        return NULL;
    if (task)
        return task;
    task = xcalloc(1, sizeof(*task));
    task->manager = manager;
    task->registration = xstrdup(registration);
    task->environment = xstrdup(environment);
    loop_timer_init(&task->timer, manager->loop, on_retry, task);
    task->next = manager->tasks;
    manager->tasks = task;
    return task;
}

static void pair_task_fail(struct pair_task *task, const struct error *err)
{
    struct manager *manager = task->manager;

    manager->failures++;
    log_error("request failed, retrying", log_text("registration", task->registration),
              log_text("environment", task->environment), log_text("error", err->text));
    free(task->problem);
    task->problem = xstrdup(err->text);
    task->retry_ms = task->retry_ms ? task->retry_ms * 2 : MANAGER_RETRY_FIRST_MS;
    if (task->retry_ms > MANAGER_RETRY_MAX_MS)
        task->retry_ms = MANAGER_RETRY_MAX_MS;
    loop_timer_start(&task->timer,
                     err->retry_after_ms > task->retry_ms ? err->retry_after_ms : task->retry_ms);
    touch(task); /* the status shows the problem */
}

/* ---- answers ---- */

static void on_answer(void *data, json_t *object, const struct error *err)
{
    struct pair_task *task = data;
    struct manager *manager = task->manager;
    bool is_gone = !task->is_creation && err->kind == ERROR_NOT_FOUND;

    task->call = NULL;
    manager->running--;
    if (err->kind != ERROR_NONE && !is_gone) {
        pair_task_fail(task, err);
        return;
    }
    manager->actions++;
    if (task->patch_hash)
        (void)json_object_set_new(
            manager->patched, task->name,
            json_pack("[s,I]", task->patch_hash, (json_int_t)task->generation));
    if (is_gone || (task->is_deletion && task->source != SOURCE_INSTALLATIONS))
        known_remove(manager, task->source, task->name);
    else if (object && doc_get(object, "metadata.uid"))
        known_answer(manager, task->source, object);
    if (manager->running == 0 && !manager->status_writes)
        (void)json_object_clear(manager->deleted);
    touch(task);
    pair_task_free(task);
    manager_close(manager);
}

/* Starts a request of the task. The answer is an object of this source. */
static void send(struct pair_task *task, struct kube_request *request, enum source source,
                 kube_done_fn *on_done)
{
    struct manager *manager = task->manager;
    struct error err = {0};

    task->source = source;
    task->is_creation = request->verb == KUBE_CREATE;
    task->is_deletion = request->verb == KUBE_DELETE;
    if (task->name != request->name) {
        char *name = xstrdup_or_null(request->name);

        free(task->name);
        task->name = name;
    }
    request->skipped_members = KNOWN_SKIPPED;
    request->may_send = manager_may_send;
    request->may_send_data = manager;
    request->on_done = on_done;
    request->data = task;
    request->grace_seconds = -1;
    if (kube_start(manager->kube, request, &task->call, &err) < 0) {
        pair_task_fail(task, &err);
        return;
    }
    manager->running++;
}

static const char *namespace_of(const struct manager *manager, enum source source)
{
    return source == SOURCE_INSTALLATIONS || source == SOURCE_TARGETS ||
                   source == SOURCE_ACCOUNTS || source == SOURCE_LEASES
               ? manager->settings.namespace_name
               : NULL;
}

/* body is borrowed during the call. */
static void write_object(struct pair_task *task, enum kube_verb verb, struct kube_resource resource,
                         enum source source, const char *name, const json_t *body)
{
    const json_t *known = manager_find(task->manager, source, name);
    struct kube_request request = {.verb = verb,
                                   .resource = resource,
                                   .namespace_name = namespace_of(task->manager, source),
                                   .name = name,
                                   .body = body,
                                   .field_manager = REGISTRATIONS_FIELD_MANAGER,
                                   .uid = verb == KUBE_DELETE ? doc_text(known, "metadata.uid")
                                                              : NULL};

    send(task, &request, source, on_answer);
}

/* ---- tokens ---- */

/* The Target with the token, from what is known now: the environment may have changed meanwhile. */
static void on_token(void *data, json_t *object, const struct error *err)
{
    struct pair_task *task = data;
    struct manager *manager = task->manager;
    const json_t *environment = manager_find(manager, SOURCE_ENVIRONMENTS, task->environment);
    const json_t *registration = manager_find(manager, SOURCE_REGISTRATIONS, task->registration);
    const json_t *known = manager_find(manager, SOURCE_TARGETS, task->name);
    const char *token = doc_text(object, "status.token");
    /* What the API server granted may be less than what was requested. Its clock is not used. */
    int64_t lifetime = doc_integer_or(object, "spec.expirationSeconds", 0);
    cleanup_json json_t *target = NULL;
    struct pair pair = {.environment = environment,
                        .registration = registration,
                        .namespace_name = manager->settings.namespace_name,
                        .name = task->name,
                        .renewals = task->renewals};

    if (err->kind != ERROR_NONE || !token || lifetime <= 0 || !environment || !registration) {
        struct error failure = *err;

        if (err->kind == ERROR_NONE)
            (void)error_set(&failure, ERROR_TEMPORARY, "token request: incomplete response");
        task->call = NULL;
        manager->running--;
        pair_task_fail(task, &failure);
        manager_close(manager);
        return;
    }
    task->call = NULL;
    manager->running--;
    manager->renewals += task->renewals > 0;
    target = pair_target(&pair, token, task->requested_unix_ms, lifetime);
    if (known)
        doc_set_text(target, "metadata.resourceVersion",
                     doc_text_or(known, "metadata.resourceVersion", ""));
    write_object(task, known ? KUBE_UPDATE : KUBE_CREATE, KUBE_TARGETS, SOURCE_TARGETS, pair.name,
                 target);
    manager_close(manager);
}

static int64_t renewals_of(const json_t *object)
{
    const char *text = json_string_value(
        doc_member(doc_get(object, "metadata.annotations"), ANNOTATION_TOKEN_RENEWALS));
    uint64_t number = 0;

    return text && number_parse(text, INT64_MAX - 1, &number) ? (int64_t)number : 0;
}

static void request_token(struct pair_task *task, const struct pair *pair,
                          const json_t *installation)
{
    struct manager *manager = task->manager;
    cleanup_json json_t *body = json_pack(
        "{s:s,s:s,s:{s:I}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenRequest",
        "spec", "expirationSeconds", (json_int_t)manager->settings.token_seconds);
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = manager->settings.namespace_name,
                                   .name = pair->name,
                                   .subresource = "token",
                                   .body = body};
    int64_t known = renewals_of(installation);

    task->requested_unix_ms = clock_unix_ms(loop_clock(manager->loop));
    task->renewals = installation ? (known > pair->renewals ? known : pair->renewals) + 1 : 0;
    send(task, &request, SOURCE_TARGETS, on_token);
}

/* ---- finalizers ---- */

json_t *finalizer_patch(const json_t *object, const char *finalizer, bool is_wanted)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");
    json_t *kept = json_array();
    bool is_there = false;

    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        const char *name = json_string_value(json_array_get(finalizers, i));

        if (name && strcmp(name, finalizer) != 0)
            (void)json_array_append_new(kept, json_string(name));
        else
            is_there = true;
    }
    if (is_there == is_wanted) {
        json_decref(kept);
        return NULL;
    }
    if (is_wanted)
        (void)json_array_append_new(kept, json_string(finalizer));
    /* The version guards finalizers that others add meanwhile. */
    return json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:o}]", "op", "test", "path",
                     "/metadata/resourceVersion", "value",
                     doc_text_or(object, "metadata.resourceVersion", ""), "op", "add", "path",
                     "/metadata/finalizers", "value", kept);
}

/* ---- actions ---- */

static void write_new(struct pair_task *task, struct kube_resource resource, enum source source,
                      const char *name, json_t *object)
{
    write_object(task, KUBE_CREATE, resource, source, name, object);
    json_decref(object);
}

static void patch_installation(struct pair_task *task, const json_t *installation, json_t *patch)
{
    if (patch)
        write_object(task, KUBE_PATCH_JSON, KUBE_INSTALLATIONS, SOURCE_INSTALLATIONS,
                     doc_text_or(installation, "metadata.name", ""), patch);
    json_decref(patch);
}

static void update_binding(struct pair_task *task, const struct pair *pair)
{
    const json_t *known = manager_find(task->manager, SOURCE_BINDINGS, pair->name);
    cleanup_json json_t *binding = pair_binding(pair);

    doc_set_text(binding, "metadata.resourceVersion",
                 doc_text_or(known, "metadata.resourceVersion", ""));
    write_object(task, KUBE_UPDATE, KUBE_CLUSTER_ROLE_BINDINGS, SOURCE_BINDINGS, pair->name,
                 binding);
}

void act_on_pair(struct manager *manager, const struct pair *pair, enum pair_action action,
                 const json_t *installation, const char *detail)
{
    struct pair_task *task =
        take_task(manager, doc_text_or(pair->registration, "metadata.name", ""),
                  doc_text_or(pair->environment, "metadata.name", ""));

    if (!task)
        return;
    free(steal(&task->patch_hash));
    switch (action) {
    case PAIR_NONE:
        break;
    case PAIR_CREATE_ACCOUNT:
        write_new(task, KUBE_SERVICE_ACCOUNTS, SOURCE_ACCOUNTS, pair->name, pair_account(pair));
        break;
    case PAIR_CREATE_BINDING:
        write_new(task, KUBE_CLUSTER_ROLE_BINDINGS, SOURCE_BINDINGS, pair->name,
                  pair_binding(pair));
        break;
    case PAIR_UPDATE_BINDING:
        update_binding(task, pair);
        break;
    case PAIR_WRITE_TARGET:
        request_token(task, pair, installation);
        break;
    case PAIR_CREATE_INSTALLATION:
        write_new(task, KUBE_INSTALLATIONS, SOURCE_INSTALLATIONS, pair->name,
                  pair_installation(pair));
        break;
    case PAIR_PATCH_INSTALLATION:
        task->patch_hash = xstrdup(detail);
        task->generation = doc_integer_or(installation, "metadata.generation", 0);
        patch_installation(task, installation, pair_installation_patch(pair, installation));
        break;
    case PAIR_INTERRUPT:
        patch_installation(task, installation,
                           pair_operation_patch(installation, OPERATION_ANNOTATION_INTERRUPT,
                                                ANNOTATION_INTERRUPTED, detail));
        break;
    case PAIR_RETRY:
        patch_installation(task, installation,
                           pair_operation_patch(installation, OPERATION_ANNOTATION_RECONCILE,
                                                ANNOTATION_PROVIDERS, detail));
        break;
    case PAIR_MARK_INSTALLATION:
        patch_installation(
            task, installation,
            pair_operation_patch(installation, NULL, ANNOTATION_DELETE_WITHOUT_UNINSTALL, "true"));
        break;
    case PAIR_DELETE_INSTALLATION:
        write_object(task, KUBE_DELETE, KUBE_INSTALLATIONS, SOURCE_INSTALLATIONS,
                     doc_text_or(installation, "metadata.name", ""), NULL);
        break;
    case PAIR_DELETE_BINDING:
        write_object(task, KUBE_DELETE, KUBE_CLUSTER_ROLE_BINDINGS, SOURCE_BINDINGS, pair->name,
                     NULL);
        break;
    case PAIR_DELETE_TARGET:
        write_object(task, KUBE_DELETE, KUBE_TARGETS, SOURCE_TARGETS, pair->name, NULL);
        break;
    case PAIR_DELETE_ACCOUNT:
        write_object(task, KUBE_DELETE, KUBE_SERVICE_ACCOUNTS, SOURCE_ACCOUNTS, pair->name, NULL);
        break;
    case PAIR_REMOVE_FINALIZER:
        patch_installation(task, installation, finalizer_patch(installation, FINALIZER_MANAGEMENT, false));
        break;
    }
}

void act_on_object(struct manager *manager, const char *registration, const char *environment,
                   enum kube_verb verb, struct kube_resource resource, enum source source,
                   const char *name, const json_t *body)
{
    struct pair_task *task = take_task(manager, registration, environment);

    if (task)
        write_object(task, verb, resource, source, name, body);
}

static void on_secret_deleted(void *data, json_t *object, const struct error *err)
{
    struct pair_task *task = data;
    struct manager *manager = task->manager;

    (void)object;
    task->call = NULL;
    manager->running--;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        pair_task_fail(task, err);
        return;
    }
    manager->actions++;
    (void)json_object_set_new(manager->left, task->uid, json_true());
    touch(task);
    pair_task_free(task);
}

void act_on_secret(struct manager *manager, const char *environment, const char *name,
                   const char *uid)
{
    struct pair_task *task = take_task(manager, "", environment);
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .resource = KUBE_SECRETS,
                                   .namespace_name = manager->settings.namespace_name,
                                   .name = name};

    if (!task)
        return;
    free(task->uid);
    task->uid = xstrdup(uid);
    send(task, &request, SOURCE_COUNT, on_secret_deleted);
}
