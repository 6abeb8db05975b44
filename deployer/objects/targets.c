/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/targets.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/target.h"
#include "deployer/objects/run.h"
#include "deployer/protocol/observe.h"

struct targets {
    const struct targets_handler *handler;
    json_t *names;
    size_t next;    /* of them */
    json_t *target; /* the Target under way */
    struct target_access access;
    targets_config_fn *on_config; /* waits for a token */
};

void targets_free(struct targets *targets)
{
    if (!targets)
        return;
    json_decref(targets->names);
    json_decref(targets->target);
    target_access_done(&targets->access);
    free(targets);
}

static struct targets *targets_of(const struct task *task)
{
    return objects_task(task)->targets;
}

static const char *name_of(const struct targets *targets)
{
    return json_string_value(json_array_get(targets->names, targets->next));
}

static void fail(struct task *task, const char *reason, const struct error *err, const char *code)
{
    const struct targets *targets = targets_of(task);
    struct error cause = *err;

    (void)error_wrap(&cause, "target \"%s\"", name_of(targets));
    targets->handler->on_failed(task, reason, &cause, code);
}

static void read_next(struct task *task);

static void connect_target(struct task *task, const char *token)
{
    struct targets *targets = targets_of(task);
    struct kube_config *config = NULL;
    struct cluster *cluster = NULL;
    struct error err = {0};

    if (target_access_config(&targets->access, token, task->controller->landscaper,
                             task->controller->host, &config, &err) < 0 ||
        cluster_get(objects_engine(task)->pool, config, &cluster, &err) < 0) {
        fail(task, "ensureTargetAccess", &err, NULL);
        return;
    }
    targets->handler->on_cluster(task, name_of(targets), cluster);
    targets->next++;
    read_next(task);
}

static uint64_t lifetime_ms(const struct task *task, const json_t *object)
{
    const char *expires = doc_text_or(object, "status.expirationTimestamp", "");
    int64_t now = controller_now_unix_ms(task->controller);
    int64_t unix_ms = 0;
    struct error err = {0};

    if (timestamp_parse(expires, &unix_ms, &err) < 0 || unix_ms < now)
        return 0;
    return (uint64_t)(unix_ms - now);
}

/* Borrowed from object. Without a token the chain fails, and the result is NULL. */
static const char *received_token(struct task *task, const json_t *object, const struct error *err)
{
    const char *token = doc_text_or(object, "status.token", "");
    struct error cause = *err;

    if (err->kind == ERROR_NONE && *token)
        return token;
    if (err->kind == ERROR_NONE)
        (void)error_set(&cause, ERROR_TEMPORARY, "the API server returned no token");
    (void)error_wrap(&cause, "token of ServiceAccount \"%s\"", targets_of(task)->access.account);
    cause.kind = ERROR_TEMPORARY;
    fail(task, "ensureTargetAccess", &cause, NULL);
    return NULL;
}

static void on_token(struct task *task, json_t *object, const struct error *err)
{
    const struct targets *targets = targets_of(task);
    const char *token = received_token(task, object, err);
    cleanup_free char *key = token_cache_key(&targets->access, task->record->namespace_name);

    if (!token)
        return;
    token_cache_add(objects_engine(task)->tokens, key, token, lifetime_ms(task, object),
                    loop_now_ms(task->controller->loop));
    connect_target(task, token);
}

static void request_token(struct task *task, int64_t seconds, task_next_fn *next)
{
    struct targets *targets = targets_of(task);
    cleanup_json json_t *body = target_access_token_request(&targets->access, seconds);
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = KUBE_SERVICE_ACCOUNTS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = targets->access.account,
                                   .subresource = "token",
                                   .body = body};

    if (targets->access.kind == ACCESS_HOST) {
        request.namespace_name = targets->access.account_namespace;
        task_request(task, task->controller->host, &request, next);
    } else {
        task_request(task, task->controller->landscaper, &request, next);
    }
}

/* Whoever may create Targets must not get an account of the host cluster by that: only the Target
 * that the configuration names may use one. */
static int check_host_access(const struct task *task, const struct targets *targets,
                             struct error *err)
{
    const char *allowed = task->controller->config->host_target;
    cleanup_free char *name = xasprintf("%s/%s", task->record->namespace_name, name_of(targets));

    if (targets->access.kind != ACCESS_HOST || (allowed && strcmp(allowed, name) == 0))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "a Target with " TARGET_HOST_CONFIG " must be allowed by manifest.hostTarget "
                     "in the configuration of the deployer");
}

