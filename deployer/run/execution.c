/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/execution.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/run/execution_internal.h"
#include "deployer/run/outcome.h"
#include "deployer/run/spec.h"
#include "deployer/run/staging.h"

enum { TICK_MS = 1000 };

/* ---- Signals and timers. ---- */

static void kill_main(void *data)
{
    struct execution *run = data;

    if (run->main.is_running)
        (void)kill(run->main.pid, SIGKILL);
}

/* SIGTERM, and SIGKILL after the grace period, as a kubelet does. */
static void stop_main(struct execution *run)
{
    (void)kill(run->main.pid, SIGTERM);
    loop_timer_start(&run->grace, (uint64_t)run->options->grace_ms);
}

/* Gives the run up before main has started: the step in progress fails with run->stop. */
static void stop_early(struct execution *run, enum result_reason reason, const char *what)
{
    const char *last_retry = show_last_retry(run->show);

    if (run->stop.kind != ERROR_NONE)
        return;
    run->reason = reason;
    (void)error_set(&run->stop, ERROR_CANCELLED, "%s while %s%s%s", what, run->activity,
                    *last_retry ? "; the last error was: " : "", last_retry);
    if (run->init.is_running)
        (void)kill(run->init.pid, SIGKILL);
}

/* --timeout, else the item's; not positive: none. */
static int64_t timeout_ms(const struct execution *run)
{
    return run->options->timeout_ms ? run->options->timeout_ms
                                    : run->documents->offline.item->timeout_ms;
}

static void on_timeout(void *data)
{
    struct execution *run = data;
    char duration[32] = {0};
    cleanup_free char *what = NULL;

    duration_format(timeout_ms(run) * 1000000, duration, sizeof(duration));
    run->is_timed_out = true;
    if (run->main.is_running) {
        show_note(run->show, "timed out after %s; sending SIGTERM to main", duration);
        stop_main(run);
        return;
    }
    what = xasprintf("timed out after %s (--timeout, or spec.timeout of the item)", duration);
    stop_early(run, RESULT_TIMED_OUT, what);
}

static void on_tick(void *data)
{
    struct execution *run = data;

    show_tick(run->show);
    loop_timer_start(&run->tick, TICK_MS);
}

static void on_signal(void *data, int signal_number)
{
    struct execution *run = data;

    if (signal_number == SIGCHLD) {
        reaper_collect(run->reaper);
        return;
    }
    run->interrupts++;
    if (run->main.is_running && run->interrupts == 1) {
        show_note(run->show,
                  "interrupted; main has %lld s to exit after SIGTERM, then its state is saved "
                  "(interrupt again to kill main)",
                  (long long)(run->options->grace_ms / 1000));
        stop_main(run);
    } else if (run->main.is_running) {
        kill_main(run);
    } else if (run->wait.is_running) {
        if (run->interrupts > 1)
            (void)kill(run->wait.pid, SIGKILL);
    } else {
        stop_early(run, RESULT_INTERRUPTED, "interrupted");
    }
}

/* ---- The steps in their order. ---- */

static void delete_container(struct execution *run)
{
    struct error err = {0};

    if (!run->main.pid || run->options->is_shell)
        return;
    if (runtime_delete(&run->runtime, &err) < 0)
        show_warning(run->show, "%s", err.text);
}

static void prepare_runtime(struct execution *run)
{
    const char *name = run->documents->offline.names.pod;

    run->runtime.id = name;
    run->runtime.has_cgroup = runtime_can_limit(run->has_user_namespace);
    run->cgroup = runtime_cgroup_name(name, workspace_path(run->workspace));
    runtime_remove_cgroup(run->cgroup);
    if (!run->runtime.has_cgroup &&
        doc_text(spec_container(run->objects.pod, CONTAINER_MAIN), "resources.limits.memory"))
        show_warning(run->show, "resources.limits.memory: not enforced, because this user cannot "
                                "create control groups");
}

/* After a successful DELETE the controller removes the item's state and uses no exports. */
static int finish_delete(struct execution *run, struct error *err)
{
    if (workspace_forget(run->workspace, err) < 0)
        return -1;
    json_object_set_new(run->result, "exports", json_object());
    json_object_set_new(run->result, "state", json_pack("{s:s}", "result", "removed"));
    show_end(run->show, "state removed");
    return 0;
}

/* helm has no state of its own: what it rendered passes to the parent. */
static int finish_helm(struct execution *run, struct error *err)
{
    if (local_helm_collect(run->workspace, run->result, err) < 0)
        return -1;
    show_end(run->show, "done");
    return 0;
}

/* Main and wait have ended. */
static int finish(struct execution *run, struct error *err)
{
    struct main_end end = {.exit_code = program_exit_code(run->main.status),
                           .timeout_ms = run->is_timed_out ? timeout_ms(run) : 0,
                           .is_interrupted = run->interrupts > 0,
                           .is_out_of_memory = execution_is_out_of_memory(run)};
    cleanup_free char *state = xasprintf("%s/state", workspace_path(run->workspace));
    struct outcome_summary summary = outcome_read(workspace_run_path(run->workspace), &end,
                                                  program_exit_code(run->wait.status), run->result);

    execution_explain_main(run);
    delete_container(run);
    if (workspace_adopt(run->workspace, 2, err) < 0) {
        run->is_state_pending = true;
        return error_wrap(err, "store the state (it is kept in \"%s\" for the next run)",
                          workspace_run_path(run->workspace));
    }
    if (run->documents->helm.is_item)
        return finish_helm(run, err);
    if (result_is_success(run->result) && strcmp(run->options->operation, OPERATION_DELETE) == 0)
        return finish_delete(run, err);
    doc_set_text(run->result, "state.path", state);
    show_end(run->show, "state %s, exports %s", summary.state, summary.exports);
    return 0;
}

