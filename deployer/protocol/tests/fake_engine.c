/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/tests/fake_engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/list.h"
#include "deployer/protocol/act.h"

/* ---- Tracking ---- */

static void untrack(struct record *record)
{
    struct fake_run *run = record->tracked;

    if (run)
        free(run->job);
    free(run);
    record->tracked = NULL;
}

void fake_track(struct record *record, const char *job, bool is_delete)
{
    struct fake_run *run = xcalloc(1, sizeof(*run));

    untrack(record);
    *run = (struct fake_run){.job = xstrdup(job), .is_delete = is_delete, .steps_left = 2};
    record->tracked = run;
}

static bool item_seen(struct engine *engine, struct record *record, const struct item *item)
{
    const struct fake_run *run = record->tracked;
    bool is_wanted = record->is_finished && *item->job && !item->is_deleting &&
                     doc_bool_or(item->config, "followUp", false);

    (void)engine;
    if (is_wanted && !run) {
        fake_track(record, item->job, false);
        ((struct fake_run *)record->tracked)->is_followed = true;
    } else if (run && run->is_followed && !is_wanted) {
        untrack(record);
    }
    return record->tracked != NULL;
}

static void item_gone(struct engine *engine, const char *namespace_name, const char *name)
{
    struct record *record = index_find(engine->controller->index, namespace_name, name);
    const struct fake_run *run = record ? record->tracked : NULL;

    if (run && run->is_followed)
        untrack(record);
}

static void see(struct controller *controller, const json_t *object)
{
    struct record *record = index_add(controller->index, doc_text_or(object, "data.namespace", ""),
                                      doc_text_or(object, "data.name", ""));

    if (!record->tracked)
        fake_track(record, doc_text_or(object, "data.job", ""),
                   strcmp(doc_text_or(object, "data.operation", ""), OPERATION_DELETE) == 0);
}

static void on_listed_item(void *data, const json_t *object, const struct error *err)
{
    (void)err;
    if (doc_get(object, "data.job"))
        see(((struct fake_engine *)data)->base.controller, object);
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct fake_engine *engine = data;

    (void)resource_version;
    (void)err;
    engine->list = NULL;
    engine->is_synced = true;
    controller_touch_all(engine->base.controller);
}

static int start(struct controller *controller, struct engine **ret_engine, struct error *err)
{
    struct fake_engine *engine = xcalloc(1, sizeof(*engine));
    struct kube_list_options options = {.resource = KUBE_CONFIG_MAPS,
                                        .namespace_name = controller->config->namespace_name,
                                        .on_item = on_listed_item,
                                        .on_done = on_listed,
                                        .data = engine};

    engine->base.controller = controller;
    *ret_engine = &engine->base;
    return kube_list_start(controller->host, &options, &engine->list, err);
}

static void engine_free(struct engine *base)
{
    kube_list_cancel(((struct fake_engine *)base)->list);
    free(base);
}

static bool is_synced(const struct engine *base)
{
    return ((const struct fake_engine *)base)->is_synced;
}

static bool serves(const struct deployer_config *config, const char *type)
{
    (void)config;
    return strcmp(type, DEPLOY_ITEM_TYPE_CONTAINER) == 0;
}

/* ---- Observing ---- */

static bool result_is(const struct task *task, const char *result)
{
    return task->item && strcmp(doc_text_or(task->item->config, "result", ""), result) == 0;
}

static void observe(struct task *task, struct execution *e)
{
    const struct fake_run *run = task->record->tracked;

    e->history = RUN_SOME;
    e->is_absence_sure = !run;
    if (!run)
        return;
    if (run->is_followed) {
        e->needs_follow_up = run->steps_left > 0;
        return;
    }
    e->is_delete = run->is_delete;
    e->claim = task->item && strcmp(run->job, task->item->job) == 0 ? EXECUTION_OF_JOB
                                                                    : EXECUTION_OF_OTHER_JOB;
    e->state = EXECUTION_RUNNING;
    e->needs_step = run->steps_left > 0;
    if (!result_is(task, "hang") && run->steps_left == 0)
        e->state = result_is(task, "fail") ? EXECUTION_FAILED : EXECUTION_SUCCEEDED;
    e->is_over = e->state != EXECUTION_RUNNING;
}

