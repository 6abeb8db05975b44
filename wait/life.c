/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/life.h"

#include <signal.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory_trim.h"
#include "common/contract.h"
#include "common/kube/client.h"
#include "common/sandbox/sandbox.h"
#include "wait/activity.h"
#include "wait/exit_pipe.h"
#include "wait/pod_watch.h"
#include "wait/sink.h"
#include "wait/store.h"

struct life {
    const struct settings *settings;
    struct loop *loop;
    struct http_client *http;
    struct kube *kube; /* NULL in a local run */
    struct sink *sink;
    struct volume volume;
    struct deadline deadline;
    struct pod_watch *pod_watch;
    struct exit_pipe *exit_pipe;
    struct activity *activity; /* NULL in a local run: the runner always reports main's end */
    struct loop_timer activity_timer;
    struct observed observed;
    struct pod_facts facts;
    struct last_generation last;
    struct snapshot snapshot;
    int64_t snapshot_sequence;     /* 0: no snapshot is taken */
    uint64_t snapshot_fingerprint; /* of the state, from before the snapshot */
    bool is_snapshot_kept;         /* its upload goes on though main's time is over */
    int snapshot_attempts;
    bool is_end_requested;
    bool is_report_refused; /* the controller then deletes the pod without waiting for us */
    uint64_t saving_since_ms, reported_at_ms;
};

enum { ACTIVITY_CHECK_MS = 4000, REPORT_EVERY_MS = 5000 };

static void life_done(struct life *life)
{
    loop_timer_stop(&life->activity_timer);
    activity_free(life->activity);
    exit_pipe_free(life->exit_pipe);
    pod_watch_free(life->pod_watch);
    sink_free(life->sink);
    kube_free(life->kube);
    http_client_free(life->http);
    volume_done(&life->volume);
    loop_free(life->loop);
}

#define cleanup_life __attribute__((cleanup(life_done)))

/* ---- events ---- */

static void check_activity(void *data)
{
    struct life *life = data;

    if (life->observed.end.kind != MAIN_RUNNING)
        return;
    life->observed.is_idle = activity_is_idle(life->activity);
    if (!life->observed.is_idle)
        life->observed.idle_since_ms = loop_now_ms(life->loop); /* at the earliest */
    loop_timer_start(&life->activity_timer, ACTIVITY_CHECK_MS);
}

/* A generation with this sequence may exist already: a second one would never be restored. */
static bool is_snapshot_possible(const struct life *life)
{
    const struct state_outcome *outcome = &life->snapshot.outcome;

    return life->snapshot_sequence && outcome->delivery != DELIVERY_STORED &&
           !outcome->may_be_complete;
}

static void stop(struct life *life)
{
    if (life->observed.is_stopped)
        return;
    life->observed.is_stopped = true;
    life->observed.stopped_at_ms = loop_now_ms(life->loop);
    life->observed.snapshot_at_ms =
        is_snapshot_possible(life)
            ? decide_snapshot_at_ms(&life->observed, life->observed.stopped_at_ms)
            : 0;
    if (life->activity)
        check_activity(life);
}

static void on_signal(void *data, int signal_number)
{
    struct life *life = data;

    if (!life->observed.is_stopped)
        log_info("stopping: the state is saved when main has ended or its grace period is over",
                 log_number("signal", signal_number),
                 log_number("mainGraceSeconds", life->observed.main_grace_ms / 1000),
                 log_number("graceSeconds", life->observed.grace_ms / 1000));
    stop(life);
}

/* The controller is going to delete the pod. Main does not get a signal before that; until then a
 * snapshot may take as long as it needs. */
static void prepare_end(struct life *life)
{
    if (life->is_end_requested || life->observed.is_stopped)
        return;
    life->is_end_requested = true;
    life->observed.snapshot_at_ms = loop_now_ms(life->loop);
    log_info("the pod is going to be stopped: saving a snapshot of the state before that");
}

static void on_end(void *data, const struct main_end *end)
{
    struct life *life = data;

    life->observed.end = *end;
}

static void log_change(const struct main_end *before, const struct main_end *now)
{
    if (now->kind == before->kind && strcmp(now->reason, before->reason) == 0)
        return;
    if (now->kind == MAIN_NOT_STARTED)
        log_info("main is not started", log_text("reason", now->reason));
    else if (now->kind == MAIN_RUNNING)
        log_info("main is running");
}

