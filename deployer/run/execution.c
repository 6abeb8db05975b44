/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "common/state/restore.h"
#include "deployer/run/helper.h"
#include "deployer/run/image.h"
#include "deployer/run/imported_state.h"
#include "deployer/run/outcome.h"
#include "deployer/run/output.h"
#include "deployer/run/program.h"
#include "deployer/run/runtime.h"
#include "deployer/run/runtime_bundle.h"
#include "deployer/run/secret_volumes.h"
#include "deployer/run/show.h"
#include "deployer/run/spec.h"
#include "deployer/run/staging.h"
#include "deployer/run/workspace.h"

struct execution {
    const struct run_options *options;
    struct documents *documents;
    struct loop *loop;
    struct reaper *reaper;
    struct show *show;
    struct workspace *workspace;
    struct pod_objects objects;
    struct image image;
    struct runtime runtime;
    char *cgroup;
    bool has_user_namespace;
    struct child init, main, wait;
    struct loop_timer timeout, grace;
    int interrupts;
    bool is_timed_out;
    bool is_state_pending; /* wait delivered state that could not be adopted */
    int out_fd;            /* directory of --out, or -1 */
};

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
    if (!run->main.is_running)
        return;
    (void)kill(run->main.pid, SIGTERM);
    loop_timer_start(&run->grace, (uint64_t)run->options->grace_ms);
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

    run->is_timed_out = true;
    show_note(run->show, "timed out; sending SIGTERM to main");
    stop_main(run);
}

static void close_workspace(struct execution *run, bool is_run_kept)
{
    if (run->workspace)
        staging_unmount(workspace_run_path(run->workspace));
    workspace_close(run->workspace, is_run_kept);
    run->workspace = NULL;
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
        /* Main has not started, so there is no state to save. Exiting as process 1 ends everything
         * in the namespaces. */
        show_note(run->show, "interrupted");
        close_workspace(run, false);
        _exit(RUN_EXIT_INTERRUPTED);
    }
}

/* ---- Steps. ---- */

static void on_image_progress(void *data, const char *what, uint64_t bytes)
{
    struct execution *run = data;

    show_progress(run->show, what, bytes);
}

static int prepare_image(struct execution *run, struct image_cache **ret_cache, struct error *err)
{
    cleanup_free char *path =
        run->options->cache ? xstrdup(run->options->cache) : image_cache_default_path();
    struct source source = {0};
    struct image_request request = {.source = &source,
                                    .loop = run->loop,
                                    .keyring = run->documents->keyring,
                                    .is_plain_http = run->options->is_plain_http,
                                    .is_insecure = run->options->is_insecure,
                                    .on_progress = on_image_progress,
                                    .data = run};
    int result = 0;

    show_begin(run->show, "image");
    if (image_cache_open(path, (uint64_t)run->options->cache_bytes, ret_cache, err) < 0 ||
        source_parse(run->documents->image, &source, err) < 0)
        return -1;
    request.cache = *ret_cache;
    result = image_prepare(&request, &run->image, err);
    source_done(&source);
    if (result == 0)
        show_end(run->show, "%s%s", run->documents->image,
                 run->image.was_cached ? " (cached)" : "");
    return result;
}

static int prepare_inputs(struct execution *run, struct error *err)
{
    static const char *const containers[] = {CONTAINER_INIT, CONTAINER_MAIN, CONTAINER_WAIT};
    const char *run_path = workspace_run_path(run->workspace);

    for (size_t i = 0; i < array_length(containers); i++) {
        if (helper_prepare(run_path, containers[i], err) < 0)
            return -1;
    }
    return secret_volumes_fill(run->objects.pod, run->objects.input,
                               workspace_state_fd(run->workspace), run_path, err);
}