/* Most items do not need the default Context, so it is mentioned only if a step has failed that
 * could need its credentials, or if verbose; err is NULL then. */
static void note_missing_context(struct execution *run, const struct error *err)
{
    const char *text = offline_missing_context(&run->documents->offline);
    bool is_wanted =
        err ? err->kind != ERROR_CANCELLED && !run->options->is_verbose : run->options->is_verbose;

    if (text && is_wanted)
        show_note(run->show, "%s", text);
}

static int run_steps(struct execution *run, struct error *err)
{
    cleanup_image_cache struct image_cache *cache = NULL;
    cleanup_free char *runtime_root = NULL;

    if (runtime_find(run->options->runtime, run->has_user_namespace, &run->runtime.program, err) <
            0 ||
        execution_prepare_workspace(run, err) < 0)
        return -1;
    if (timeout_ms(run) > 0 && !run->options->is_shell)
        loop_timer_start(&run->timeout, (uint64_t)timeout_ms(run));
    if (execution_prepare_image(run, &cache, err) < 0) {
        if (!source_is_local(run->documents->image))
            note_missing_context(run, err);
        return -1;
    }
    if (staging_mount(workspace_run_path(run->workspace), err) < 0)
        return -1;
    if (execution_run_init(run, err) < 0) {
        note_missing_context(run, err);
        return -1;
    }
    runtime_root = xasprintf("%s/runtime", workspace_run_path(run->workspace));
    run->runtime.root = runtime_root;
    prepare_runtime(run);
    if (execution_run_main(run, err) < 0) {
        delete_container(run);
        return -1;
    }
    return finish(run, err);
}

/* ---- Before and after. ---- */

static int set_up(struct execution *run, struct error *err)
{
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

    if (loop_new(clock_system(), &run->loop, err) < 0)
        return -1;
    run->show = show_new(run->options->is_verbose, clock_system());
    run->reaper = reaper_new();
    loop_timer_init(&run->timeout, run->loop, on_timeout, run);
    loop_timer_init(&run->grace, run->loop, kill_main, run);
    loop_timer_init(&run->tick, run->loop, on_tick, run);
    if (show_is_live(run->show) && !run->options->is_shell)
        loop_timer_start(&run->tick, TICK_MS);
    return loop_set_signals(run->loop, signals, array_length(signals), on_signal, run, err);
}

static void show_warnings(struct execution *run)
{
    const struct mistakes *unknown = &run->documents->offline.unknown_fields;

    note_missing_context(run, NULL);

    for (size_t i = 0; i < unknown->count; i++)
        show_warning(run->show, "ignored %s: %s", unknown->items[i].path, unknown->items[i].text);
}

/* Fields that are the same however the run ended. */
static void complete_result(struct execution *run)
{
    bool has_init_failed = run->init.pid && program_exit_code(run->init.status) != 0;

    json_object_set_new(run->result, "durations", show_durations(run->show));
    json_object_set_new(
        run->result, "logTail",
        show_tail_lines(run->show, has_init_failed ? CONTAINER_INIT : CONTAINER_MAIN));
    if (!run->options->is_kept || !run->workspace)
        return;
    doc_set_text(run->result, "runPath", workspace_run_path(run->workspace));
    show_note(run->show,
              "files of the run, secrets included, are kept in \"%s\" until the next run",
              workspace_run_path(run->workspace));
}

static void take_down(struct execution *run)
{
    if (run->workspace)
        staging_unmount(workspace_run_path(run->workspace));
    workspace_close(run->workspace, run->options->is_kept || run->is_state_pending);
    image_done(&run->image);
    pod_objects_done(&run->objects);
    reaper_free(run->reaper);
    show_free(run->show);
    loop_free(run->loop);
    json_decref(run->spec);
    free(run->exec_message);
    free(run->cgroup);
}

void execution_run(const struct run_options *options, struct documents *documents, json_t *result)
{
    struct execution run = {.options = options,
                            .documents = documents,
                            .result = result,
                            .reason = RESULT_FAILED,
                            .activity = "it was prepared"};
    struct error err = {0};
    int failed = 0;

    /* The pod's user must be able to read what is created here, so the caller's umask must not
     * apply. */
    (void)umask(022);
    /* Taken from outside: in here the effective user id is 0 for every user. */
    run.has_user_namespace = documents->is_unprivileged;
    failed = set_up(&run, &err);
    if (failed == 0) {
        show_warnings(&run);
        failed = run_steps(&run, &err);
    }
    if (failed)
        result_fail(result, run.reason, err.text);
    if (run.show) {
        complete_result(&run);
        show_clear(run.show);
    }
    take_down(&run);
}