static void on_pod_seen(void *data, const struct main_end *end, const struct pod_facts *facts)
{
    struct life *life = data;

    log_change(&life->observed.end, end);
    life->observed.end = *end;
    if (end->kind == MAIN_RUNNING)
        memory_trim();
    if (*facts->uid)
        life->facts = *facts;
    if (facts->grace_seconds && !life->settings->is_grace_known)
        life->observed.grace_ms = (uint64_t)facts->grace_seconds * 1000;
    /* The SIGTERM that belongs to it may have been sent before our handler was installed. */
    if (end->kind == MAIN_LOST || facts->is_being_deleted)
        stop(life);
    else if (facts->is_end_requested)
        prepare_end(life);
}

/* ---- set-up ---- */

static int set_up_kube(struct life *life, struct error *err)
{
    cleanup_kube_config struct kube_config *config = NULL;
    struct error activity_err = {0};

    if (kube_config_in_cluster(life->settings->service_account_dir, &config, err) < 0 ||
        http_client_new(life->loop, "longshore-wait/" LONGSHORE_VERSION, &life->http, err) < 0 ||
        kube_new(life->loop, life->http, config, &life->kube, err) < 0)
        return -1;
    config = NULL; /* owned by the client */
    /* Not fatal: a stopped main is then waited for until the end of its grace period. */
    if (life->settings->idle_ms &&
        activity_new(&life->volume, "/proc/self", &life->activity, &activity_err) < 0)
        log_info("can't detect whether main is idle", log_text("error", activity_err.text));
    loop_timer_init(&life->activity_timer, life->loop, check_activity, life);
    life->sink = sink_kube_new(life->kube, life->settings, &life->deadline);
    return 0;
}

static int set_up(struct life *life, struct clock *clock, struct error *err)
{
    static const int signals[] = {SIGTERM, SIGINT};
    const struct settings *settings = life->settings;

    if (loop_new(clock, &life->loop, err) < 0 ||
        loop_set_signals(life->loop, signals, array_length(signals), on_signal, life, err) < 0)
        return -1;
    life->deadline = (struct deadline){.loop = life->loop,
                                       .observed = &life->observed,
                                       .request_ms = settings->request_timeout_ms};
    if (volume_open(settings->state_path, settings->exports_path, &life->volume, err) < 0)
        return error_wrap(err, "shared volume");
    if (settings->sink_dir)
        return sink_directory_new(settings->sink_dir, clock, &life->sink, err);
    return set_up_kube(life, err);
}

static int enter_sandbox(const struct life *life, struct error *err)
{
    const struct settings *settings = life->settings;
    const char *token_dir =
        settings->service_account_dir ? settings->service_account_dir : PATH_SERVICE_ACCOUNT;
    const struct sandbox_path wanted[] = {
        {.path = life->volume.state.root_path},
        {.path = life->volume.exports.root_path},
        {.path = settings->sink_dir, .is_writable = true},
        {.path = settings->sink_dir ? NULL : token_dir}, /* read again when the token is rotated */
    };
    struct sandbox_path paths[array_length(wanted)] = {{0}};
    struct sandbox_result result = {0};
    struct sandbox_options options = {
        .paths = paths,
        .is_network_allowed = !settings->sink_dir,
    };

    for (size_t i = 0; i < array_length(wanted); i++) {
        if (wanted[i].path)
            paths[options.path_count++] = wanted[i];
    }
    if (sandbox_enter(&options, &result, err) < 0)
        return error_wrap(err, "sandbox");
    log_debug("sandbox entered", log_number("landlock", result.has_landlock));
    return 0;
}

static int start_waiting(struct life *life, struct error *err)
{
    const struct settings *settings = life->settings;
    struct pod_watch_options options = {
        .pod_name = settings->pod_name,
        .pod_namespace = settings->pod_namespace,
        .pod_uid = settings->pod_uid,
        .on_seen = on_pod_seen,
        .data = life,
    };

    if (settings->sink_dir)
        return exit_pipe_start(life->loop, settings->main_end_fd, on_end, life, &life->exit_pipe,
                               err);
    return pod_watch_start(life->kube, &options, &life->pod_watch, err);
}

/* ---- store ---- */

static void use_last(struct life *life)
{
    const struct settings *settings = life->settings;

    life->last.sequence = settings->last_sequence;
    (void)snprintf(life->last.sha256, sizeof(life->last.sha256), "%s", settings->last_sha256);
    /* Not in a local run, whose runner reports main's end at once and kills nobody. */
    if (settings->is_last_known && !settings->sink_dir)
        life->snapshot_sequence =
            store_snapshot_sequence(settings->next_sequence, settings->last_sequence);
}