static void use_content(struct task *task, const char *content, size_t size)
{
    struct targets *targets = targets_of(task);
    cleanup_free char *key = NULL;
    const char *token = NULL;
    struct error err = {0};

    target_access_done(&targets->access);
    if (target_access_parse(content, size, &targets->access, &err) < 0 ||
        check_host_access(task, targets, &err) < 0) {
        fail(task, "ValidateTarget", &err, CODE_CONFIGURATION_PROBLEM);
        return;
    }
    if (targets->access.kind == ACCESS_KUBECONFIG) {
        connect_target(task, NULL);
        return;
    }
    key = token_cache_key(&targets->access, task->record->namespace_name);
    token =
        token_cache_find(objects_engine(task)->tokens, key, loop_now_ms(task->controller->loop));
    if (token)
        connect_target(task, token);
    else
        request_token(task, targets->access.seconds, on_token);
}

static void resolve(struct task *task, const json_t *secret)
{
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    buffer_init(&content, SECRET_MAX_BYTES);
    if (target_content(targets_of(task)->target, secret, &content, &err) < 0) {
        /* The user may add a missing key; the job's timeout is the limit. */
        err.kind = ERROR_TEMPORARY;
        fail(task, "ResolveTarget", &err, NULL);
        return;
    }
    use_content(task, content.data ? content.data : "", content.size);
    if (content.data)
        explicit_bzero(content.data, content.size);
}

static void on_secret(struct task *task, json_t *object, const struct error *err)
{
    struct error cause = *err;

    if (err->kind == ERROR_NONE) {
        resolve(task, object);
        return;
    }
    cause.kind = ERROR_TEMPORARY;
    fail(task, "ResolveTarget", &cause, NULL);
}

static void on_target(struct task *task, json_t *object, const struct error *err)
{
    struct targets *targets = targets_of(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};
    struct error cause = *err;

    if (err->kind != ERROR_NONE) {
        cause.kind = ERROR_TEMPORARY;
        fail(task, "ResolveTarget", &cause, NULL);
        return;
    }
    if (targets->next == 0 &&
        !selector_matches(task->controller->config->target_selector, object)) {
        (void)error_set(&cause, ERROR_INVALID, "belongs to another deployer");
        fail(task, TARGETS_NOT_OURS, &cause, NULL);
        return;
    }
    json_decref(targets->target);
    targets->target = json_incref(object);
    request.name = target_secret_name(object);
    if (request.name)
        task_request(task, task->controller->landscaper, &request, on_secret);
    else
        resolve(task, NULL);
}

static void read_next(struct task *task)
{
    struct targets *targets = targets_of(task);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_TARGETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};

    if (targets->next >= json_array_size(targets->names)) {
        targets->handler->on_done(task);
        return;
    }
    request.name = name_of(targets);
    task_request(task, task->controller->landscaper, &request, on_target);
}

static struct targets *targets_new(struct task *task, json_t *names,
                                   const struct targets_handler *handler)
{
    struct targets *targets = xcalloc(1, sizeof(*targets));

    targets_free(objects_task(task)->targets);
    objects_task(task)->targets = targets;
    targets->names = names;
    targets->handler = handler;
    return targets;
}

void targets_read(struct task *task, json_t *names, const struct targets_handler *handler)
{
    (void)targets_new(task, names, handler);
    read_next(task);
}

void targets_read_after(struct task *task, json_t *names, const char *content, size_t size,
                        const struct targets_handler *handler)
{
    (void)targets_new(task, names, handler);
    use_content(task, content, size);
}

/* ---- For programs ---- */

static void make_config(struct task *task, const char *token)
{
    const struct targets *targets = targets_of(task);
    struct kube_config *config = NULL;
    struct error err = {0};

    if (target_access_config(&targets->access, token, task->controller->landscaper,
                             task->controller->host, &config, &err) < 0)
        fail(task, "ensureTargetAccess", &err, NULL);
    else
        targets->on_config(task, config);
}

static void on_program_token(struct task *task, json_t *object, const struct error *err)
{
    const char *token = received_token(task, object, err);

    if (token)
        make_config(task, token);
}

void targets_make_config(struct task *task, int64_t left_ms, targets_config_fn *on_config)
{
    struct targets *targets = targets_of(task);

    targets->next = json_array_size(targets->names) - 1; /* errors name it */
    targets->on_config = on_config;
    if (targets->access.kind == ACCESS_KUBECONFIG)
        make_config(task, NULL);
    else
        request_token(task, target_access_seconds_for(&targets->access, left_ms), on_program_token);
}
