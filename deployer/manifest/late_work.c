/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of requests for an item that is watched after its job: connects to the clusters, or
 * reports what has changed, or triggers a job of the root Installation.
 *
 * A trigger is stored in the item's status before it is sent, and the request that sets the
 * operation annotation leaves a mark on the Installation. After a crash at any point the mark shows
 * whether the stored trigger was sent. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/item/status.h"
#include "deployer/manifest/late.h"
#include "deployer/manifest/late_root.h"
#include "deployer/objects/targets.h"
#include "deployer/protocol/act.h"
#include "deployer/protocol/events.h"
#include "deployer/protocol/observe.h"
#include "deployer/protocol/report.h"

enum { OWNERS_MAX = 32 };

static const struct kube_resource INSTALLATIONS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                   RESOURCE_INSTALLATIONS};
static const struct kube_resource EXECUTIONS = {LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                                RESOURCE_EXECUTIONS};

struct late_work {
    struct late_watch_parts parts;
    struct inventory inventory;
    json_t *owner; /* the object whose owner is looked for: the item, later Installations */
    unsigned depth;
    struct late_decision decision;
    enum late_verdict verdict; /* being reported */
};

static void parts_done(struct late_watch_parts *parts)
{
    manifest_seconds_free(parts->seconds, parts->second_count);
    cluster_put(parts->cluster);
    manifest_config_free(parts->config);
    *parts = (struct late_watch_parts){0};
}

void late_work_free(struct late_work *work)
{
    if (!work)
        return;
    parts_done(&work->parts);
    inventory_done(&work->inventory);
    json_decref(work->owner);
    free(work);
}

static struct late_work *work_of(const struct task *task)
{
    return manifest_task(task)->late;
}

/* NULL: the item is not watched any more, for example because a job has begun. */
static struct late_item *late_of(const struct task *task)
{
    return task->item ? task->record->tracked : NULL;
}

/* The chain is over. Unless it succeeded, it is repeated with back-off. */
static void finish(struct task *task, bool is_success)
{
    struct late_item *late = task->record->tracked;

    if (late && is_success) {
        retry_reset(&late->retry);
        late->retry_unix_ms = 0;
    }
    if (late)
        loop_timer_start(&late->timer, 0);
    task_done(task);
}

static void log_problem(const struct task *task, const char *what, const struct error *err)
{
    log_info(what, log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name), log_text("error", err->text));
}

/* ---- Reporting ---- */

static void count(struct task *task, enum late_verdict verdict)
{
    metrics_count_late(&task->controller->metrics, late_verdict_reason(verdict));
}

/* One Event for each change. */
static void announce(struct task *task, const struct late_item *late)
{
    cleanup_free char *id = xasprintf("late-%s", late->view.change);
    cleanup_free char *text = late_watch_describe(late->watch);

    events_send_once(task, id, "LateChange", text);
}

/* The report is in the status. */
static void note_report(struct task *task)
{
    struct late_item *late = late_of(task);
    enum late_verdict verdict = work_of(task)->verdict;
    cleanup_free char *key = late && late->watch ? late_key(late, verdict) : NULL;

    if (!key || (late->shown && strcmp(late->shown, key) == 0))
        return;
    if (late_verdict_is_change(verdict) && *late->view.change)
        announce(task, late);
    count(task, verdict);
    free(late->shown);
    late->shown = steal(&key);
}

static void on_reported(struct task *task, json_t *object, const struct error *err)
{
    const struct late_work *work = work_of(task);

    (void)object;
    (void)err;
    note_report(task);
    /* While there is a reason against a job, the Installation is looked at again with back-off. */
    finish(task, !work->decision.is_trigger || work->verdict == LATE_TRIGGERED);
}

static void write_report(struct task *task, const struct late_item *late, enum late_verdict verdict,
                         const struct late_memory *memory, task_next_fn *next)
{
    json_t *status = json_deep_copy(task->item->status);

    work_of(task)->verdict = verdict;
    late_watch_report(late->watch, verdict, late->was_ready, status,
                      controller_now_unix_ms(task->controller));
    if (json_is_object(json_object_get(status, "providerStatus")))
        manifest_status_set_late(status, memory, task->item->job);
    report_write(task, status, next);
}

static void on_problem_reported(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    finish(task, false);
}

/* There is no connection: that is no change, but people should see it. */
static void report_problem(struct task *task, const struct error *err)
{
    json_t *status = NULL;
    cleanup_json json_t *next =
        json_pack("{s:s,s:s,s:o}", "status", "Unknown", "reason", late_verdict_reason(LATE_UNKNOWN),
                  "message", doc_new_text(err->text));

    log_problem(task, "cannot watch for late changes", err);
    if (!late_of(task)) {
        finish(task, false);
        return;
    }
    status = json_deep_copy(task->item->status);
    status_set_condition(status, CONDITION_STILL_READY, next,
                         controller_now_unix_ms(task->controller));
    report_write(task, status, on_problem_reported);
}

