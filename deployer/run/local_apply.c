/* SPDX-License-Identifier: Apache-2.0 */
/* The list of objects is written before the first of them is applied, and again when the server has
 * answered and when objects were removed. So a run that is killed leaves a list that contains every
 * object that may exist, and the next run continues with it. */
#include "deployer/run/local_apply.h"

#include <signal.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/run/local_apply_internal.h"
#include "deployer/run/object_list.h"
#include "deployer/run/origin.h"

enum { TICK_MS = 1000, RETRY_FIRST_MS = 1000, RETRY_MAX_MS = 30 * 1000 };

enum { STATUS_UNAUTHORIZED = 401, STATUS_NOT_FOUND = 404 };

/* ---- The end ---- */

static void end(struct local_apply *run)
{
    run->is_over = true;
    loop_stop(run->loop);
}

static void fail(struct local_apply *run, enum result_reason reason, const struct error *err)
{
    if (run->is_over)
        return;
    run->reason = reason;
    run->failure = *err;
    end(run);
}

/* What the user can do about an error that is not about the content of an object. */
static const char *advice_for(enum manifest_stage stage, const struct error *err)
{
    if (err->http_status == STATUS_UNAUTHORIZED)
        return "; the server does not accept the credentials: check the Target or --kubeconfig";
    if (err->kind == ERROR_DENIED)
        return "; give the user of the Target or of --kubeconfig this permission";
    if (stage == STAGE_PLAN && err->kind == ERROR_NOT_FOUND)
        return "; install its CustomResourceDefinition, or add it to the item";
    if (stage == STAGE_APPLY && err->http_status == STATUS_NOT_FOUND)
        return "; if its namespace is missing, create it, or add it to the item";
    return "";
}

/* The controller retries everything until the time of the item is over, because another item may
 * change what the server refuses. Here somebody is waiting: only what may pass by itself is
 * retried.
 */
static bool is_retried(const struct error *err)
{
    return err->kind == ERROR_TEMPORARY && err->http_status != STATUS_NOT_FOUND;
}

static void handle_error(struct local_apply *run)
{
    struct error err = run->work.error;
    const char *advice = advice_for(run->work.stage, &err);
    bool is_invalid = run->work.stage == STAGE_PLAN && err.kind == ERROR_INVALID;

    run->work.error = (struct error){0};
    if (is_retried(&err)) {
        uint32_t delay_ms = retry_next_ms(&run->retry, &err);

        show_retry(run->show, err.text, delay_ms);
        loop_timer_start(&run->next, delay_ms);
        return;
    }
    if (*advice) {
        struct error cause = err;

        (void)error_set(&err, cause.kind, "%.800s%s", cause.text, advice);
    }
    fail(run, is_invalid ? RESULT_INVALID : RESULT_FAILED, &err);
}

/* ---- The list of objects ---- */

static int store(struct local_apply *run, const struct inventory *inventory, struct error *err)
{
    if (object_list_write(workspace_fd(run->workspace), cluster_hash(run->work.cluster), inventory,
                          err) < 0)
        return error_wrap(err, "store the list of applied objects in \"%s\"",
                          workspace_path(run->workspace));
    return 0;
}

/* Before the first write to the cluster. */
static bool record(struct local_apply *run)
{
    struct error err = {0};

    if (store(run, &run->work.inventory, &err) < 0) {
        fail(run, RESULT_FAILED, &err);
        return false;
    }
    run->is_recorded = true;
    return true;
}

/* What the server has refused to create is not in the list. While objects are being applied, any of
 * them may exist: the list stays as it was recorded. After a deletion it is not needed any more. */
static int store_end(struct local_apply *run, struct error *err)
{
    cleanup_inventory struct inventory made = inventory_copy_made(&run->work.inventory);

    if (run->work.apply)
        return 0;
    if (run->work.is_delete && run->failure.kind == ERROR_NONE && made.count == 0)
        return object_list_remove(workspace_fd(run->workspace), cluster_hash(run->work.cluster),
                                  err);
    return store(run, &made, err);
}

static void store_final(struct local_apply *run)
{
    struct error err = {0};

    if (!run->is_recorded)
        return;
    if (store_end(run, &err) < 0 && run->failure.kind == ERROR_NONE)
        run->failure = err;
    if (run->failure.kind != ERROR_NONE && run->work.inventory.count > 0)
        show_note(run->show,
                  "the objects of the item are recorded in \"%s\": run the item again to continue, "
                  "or with --operation DELETE to remove them",
                  workspace_path(run->workspace));
}