static void report(struct task *task, enum report_kind kind, json_t *status)
{
    doc_set_text(status, "providerStatus.apiVersion", "fake/v1");
    doc_set_text(status, "providerStatus.kind", "ProviderStatus");
    doc_set_text(status, "providerStatus.lastOperation", task_operation(task));
    if (kind == REPORT_SUCCESS)
        doc_set_text(status, "providerStatus.podStatus.lastSuccessfulJobID", task->item->job);
}

static void explain(struct task *task, enum explanation_kind kind, struct explanation *explanation)
{
    (void)task;
    explanation->message =
        xstrdup(kind == EXPLAIN_FAILED ? "it failed as asked" : "it was running");
}

static char *blocker(const struct task *task)
{
    const struct fake_run *run = task->record->tracked;

    return run ? xasprintf("the execution of job \"%s\" has not ended", run->job) : NULL;
}

/* ---- Actions ---- */

static void request(struct task *task, enum kube_verb verb, const json_t *body, task_next_fn *next)
{
    struct kube_request wanted = {.verb = verb,
                                  .resource = KUBE_CONFIG_MAPS,
                                  .namespace_name = task->controller->config->namespace_name,
                                  .name = verb == KUBE_CREATE ? NULL : task->record->name,
                                  .grace_seconds = -1,
                                  .body = body};

    task_request(task, task->controller->host, &wanted, next);
}

static void on_read(struct task *task, json_t *object, const struct error *err)
{
    if (!act_is_removed(err)) {
        task_back_off(task, "cannot read the execution", err);
        return;
    }
    if (err->kind == ERROR_NONE)
        see(task->controller, object);
    task_done(task);
}

static void verify(struct task *task)
{
    request(task, KUBE_GET, NULL, on_read);
}

static void on_made(struct task *task, json_t *object, const struct error *err)
{
    if (err->kind == ERROR_EXISTS)
        verify(task);
    else if (err->kind != ERROR_NONE)
        task_set_fault(task, "Fake", "Start", err, NULL);
    else
        on_read(task, object, err);
}

static void start_execution(struct task *task)
{
    cleanup_json json_t *body = json_pack(
        "{s:s,s:s,s:{s:s},s:{s:s,s:s,s:s,s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
        "metadata", "name", task->record->name, "data", "namespace", task->record->namespace_name,
        "name", task->record->name, "job", task->item->job, "operation", task_operation(task));

    request(task, KUBE_CREATE, body, on_made);
}

static void step(struct task *task)
{
    ((struct fake_run *)task->record->tracked)->steps_left--;
    task_done(task);
}

static void on_followed(struct task *task, json_t *object, const struct error *err)
{
    struct fake_run *run = task->record->tracked;

    (void)object;
    if (err->kind != ERROR_NONE && err->kind != ERROR_EXISTS) {
        task_back_off(task, "cannot look after the item", err);
        return;
    }
    if (run)
        run->steps_left = 0;
    task_done(task);
}

static void follow_up(struct task *task)
{
    cleanup_free char *name = xasprintf("%s-followed", task->record->name);
    cleanup_json json_t *body = json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind",
                                          "ConfigMap", "metadata", "name", name);

    request(task, KUBE_CREATE, body, on_followed);
}

static void on_removed(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (!act_is_removed(err)) {
        task_back_off(task, "cannot remove the execution", err);
        return;
    }
    untrack(task->record);
    if (task->item)
        (void)item_seen(task->engine, task->record, task->item);
    task_done(task);
}

static void remove_execution(struct task *task)
{
    request(task, KUBE_DELETE, NULL, on_removed);
}

static void complete(struct task *task)
{
    cleanup_json json_t *exports = json_pack("{s:s}", SECRET_KEY_CONFIG, "e30=");

    act_complete_with(task, exports);
}

const struct engine_class FAKE_ENGINE = {
    .traits.deployer_name = "fake",
    .lock_prefix = LOCK_PREFIX,
    .traits.timeout_subject = "fake deployer",
    .traits.start_operation = "Fake",
    .serves = serves,
    .start = start,
    .free = engine_free,
    .is_synced = is_synced,
    .item_seen = item_seen,
    .item_gone = item_gone,
    .untrack = untrack,
    .observe = observe,
    .report = report,
    .explain = explain,
    .blocker = blocker,
    .start_execution = start_execution,
    .step = step,
    .follow_up = follow_up,
    .verify = verify,
    .end_execution = remove_execution,
    .discard_execution = remove_execution,
    .complete = complete,
};