/* ---- Connecting ---- */

static void start_watch(struct task *task, const json_t *exported, const char *secret_uid)
{
    struct late_work *work = work_of(task);
    struct late_item *late = late_of(task);
    struct error err = {0};

    if (!late) {
        finish(task, false);
        return;
    }
    work->parts.inventory = &work->inventory;
    work->parts.exported = exported;
    work->parts.secret_uid = secret_uid;
    late_watch_free(late->watch);
    late->watch = NULL;
    if (late_watch_start(late, &work->parts, &late->watch, &err) < 0)
        report_problem(task, &err);
    else
        finish(task, true);
}

static void on_secret(struct task *task, json_t *object, const struct error *err)
{
    const char *encoded = doc_text_or(doc_member(object, "data"), SECRET_KEY_CONFIG, "");
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *exported = NULL;
    struct error cause = *err;

    if (err->kind == ERROR_NOT_FOUND) {
        start_watch(task, NULL, NULL);
        return;
    }
    buffer_init(&text, SECRET_MAX_BYTES);
    if (err->kind != ERROR_NONE || base64_decode(encoded, strlen(encoded), &text, &cause) < 0 ||
        doc_parse_json(text.data, text.size, SECRET_MAX_BYTES, &exported, &cause) < 0) {
        (void)error_wrap(&cause, "export Secret");
        report_problem(task, &cause);
        return;
    }
    start_watch(task, exported, doc_text_or(object, "metadata.uid", ""));
}

static void on_cluster(struct task *task, const char *name, struct cluster *cluster)
{
    struct late_watch_parts *parts = &work_of(task)->parts;

    if (!parts->cluster)
        parts->cluster = cluster; /* the item's own is the first one */
    else
        parts->seconds[parts->second_count++] =
            (struct second_cluster){.target = xstrdup(name), .cluster = cluster};
}

static void on_targets(struct task *task)
{
    cleanup_free char *name = NULL;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name};

    if (!late_of(task) || !task->item->has_export ||
        work_of(task)->parts.config->export_count == 0) {
        start_watch(task, NULL, NULL);
        return;
    }
    name = act_export_name(task);
    request.name = name;
    task_request(task, task->controller->landscaper, &request, on_secret);
}

static void on_target_failed(struct task *task, const char *reason, const struct error *err,
                             const char *code)
{
    (void)code;
    if (strcmp(reason, TARGETS_NOT_OURS) == 0) {
        late_untrack(task->record);
        task_done(task);
        return;
    }
    report_problem(task, err);
}

static void connect(struct task *task)
{
    static const struct targets_handler handler = {on_cluster, on_targets, on_target_failed};
    struct late_work *work = work_of(task);
    const char *own = item_effective_target(task->item);
    cleanup_manifest_status struct manifest_status stored = {0};
    cleanup_json json_t *names = NULL;
    struct error err = {0};

    work->parts.config = manifest_config_for_watch(task->item->config);
    if (!work->parts.config || !own)
        (void)error_set(&err, ERROR_INVALID, "the provider configuration is not valid any more");
    if (err.kind != ERROR_NONE ||
        manifest_status_parse(doc_member(task->item->status, "providerStatus"), &stored, &err) <
            0) {
        report_problem(task, &err);
        return;
    }
    work->inventory = stored.inventory;
    stored.inventory = (struct inventory){0};
    names = manifest_config_targets(work->parts.config, false);
    work->parts.seconds = xcalloc(json_array_size(names) + 1, sizeof(*work->parts.seconds));
    (void)json_array_insert_new(names, 0, json_string(own));
    targets_read(task, steal(&names), &handler);
}

/* ---- Triggering ---- */

static void decline(struct task *task, enum late_verdict verdict)
{
    struct late_item *late = late_of(task);

    if (late && late->watch)
        write_report(task, late, verdict, &late->memory, on_reported);
    else
        finish(task, false);
}

static char *mark_of(const struct task *task)
{
    const struct late_memory *memory = &work_of(task)->decision.memory;

    return late_root_mark(memory, task->record->uid);
}

static void confirm(struct task *task)
{
    struct late_item *late = late_of(task);
    struct late_memory memory = work_of(task)->decision.memory;

    if (!late || !late->watch) {
        finish(task, true);
        return;
    }
    memory.is_pending = false;
    write_report(task, late, LATE_TRIGGERED, &memory, on_reported);
}