/* ---- Progress ---- */

static void on_tick(void *data)
{
    struct local_apply *run = data;
    cleanup_free char *text = run->work.is_active ? manifest_work_describe(&run->work) : NULL;

    if (text)
        show_progress(run->show, text, 0);
    show_tick(run->show);
    loop_timer_start(&run->tick, TICK_MS);
}

/* ---- The stages ---- */

static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct local_apply *run = data;
    bool is_left = verdict != REMOVAL_DELETE;
    json_t *row = object_ref_json(ref);

    run->removed += is_left ? 0 : 1;
    run->left += is_left ? 1 : 0;
    (void)json_object_del(row, "uid");
    doc_set_text(row, "outcome", is_left ? "leftAlone" : "removed");
    (void)json_array_append_new(run->removals, row);
    if (verdict == REMOVAL_REPLACED || verdict == REMOVAL_MOVED) {
        cleanup_free char *object = object_ref_text(ref);

        show_note(run->show, "%s stays in the cluster: it %s", object,
                  removal_verdict_text(verdict));
    }
}

/* Decides outside of the callbacks of the work what comes next. */
static void on_over(void *data)
{
    struct local_apply *run = data;

    loop_timer_start(&run->next, 0);
}

/* The uids of what was applied, so that a later run recognizes objects that were replaced. */
static bool keep_applied(struct local_apply *run)
{
    struct error err = {0};

    if (store(run, &run->work.inventory, &err) == 0)
        return true;
    fail(run, RESULT_FAILED, &err);
    return false;
}

static void on_next(void *data)
{
    struct local_apply *run = data;
    struct manifest_work *work = &run->work;

    if (run->is_over)
        return;
    if (work->failure.kind != ERROR_NONE) {
        fail(run, RESULT_FAILED, &work->failure);
        return;
    }
    if (work->error.kind != ERROR_NONE) {
        handle_error(run);
        return;
    }
    if (run->is_shown && run->shown != work->stage) {
        retry_reset(&run->retry);
        local_apply_end_step(run);
        if (run->shown == STAGE_APPLY && !keep_applied(run))
            return;
    }
    if (work->stage == STAGE_DONE) {
        end(run);
        return;
    }
    if (work->stage == STAGE_PLAN) { /* again */
        manifest_work_begin(work);
        return;
    }
    if (work->stage == STAGE_RECORD) {
        if (!record(run))
            return;
        work->stage = STAGE_APPLY;
    }
    manifest_work_start(work);
    if (work->is_active)
        local_apply_begin_step(run, work->stage);
}

/* ---- Signals and timers ---- */

static int64_t timeout_ms(const struct local_apply *run)
{
    return run->options->timeout_ms ? run->options->timeout_ms : run->manifest->item->timeout_ms;
}

static void stop(struct local_apply *run, enum result_reason reason, const char *what)
{
    cleanup_free char *doing = run->work.is_active ? manifest_work_describe(&run->work) : NULL;
    const char *last_retry = show_last_retry(run->show);
    struct error err = {0};

    (void)error_set(&err, ERROR_CANCELLED, "%s%s%s%s%s", what, doing ? "; " : "",
                    doing ? doing : "", *last_retry ? "; the last error was: " : "", last_retry);
    fail(run, reason, &err);
}

static void on_timeout(void *data)
{
    struct local_apply *run = data;
    char duration[32] = {0};
    cleanup_free char *what = NULL;

    duration_format(timeout_ms(run) * 1000000, duration, sizeof(duration));
    what = xasprintf("timed out after %s (--timeout, or spec.timeout of the item)", duration);
    stop(run, RESULT_TIMED_OUT, what);
}

static void on_signal(void *data, int signal_number)
{
    (void)signal_number;
    stop(data, RESULT_INTERRUPTED, "interrupted");
}

/* ---- The beginning ---- */

static int connect(struct local_apply *run, struct error *err)
{
    struct offline_manifest *manifest = run->manifest;
    struct manifest_work *work = &run->work;

    run->pool = cluster_pool_new(run->loop, "longshore/" LONGSHORE_VERSION);
    if (cluster_get(run->pool, steal(&manifest->access), &work->cluster, err) < 0)
        return -1;
    work->seconds = xcalloc(manifest->second_count + 1, sizeof(*work->seconds));
    for (size_t i = 0; i < manifest->second_count; i++) {
        struct second_cluster *second = &work->seconds[i];

        if (cluster_get(run->pool, steal(&manifest->seconds[i].config), &second->cluster, err) < 0)
            return -1;
        second->target = xstrdup(manifest->seconds[i].target);
        work->second_count++;
    }
    return 0;
}