static void find_last(struct life *life)
{
    struct error err = {0};

    /* Not fatal: an unchanged state is then stored once more. */
    if (!life->settings->is_last_known &&
        life->sink->operations->read_last(life->sink, &life->last, &err) < 0)
        log_info("reading the last generation of the state failed", log_text("error", err.text));
}

static struct origin make_origin(const struct life *life, int64_t sequence)
{
    const struct settings *settings = life->settings;

    return (struct origin){
        .item_name = settings->item_name,
        .item_namespace = settings->item_namespace,
        .job = settings->job ? settings->job : "",
        .pod_uid = settings->pod_uid ? settings->pod_uid : life->facts.uid,
        .sequence = sequence,
    };
}

static void log_state(const char *message, const struct state_outcome *state)
{
    log_info(message, log_text("delivery", delivery_name(state->delivery)),
             log_text("error", state->err.text), log_number("sequence", state->sequence),
             log_number("files", state->files), log_number("bytes", state->bytes),
             log_number("packedBytes", state->packed_bytes), log_number("chunks", state->chunks));
}

/* The controller does not read it once the pod is being deleted. Sets the duration: the API server
 * ignores a report with the same content as the one before, and the controller would not see it. */
static void report_progress(struct life *life, struct save_progress *progress)
{
    struct origin origin = make_origin(life, life->snapshot_sequence);
    struct error err = {0};

    progress->duration_ms = loop_now_ms(life->loop) - life->saving_since_ms;
    if (!life->settings->report_name || !life->sink->operations->report_progress ||
        life->is_report_refused || life->observed.is_stopped)
        return;
    if (life->sink->operations->report_progress(life->sink, &origin, progress, &err) < 0) {
        life->is_report_refused = true;
        log_info("reporting the progress of the snapshot failed", log_text("error", err.text));
    }
    life->reported_at_ms = loop_now_ms(life->loop);
}

/* Also while the state is packed, which takes minutes if wait gets little CPU time, and while the
 * final state is stored: the controller waits as long as there is progress. */
static void on_progress(void *data, int64_t stored, int64_t chunks)
{
    struct life *life = data;
    struct save_progress progress = {.stored = stored, .chunks = chunks};

    if (loop_now_ms(life->loop) >= life->reported_at_ms + REPORT_EVERY_MS)
        report_progress(life, &progress);
}

static struct store make_store(struct life *life, const struct origin *origin)
{
    return (struct store){
        .sink = life->sink,
        .volume = &life->volume,
        .deadline = &life->deadline,
        .origin = origin,
        .last = &life->last,
        .on_progress = on_progress,
        .data = life,
    };
}

/* When main's time is over, the upload of a snapshot goes on only if the state is still the same.
 * Otherwise the time is needed to store the state that main left. */
static bool is_snapshot_obsolete(void *data)
{
    struct life *life = data;
    uint64_t fingerprint = 0;

    if (life->is_snapshot_kept ||
        !decide_plan(&life->observed, loop_now_ms(life->loop)).is_store_due)
        return false;
    fingerprint = activity_state_fingerprint(&life->volume);
    life->is_snapshot_kept = fingerprint && fingerprint == life->snapshot_fingerprint;
    return !life->is_snapshot_kept;
}

static bool is_snapshot_repeated(const struct state_outcome *outcome)
{
    return !outcome->may_be_complete &&
           (outcome->delivery == DELIVERY_UNCHANGED || outcome->err.kind == ERROR_CONFLICT);
}

/* When the next snapshot is due. */
static uint64_t next_snapshot_at_ms(const struct life *life)
{
    const struct state_outcome *outcome = &life->snapshot.outcome;
    uint64_t now_ms = life->snapshot.ended_at_ms;

    if (!is_snapshot_repeated(outcome))
        return 0;
    if (life->observed.is_stopped)
        return decide_snapshot_at_ms(&life->observed, now_ms);
    return outcome->delivery == DELIVERY_FAILED
               ? decide_repeat_at_ms(life->snapshot_attempts, now_ms)
               : 0;
}

/* Stores the state while main may still be running, so that little is left to be done when main's
 * time is over: the pod is killed soon after. */
static void take_snapshot(struct life *life)
{
    struct origin origin = make_origin(life, life->snapshot_sequence);
    struct store store = make_store(life, &origin);
    struct state_outcome *outcome = &life->snapshot.outcome;

    memory_trim();
    store.is_obsolete = is_snapshot_obsolete;
    life->is_snapshot_kept = false;
    life->snapshot_attempts++;
    life->snapshot_fingerprint = activity_state_fingerprint(&life->volume);
    store_snapshot(&store, outcome);
    life->snapshot.ended_at_ms = loop_now_ms(life->loop);
    log_state("snapshot of the state", outcome);
    life->observed.snapshot_at_ms = next_snapshot_at_ms(life);
}