static int prepare_workspace(struct execution *run, struct error *err)
{
    struct state_set *state = &run->documents->offline.state;
    char uid[UUID_TEXT_SIZE] = {0};

    if (workspace_open(run->options->state, run->documents->offline.item->namespace_name,
                       run->documents->offline.item->name, &run->workspace, err) < 0)
        return -1;
    if (run->documents->state_secrets &&
        (workspace_forget(run->workspace, err) < 0 ||
         imported_state_write(run->documents->state_secrets, workspace_state_fd(run->workspace),
                              err) < 0))
        return -1;
    if (workspace_begin(run->workspace, err) < 0 ||
        state_set_add_directory(state, workspace_state_fd(run->workspace), err) < 0)
        return -1;
    state_set_arrange(state);
    if (offline_objects(&run->documents->offline, run->options->operation, &run->objects, err) < 0)
        return -1;
    uuid_make(uid);
    doc_set_text(run->objects.pod, "metadata.uid", uid);
    return prepare_inputs(run, err);
}

static int run_init(struct execution *run, struct error *err)
{
    struct output output = {.fd = -1};
    struct helper helper = {.name = CONTAINER_INIT,
                            .program = STAGING_INIT,
                            .pod = run->objects.pod,
                            .end_fd = -1,
                            .is_plain_http = run->options->is_plain_http,
                            .is_insecure = run->options->is_insecure};
    cleanup_free char *message = NULL;
    int result = 0;

    show_begin(run->show, "init");
    if (output_open(&output, run->loop, run->show, CONTAINER_INIT, &helper.output_fd, err) < 0)
        return -1;
    result = helper_start(&helper, &run->init.pid, err);
    (void)close(helper.output_fd);
    if (result == 0) {
        child_watch(&run->init, run->reaper);
        result = child_await(&run->init, run->loop, err);
        output_drain(&output);
    }
    output_close(&output);
    if (result < 0)
        return -1;
    if (program_exit_code(run->init.status) != 0) {
        message = helper_message(workspace_run_path(run->workspace), CONTAINER_INIT);
        if (*message)
            return error_set(err, ERROR_INVALID, "%s", message); /* begins with "init failed" */
        show_tail(run->show, CONTAINER_INIT);
        return error_set(err, ERROR_INVALID, "init failed without a message; see its output above");
    }
    show_end(run->show, "inputs and state ready");
    return 0;
}

/* Only if main itself was killed: a child of main that ran out of memory does not fail the
 * container in a cluster either. */
static bool was_out_of_memory(const struct execution *run)
{
    return run->runtime.has_cgroup && program_exit_code(run->main.status) == 128 + SIGKILL &&
           runtime_was_out_of_memory(run->cgroup);
}

static int start_main(struct execution *run, int output_fd, struct error *err)
{
    cleanup_free char *bundle = xasprintf("%s/bundle", workspace_run_path(run->workspace));
    struct runtime_bundle contents = {.pod = run->objects.pod,
                                      .image_config = run->image.config,
                                      .run_path = workspace_run_path(run->workspace),
                                      .cgroup = run->runtime.has_cgroup ? run->cgroup : NULL,
                                      .has_files = run->documents->offline.run->file_count > 0,
                                      .is_shell = run->options->is_shell,
                                      .has_network = run->options->has_network,
                                      .has_user_namespace = run->has_user_namespace};

    if (staging_mount_root(run->image.rootfs, workspace_run_path(run->workspace),
                           run->has_user_namespace, err) < 0 ||
        runtime_bundle_write(&contents, bundle, err) < 0)
        return -1;
    if (run->options->is_shell) {
        if (runtime_run(&run->runtime, bundle, &run->main.pid, err) < 0)
            return -1;
        child_watch(&run->main, run->reaper);
        return 0;
    }
    if (runtime_create(&run->runtime, bundle, output_fd, &run->main.pid, err) < 0)
        return -1;
    child_watch(&run->main, run->reaper);
    if (runtime_start(&run->runtime, err) < 0)
        return -1;
    if (timeout_ms(run) > 0)
        loop_timer_start(&run->timeout, (uint64_t)timeout_ms(run));
    return 0;
}