static void on_triggered(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    if (err->kind == ERROR_DENIED) {
        decline(task, LATE_FORBIDDEN);
        return;
    }
    if (err->kind != ERROR_NONE) {
        log_problem(task, "cannot trigger a job", err);
        finish(task, false);
        return;
    }
    log_info("job triggered", log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("installation", doc_text_or(work_of(task)->owner, "metadata.name", "")));
    metrics_count_late(&task->controller->metrics, METRICS_LATE_JOB);
    confirm(task);
}

/* Fails if anybody has changed the Installation since it was read. */
static void send_trigger(struct task *task)
{
    const json_t *root = work_of(task)->owner;
    cleanup_free char *mark = mark_of(task);
    cleanup_json json_t *body = json_pack(
        "{s:{s:s,s:{s:s,s:s}}}", "metadata", "resourceVersion",
        doc_text_or(root, "metadata.resourceVersion", ""), "annotations", ANNOTATION_OPERATION,
        OPERATION_ANNOTATION_RECONCILE, ANNOTATION_TRIGGERED_BY, mark);
    struct kube_request request = {.verb = KUBE_PATCH_MERGE,
                                   .resource = INSTALLATIONS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = doc_text_or(root, "metadata.name", ""),
                                   .body = body};

    if (late_of(task))
        task_request(task, task->controller->landscaper, &request, on_triggered);
    else
        finish(task, false);
}

static void on_stored(struct task *task, json_t *object, const struct error *err)
{
    (void)object;
    (void)err;
    note_report(task);
    send_trigger(task);
}

static void on_root(struct task *task)
{
    struct late_item *late = late_of(task);
    struct late_work *work = work_of(task);
    cleanup_free char *mark = mark_of(task);
    bool is_pending = late && late->memory.is_pending;

    if (!late || !late->watch)
        finish(task, false);
    else if (is_pending && late_root_is_marked(work->owner, mark))
        confirm(task);
    else if (late_root_judge(work->owner) != LATE_TRIGGERED)
        decline(task, late_root_judge(work->owner));
    else if (is_pending)
        send_trigger(task);
    else
        write_report(task, late, LATE_TRIGGERED, &work->decision.memory, on_stored);
}

static void find_root(struct task *task);

static void on_owner(struct task *task, json_t *object, const struct error *err)
{
    struct late_work *work = work_of(task);

    if (err->kind == ERROR_NOT_FOUND) {
        decline(task, LATE_NO_INSTALLATION);
    } else if (err->kind == ERROR_DENIED) {
        decline(task, LATE_FORBIDDEN);
    } else if (err->kind != ERROR_NONE) {
        log_problem(task, "cannot find the root Installation", err);
        finish(task, false);
    } else {
        json_decref(work->owner);
        work->owner = json_incref(object);
        find_root(task);
    }
}

static void find_root(struct task *task)
{
    struct late_work *work = work_of(task);
    const json_t *reference = late_root_owner(work->owner);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = EXECUTIONS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = doc_text_or(reference, "name", "")};

    if (!reference && late_root_is_installation(work->owner)) {
        on_root(task);
        return;
    }
    if (!reference || ++work->depth > OWNERS_MAX) {
        decline(task, LATE_NO_INSTALLATION);
        return;
    }
    if (strcmp(doc_text_or(reference, "kind", ""), KIND_INSTALLATION) == 0)
        request.resource = INSTALLATIONS;
    task_request(task, task->controller->landscaper, &request, on_owner);
}

/* ---- The beginning ---- */

static void act(struct task *task, struct late_item *late)
{
    struct late_work *work = work_of(task);

    work->decision = late_decision_of(late);
    if (work->decision.is_trigger)
        find_root(task);
    else if (work->decision.verdict == LATE_WATCHING)
        finish(task, true);
    else
        write_report(task, late, work->decision.verdict, &work->decision.memory, on_reported);
}

static void on_item(struct task *task, json_t *object, const struct error *err)
{
    struct late_item *late = NULL;

    if (err->kind != ERROR_NONE || !task_take_item(task, object)) {
        finish(task, false);
        return;
    }
    late = late_of(task);
    work_of(task)->owner = json_incref(object);
    if (!late)
        finish(task, false);
    else if (!late->watch)
        connect(task);
    else
        act(task, late);
}

void late_follow_up(struct task *task)
{
    struct late_item *late = task->record->tracked;
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_DEPLOY_ITEMS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->record->namespace_name,
                                   .name = task->record->name};
    const struct error none = {0};

    late->is_due = false;
    late->retry_unix_ms =
        controller_now_unix_ms(task->controller) + retry_next_ms(&late->retry, &none);
    manifest_task(task)->late = xcalloc(1, sizeof(struct late_work));
    task_request(task, task->controller->landscaper, &request, on_item);
}