/* How many chunks the final state will need. A state that main never stops changing cannot be
 * packed and has to be estimated from the sizes of its files. */
static int64_t expected_chunks(const struct life *life)
{
    uint64_t bytes = 0;

    if (life->snapshot.outcome.chunks > 0)
        return life->snapshot.outcome.chunks;
    bytes = activity_state_bytes(&life->volume);
    return (int64_t)((bytes + STATE_CHUNK_BYTES - 1) / STATE_CHUNK_BYTES);
}

/* The same before the pod is stopped; the controller gets a report when it is done. */
static void take_requested_snapshot(struct life *life)
{
    struct save_progress progress = {0};

    life->saving_since_ms = loop_now_ms(life->loop);
    report_progress(life, &progress);
    life->observed.snapshot_at_ms = 0;
    if (is_snapshot_possible(life))
        take_snapshot(life);
    if (life->observed.is_stopped || life->observed.snapshot_at_ms)
        return;
    progress.is_done = true;
    progress.chunks = expected_chunks(life);
    progress.stored = life->snapshot.outcome.delivery == DELIVERY_STORED ? progress.chunks : 0;
    report_progress(life, &progress);
}

static void store_all(struct life *life, const struct plan *plan, struct state_outcome *ret_state,
                      struct export_outcome *ret_exports)
{
    struct origin origin = make_origin(life, 0);
    struct store store = make_store(life, &origin);

    find_last(life);
    origin.sequence = store_sequence(life->settings->next_sequence, life->last.sequence,
                                     life->facts.created_unix_seconds);
    store.snapshot = &life->snapshot;
    life->saving_since_ms = life->reported_at_ms = loop_now_ms(life->loop);
    memory_trim();
    store_state(&store, ret_state);
    log_state("state", ret_state);
    if (plan->is_export_due)
        store_exports(&store, ret_exports);
    log_info("exports", log_text("delivery", delivery_name(ret_exports->delivery)),
             log_text("error", ret_exports->err.text), log_number("bytes", ret_exports->bytes));
}

/* ---- wait ---- */

static int wait_for_main(struct life *life, struct plan *ret_plan, struct error *err)
{
    for (;;) {
        uint64_t now_ms = loop_now_ms(life->loop);
        struct plan plan = decide_plan(&life->observed, now_ms);
        int turn_ms = -1;

        if (plan.is_store_due) {
            *ret_plan = plan;
            return 0;
        }
        if (plan.is_snapshot_due) {
            if (life->observed.is_stopped)
                take_snapshot(life);
            else
                take_requested_snapshot(life);
            continue;
        }
        if (plan.wake_at_ms)
            turn_ms = plan.wake_at_ms - now_ms > 60000 ? 60000 : (int)(plan.wake_at_ms - now_ms);
        if (loop_run_once(life->loop, turn_ms, err) < 0)
            return -1;
    }
}

int life_run(const struct settings *settings, struct clock *clock, struct verdict *ret_verdict,
             struct error *err)
{
    cleanup_life struct life life = {
        .settings = settings,
        .volume = VOLUME_INIT,
        .observed = {.main_grace_ms = settings->main_grace_ms,
                     .grace_ms = settings->grace_ms,
                     .idle_ms = settings->idle_ms},
    };
    struct plan plan = {0};
    struct state_outcome state = {0};
    struct export_outcome exports = {0};
    struct error report_err = {0};

    use_last(&life);
    if (set_up(&life, clock, err) < 0 || enter_sandbox(&life, err) < 0 ||
        start_waiting(&life, err) < 0)
        return -1;
    log_info("waiting for main to end", log_text("pod", settings->pod_name),
             log_text("state", settings->state_path), log_text("exports", settings->exports_path));
    if (wait_for_main(&life, &plan, err) < 0)
        return -1;
    loop_timer_stop(&life.activity_timer);
    log_info("stopped waiting for main",
             log_text("main", main_end_kind_name(life.observed.end.kind)),
             log_number("exitCode", life.observed.end.exit_code),
             log_text("reason", life.observed.end.reason));
    store_all(&life, &plan, &state, &exports);
    decide_verdict(&life.observed, &plan, &state, &exports, ret_verdict);
    if (life.sink->operations->report &&
        life.sink->operations->report(life.sink, &life.observed, &state, &exports, &report_err) <
            0) {
        log_error("writing the result failed", log_text("error", report_err.text));
        ret_verdict->exit_code = 1;
    }
    return 0;
}