static int run_main_and_wait(struct execution *run, struct error *err)
{
    struct output main_output = {.fd = -1};
    struct output wait_output = {.fd = -1};
    struct helper helper = {.name = CONTAINER_WAIT,
                            .program = STAGING_WAIT,
                            .pod = run->objects.pod,
                            .grace_ms = run->options->grace_ms};
    int end[2] = {-1, -1};
    int main_fd = -1;
    int result = 0;

    if (pipe2(end, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "create a pipe for wait");
    helper.end_fd = end[0];
    if (output_open(&main_output, run->loop, run->show, CONTAINER_MAIN, &main_fd, err) < 0 ||
        output_open(&wait_output, run->loop, run->show, CONTAINER_WAIT, &helper.output_fd, err) < 0)
        return -1;
    result = helper_start(&helper, &run->wait.pid, err);
    (void)close(helper.output_fd);
    (void)close(end[0]);
    if (result == 0) {
        child_watch(&run->wait, run->reaper);
        show_begin(run->show, "main");
        result = start_main(run, main_fd, err);
    }
    (void)close(main_fd);
    if (result == 0) {
        result = child_await(&run->main, run->loop, err);
        output_drain(&main_output);
    }
    loop_timer_stop(&run->timeout);
    loop_timer_stop(&run->grace);
    if (result == 0) {
        show_end(run->show, "exited with code %d", program_exit_code(run->main.status));
        helper_report_end(end[1], program_exit_code(run->main.status), was_out_of_memory(run));
    }
    (void)close(end[1]);
    show_begin(run->show, "wait");
    if (result == 0) {
        result = child_await(&run->wait, run->loop, err);
        output_drain(&wait_output);
    }
    output_close(&main_output);
    output_close(&wait_output);
    return result;
}

static void delete_container(struct execution *run)
{
    struct error err = {0};

    if (!run->main.pid || run->options->is_shell)
        return;
    if (runtime_delete(&run->runtime, &err) < 0)
        show_warning(run->show, "%s", err.text);
}

static int run_steps(struct execution *run, json_t *result, struct error *err)
{
    cleanup_image_cache struct image_cache *cache = NULL;
    cleanup_free char *runtime_root = NULL;
    struct outcome_summary summary = {0};

    if (runtime_find(run->options->runtime, run->has_user_namespace, &run->runtime.program, err) <
            0 ||
        prepare_workspace(run, err) < 0 || prepare_image(run, &cache, err) < 0 ||
        staging_mount(workspace_run_path(run->workspace), err) < 0 || run_init(run, err) < 0)
        return -1;
    runtime_root = xasprintf("%s/runtime", workspace_run_path(run->workspace));
    run->runtime.root = runtime_root;
    run->runtime.id = run->documents->offline.names.pod;
    run->runtime.has_cgroup = runtime_can_limit(run->has_user_namespace);
    run->cgroup =
        runtime_cgroup_name(run->documents->offline.names.pod, workspace_path(run->workspace));
    runtime_remove_cgroup(run->cgroup);
    if (!run->runtime.has_cgroup &&
        doc_text(spec_container(run->objects.pod, CONTAINER_MAIN), "resources.limits.memory"))
        show_warning(run->show, "resources.limits.memory: not enforced, because this user cannot "
                                "create control groups");
    if (run_main_and_wait(run, err) < 0) {
        delete_container(run);
        return -1;
    }
    summary = outcome_read(workspace_run_path(run->workspace),
                           &(struct main_end){.exit_code = program_exit_code(run->main.status),
                                              .timeout_ms = run->is_timed_out ? timeout_ms(run) : 0,
                                              .is_interrupted = run->interrupts > 0,
                                              .is_out_of_memory = was_out_of_memory(run)},
                           program_exit_code(run->wait.status), result);
    delete_container(run);
    if (workspace_adopt(run->workspace, 2, err) < 0) {
        run->is_state_pending = true;
        return error_wrap(err, "store the state (it is kept in \"%s\" for the next run)",
                          workspace_run_path(run->workspace));
    }
    show_end(run->show, "state %s, exports %s", summary.state, summary.exports);
    return 0;
}

/* ---- The result. ---- */

static int finish(struct execution *run, json_t *result, struct error *err)
{
    const char *phase = doc_text_or(result, "phase", PHASE_FAILED);
    bool is_delete = strcmp(run->options->operation, OPERATION_DELETE) == 0;
    cleanup_free char *state = NULL;

    /* After a successful DELETE the controller removes the item's state, too. */
    if (is_delete && strcmp(phase, PHASE_SUCCEEDED) == 0) {
        (void)json_object_del(result, "state");
        if (workspace_forget(run->workspace, err) < 0)
            return -1;
        show_note(run->show, "state removed");
        return 0;
    }
    if (is_delete)
        doc_set_text(result, "phase", PHASE_DELETE_FAILED);
    state = xasprintf("%s/state", workspace_path(run->workspace));
    doc_set_text(result, "state.path", state);
    return 0;
}

static int exit_code_of(const struct execution *run, const json_t *result, int failed)
{
    if (failed)
        return RUN_EXIT_FAILED;
    if (run->is_timed_out)
        return RUN_EXIT_TIMEOUT;
    if (run->interrupts)
        return RUN_EXIT_INTERRUPTED;
    if (doc_integer_or(result, "exitCode", 0) != 0)
        return (int)doc_integer_or(result, "exitCode", 1);
    return doc_text(result, "error") ? RUN_EXIT_FAILED : 0;
}

static int set_up(struct execution *run, struct error *err)
{
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

    if (loop_new(clock_system(), &run->loop, err) < 0)
        return -1;
    run->show = show_new(run->options->output, run->options->is_verbose, clock_system());
    run->reaper = reaper_new();
    loop_timer_init(&run->timeout, run->loop, on_timeout, run);
    loop_timer_init(&run->grace, run->loop, kill_main, run);
    return loop_set_signals(run->loop, signals, array_length(signals), on_signal, run, err);
}

static void take_down(struct execution *run)
{
    if (run->options->is_kept && run->workspace)
        show_note(run->show,
                  "files of the run, secrets included, are kept in \"%s\" until the next "
                  "run",
                  workspace_run_path(run->workspace));
    close_workspace(run, run->options->is_kept || run->is_state_pending);
    image_done(&run->image);
    pod_objects_done(&run->objects);
    reaper_free(run->reaper);
    show_free(run->show);
    loop_free(run->loop);
    free(run->cgroup);
    closep(&run->out_fd);
}

/* Prints the result, and writes it to the directory of --out. */
static int report(struct execution *run, json_t *result, struct error *err)
{
    int failed = 0;

    if (!doc_get(result, "exitCode"))
        json_object_set_new(result, "exitCode", json_null());
    json_object_set_new(result, "durations", show_durations(run->show));
    if (run->out_fd >= 0 && outcome_write(run->out_fd, result, err) < 0) {
        doc_set_text(result, "phase", PHASE_FAILED);
        doc_set_text(result, "error", err->text);
        failed = -1;
    }
    show_result(run->show, result);
    return failed;
}

static int run_all(struct execution *run, json_t *result, struct error *err)
{
    const struct mistakes *unknown = &run->documents->offline.unknown_fields;

    for (size_t i = 0; i < unknown->count; i++)
        show_warning(run->show, "%s: %s, ignored", unknown->items[i].path, unknown->items[i].text);
    if (run->options->out && (run->out_fd = outcome_open(run->options->out, err)) < 0)
        return -1;
    return run_steps(run, result, err) < 0 ? -1 : finish(run, result, err);
}

int execution_run(const struct run_options *options, struct documents *documents)
{
    cleanup_json json_t *result = json_object();
    struct execution run = {.options = options, .documents = documents, .out_fd = -1};
    struct error err = {0};
    int failed = 0;
    int code = 0;

    /* The pod's user must be able to read what is created here, so the caller's umask must not
     * apply. */
    (void)umask(022);
    /* Taken from outside: in here the effective user id is 0 for every user. */
    run.has_user_namespace = documents->is_unprivileged;
    failed = set_up(&run, &err);
    if (failed == 0)
        failed = run_all(&run, result, &err);
    if (failed) {
        doc_set_text(result, "phase", PHASE_FAILED);
        doc_set_text(result, "error", err.text);
    }
    if (run.show && report(&run, result, &err) < 0)
        failed = -1;
    code = exit_code_of(&run, result, failed);
    take_down(&run);
    return code;
}