static int load_list(struct local_apply *run, struct error *err)
{
    const struct item *item = run->manifest->item;
    const char *cluster = cluster_hash(run->work.cluster);
    size_t others = 0;

    if (workspace_open(run->options->state, item->namespace_name, item->name, &run->workspace,
                       err) < 0)
        return -1;
    origin_check(run->workspace, run->options, run->show);
    if (run->work.is_observed)
        return 0;
    if (object_list_read(workspace_fd(run->workspace), cluster, &run->work.inventory,
                         &run->has_list, err) < 0)
        return error_wrap(err, "state directory \"%s\"", workspace_path(run->workspace));
    others = object_list_count(workspace_fd(run->workspace), cluster);
    if (run->work.is_delete && others > 0)
        show_note(run->show,
                  "the item was also applied to other clusters (%zu): delete it there with the "
                  "Target or --kubeconfig of each",
                  others);
    return 0;
}

static void show_unknown(struct local_apply *run)
{
    const struct mistakes *unknown = &run->manifest->unknown_fields;

    for (size_t i = 0; i < unknown->count; i++)
        show_warning(run->show, "ignored %s: %s", unknown->items[i].path, unknown->items[i].text);
}

static int set_up(struct local_apply *run, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static const struct manifest_work_events events = {.on_over = on_over,
                                                       .on_removed = on_removed};
    const struct item *item = run->manifest->item;

    if (loop_new(clock_system(), &run->loop, err) < 0)
        return -1;
    run->show = show_new(run->options->is_verbose, clock_system());
    loop_timer_init(&run->timeout, run->loop, on_timeout, run);
    loop_timer_init(&run->tick, run->loop, on_tick, run);
    loop_timer_init(&run->next, run->loop, on_next, run);
    retry_init(&run->retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    run->work.events = &events;
    run->work.data = run;
    run->work.is_delete = strcmp(run->options->operation, OPERATION_DELETE) == 0;
    run->work.config = steal(&run->manifest->config);
    manifest_owner_init(&run->work.owner, item->namespace_name, item->name);
    show_unknown(run);
    if (connect(run, err) < 0 || load_list(run, err) < 0)
        return -1;
    if (timeout_ms(run) > 0)
        loop_timer_start(&run->timeout, (uint64_t)timeout_ms(run));
    if (show_is_live(run->show))
        loop_timer_start(&run->tick, TICK_MS);
    return loop_set_signals(run->loop, signals, array_length(signals), on_signal, run, err);
}

static int perform(struct local_apply *run, struct error *err)
{
    if (set_up(run, err) < 0)
        return -1;
    if (run->work.is_delete && !run->has_list) {
        show_note(run->show, "no run has applied this item to %s: there is nothing to remove",
                  cluster_server(run->work.cluster));
        return 0;
    }
    run->is_recorded = run->work.is_delete; /* it only gets shorter */
    manifest_work_begin(&run->work);
    local_apply_begin_step(run, run->work.stage == STAGE_RECORD ? STAGE_PLAN : run->work.stage);
    if (run->work.is_delete || run->work.is_observed)
        manifest_work_start(&run->work);
    return loop_run(run->loop, err);
}

/* ---- After it ---- */

static void take_down(struct local_apply *run)
{
    loop_timer_stop(&run->timeout);
    loop_timer_stop(&run->tick);
    loop_timer_stop(&run->next);
    manifest_work_done(&run->work);
    cluster_pool_free(run->pool);
    workspace_close(run->workspace, false);
    json_decref(run->removals);
    show_free(run->show);
    loop_free(run->loop);
}

void local_apply_run(const struct run_options *options, struct offline_manifest *manifest,
                     struct inventory *observed, json_t *result)
{
    struct local_apply run = {.options = options,
                              .manifest = manifest,
                              .result = result,
                              .removals = json_array(),
                              .reason = RESULT_FAILED};
    struct error err = {0};

    if (observed) {
        run.work.is_observed = true;
        run.work.inventory = *observed;
        *observed = (struct inventory){0};
    }
    if (perform(&run, &err) < 0)
        run.failure = err;
    if (run.show) {
        show_clear(run.show);
        store_final(&run);
        local_apply_complete_result(&run);
    } else {
        result_fail(result, RESULT_FAILED, err.text);
    }
    take_down(&run);
}
