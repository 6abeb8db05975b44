/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/life.h"

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
#include "deployer/run/companion.h"
#include "deployer/run/image.h"
#include "deployer/run/imported.h"
#include "deployer/run/outcome.h"
#include "deployer/run/output.h"
#include "deployer/run/process.h"
#include "deployer/run/runtime.h"
#include "deployer/run/runtime_bundle.h"
#include "deployer/run/show.h"
#include "deployer/run/spec.h"
#include "deployer/run/stage.h"
#include "deployer/run/volumes.h"
#include "deployer/run/workspace.h"

struct child {
    pid_t pid;
    bool is_running;
    int status;
};

struct life {
    const struct run_options *options;
    struct job *job;
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
    bool is_timed_out, is_killed;
};

/* ---- Children and signals. ---- */

static void on_child_end(void *data, int status)
{
    struct child *child = data;

    child->is_running = false;
    child->status = status;
}

static void expect(struct life *life, struct child *child)
{
    child->is_running = true;
    reaper_expect(life->reaper, child->pid, on_child_end, child);
}

static int await(struct life *life, const struct child *child, struct error *err)
{
    while (child->is_running) {
        if (loop_run_once(life->loop, -1, err) < 0)
            return -1;
    }
    return 0;
}

static void kill_main(void *data)
{
    struct life *life = data;

    if (life->main.is_running) {
        life->is_killed = true;
        (void)kill(life->main.pid, SIGKILL);
    }
}

/* SIGTERM, then its grace, then SIGKILL: as a kubelet ends a container. */
static void end_main(struct life *life)
{
    if (!life->main.is_running)
        return;
    (void)kill(life->main.pid, SIGTERM);
    loop_timer_start(&life->grace, (uint64_t)life->options->grace_ms);
}

static void on_timeout(void *data)
{
    struct life *life = data;

    life->is_timed_out = true;
    show_note(life->show, "the run's time is over; main gets SIGTERM");
    end_main(life);
}

static void leave_workspace(struct life *life, bool is_run_kept)
{
    if (life->workspace)
        stage_clear(workspace_run_path(life->workspace));
    workspace_close(life->workspace, is_run_kept);
    life->workspace = NULL;
}

static void on_signal(void *data, int signal_number)
{
    struct life *life = data;

    if (signal_number == SIGCHLD) {
        reaper_collect(life->reaper);
        return;
    }
    life->interrupts++;
    if (life->main.is_running && life->interrupts == 1) {
        show_note(life->show,
                  "interrupted; main gets SIGTERM and %lld s, then its state is saved; "
                  "once more to kill it",
                  (long long)(life->options->grace_ms / 1000));
        end_main(life);
    } else if (life->main.is_running) {
        kill_main(life);
    } else if (life->wait.is_running) {
        if (life->interrupts > 1)
            (void)kill(life->wait.pid, SIGKILL);
    } else {
        /* Nothing of main's is at stake yet: what is half done goes with the nest. */
        leave_workspace(life, false);
        _exit(RUN_EXIT_INTERRUPTED);
    }
}

/* ---- Steps. ---- */

static void on_image_progress(void *data, const char *what, uint64_t bytes)
{
    struct life *life = data;

    show_progress(life->show, what, bytes);
}

static int prepare_image(struct life *life, struct store **ret_store, struct error *err)
{
    cleanup_free char *path =
        life->options->cache ? xstrdup(life->options->cache) : store_default_path();
    struct source source = {0};
    struct image_request request = {.source = &source,
                                    .loop = life->loop,
                                    .keyring = life->job->keyring,
                                    .is_plain_http_allowed = life->options->is_plain_http_allowed,
                                    .is_insecure = life->options->is_insecure,
                                    .on_progress = on_image_progress,
                                    .data = life};
    int result = 0;

    show_begin(life->show, "image");
    if (store_open(path, (uint64_t)life->options->cache_bytes, ret_store, err) < 0 ||
        source_parse(life->job->image, &source, err) < 0)
        return -1;
    request.store = *ret_store;
    result = image_prepare(&request, &life->image, err);
    source_done(&source);
    if (result == 0)
        show_end(life->show, "%s%s", life->job->image, life->image.was_cached ? " (cached)" : "");
    return result;
}

static int prepare_inputs(struct life *life, struct error *err)
{
    cleanup_free char *base = xasprintf("%s/ls", workspace_run_path(life->workspace));
    cleanup_close int base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_json json_t *secrets = json_array();
    static const char *const containers[] = {CONTAINER_INIT, CONTAINER_MAIN};

    if (base_fd < 0)
        return error_set_errno(err, errno, "open '%s'", base);
    (void)json_array_append(secrets, life->objects.input);
    for (size_t i = 0; i < array_length(containers); i++) {
        if (volumes_fill(life->objects.pod, spec_container(life->objects.pod, containers[i]),
                         secrets, workspace_state_fd(life->workspace), base_fd, err) < 0)
            return -1;
    }
    if (companion_prepare(workspace_run_path(life->workspace), CONTAINER_INIT, err) < 0 ||
        companion_prepare(workspace_run_path(life->workspace), CONTAINER_MAIN, err) < 0)
        return -1;
    return companion_prepare(workspace_run_path(life->workspace), CONTAINER_WAIT, err);
}

static int prepare_workspace(struct life *life, struct error *err)
{
    struct state_set *state = &life->job->offline.state;
    char uid[UUID_TEXT_SIZE] = {0};

    if (workspace_open(life->options->state, life->job->offline.item->namespace_name,
                       life->job->offline.item->name, &life->workspace, err) < 0)
        return -1;
    if (life->job->state_secrets &&
        (workspace_forget(life->workspace, err) < 0 ||
         imported_state_write(life->job->state_secrets, workspace_state_fd(life->workspace), err) <
             0))
        return -1;
    if (workspace_begin(life->workspace, err) < 0 ||
        state_set_add_directory(state, workspace_state_fd(life->workspace), err) < 0)
        return -1;
    state_set_arrange(state);
    if (offline_objects(&life->job->offline, life->options->operation, &life->objects, err) < 0)
        return -1;
    uuid_make(uid);
    doc_set_text(life->objects.pod, "metadata.uid", uid);
    return prepare_inputs(life, err);
}

static int run_init(struct life *life, struct error *err)
{
    struct output output = {.fd = -1};
    struct companion companion = {.name = CONTAINER_INIT,
                                  .program = STAGE_INIT,
                                  .pod = life->objects.pod,
                                  .end_fd = -1,
                                  .is_plain_http_allowed = life->options->is_plain_http_allowed,
                                  .is_insecure = life->options->is_insecure};
    cleanup_free char *message = NULL;
    int result = 0;

    show_begin(life->show, "init");
    if (output_open(&output, life->loop, life->show, CONTAINER_INIT, &companion.output_fd, err) < 0)
        return -1;
    result = companion_start(&companion, &life->init.pid, err);
    (void)close(companion.output_fd);
    if (result == 0) {
        expect(life, &life->init);
        result = await(life, &life->init, err);
        output_drain(&output);
    }
    output_close(&output);
    if (result < 0)
        return -1;
    if (process_exit_code(life->init.status) != 0) {
        message = companion_message(workspace_run_path(life->workspace), CONTAINER_INIT);
        if (!*message)
            show_tail(life->show, CONTAINER_INIT);
        return error_set(err, ERROR_INVALID, "init failed: %s", *message ? message : "see above");
    }
    show_end(life->show, "inputs and state are in place");
    return 0;
}

/* A child of main that the kernel killed is main's own affair, as it is in a cluster. */
static bool was_out_of_memory(const struct life *life)
{
    return life->runtime.has_cgroup && process_exit_code(life->main.status) == 128 + SIGKILL &&
           runtime_was_out_of_memory(life->cgroup);
}

static void tell_end(struct life *life, int end_fd)
{
    bool is_oom = was_out_of_memory(life);
    int code = process_exit_code(life->main.status);
    cleanup_json json_t *line = json_pack("{s:i, s:s}", "exitCode", code, "reason",
                                          is_oom      ? "OOMKilled"
                                          : code == 0 ? "Completed"
                                                      : "Error");
    cleanup_free char *text = doc_dump(line);

    (void)!write(end_fd, text, strlen(text));
    (void)!write(end_fd, "\n", 1);
}

static int start_main(struct life *life, int output_fd, struct error *err)
{
    cleanup_free char *bundle = xasprintf("%s/bundle", workspace_run_path(life->workspace));
    int64_t limit_ms =
        life->options->timeout_ms ? life->options->timeout_ms : life->job->offline.item->timeout_ms;

    struct runtime_bundle contents = {.pod = life->objects.pod,
                                      .image_config = life->image.config,
                                      .run_path = workspace_run_path(life->workspace),
                                      .cgroup = life->runtime.has_cgroup ? life->cgroup : NULL,
                                      .has_files = life->job->offline.run->file_count > 0,
                                      .is_shell = life->options->is_shell,
                                      .has_network = life->options->has_network,
                                      .has_user_namespace = life->has_user_namespace};

    if (stage_mount_root(life->image.rootfs, workspace_run_path(life->workspace),
                         life->has_user_namespace, err) < 0 ||
        runtime_bundle_write(&contents, bundle, err) < 0)
        return -1;
    if (life->options->is_shell) {
        if (runtime_run(&life->runtime, bundle, &life->main.pid, err) < 0)
            return -1;
        expect(life, &life->main);
        return 0;
    }
    if (runtime_create(&life->runtime, bundle, output_fd, &life->main.pid, err) < 0)
        return -1;
    expect(life, &life->main);
    if (runtime_start(&life->runtime, err) < 0)
        return -1;
    if (limit_ms > 0)
        loop_timer_start(&life->timeout, (uint64_t)limit_ms);
    return 0;
}

static int run_main_beside_wait(struct life *life, struct error *err)
{
    struct output main_output = {.fd = -1};
    struct output wait_output = {.fd = -1};
    struct companion companion = {.name = CONTAINER_WAIT,
                                  .program = STAGE_WAIT,
                                  .pod = life->objects.pod,
                                  .grace_ms = life->options->grace_ms};
    int end[2] = {-1, -1};
    int main_fd = -1;
    int result = 0;

    if (pipe2(end, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "make a pipe for wait");
    companion.end_fd = end[0];
    if (output_open(&main_output, life->loop, life->show, CONTAINER_MAIN, &main_fd, err) < 0 ||
        output_open(&wait_output, life->loop, life->show, CONTAINER_WAIT, &companion.output_fd,
                    err) < 0)
        return -1;
    result = companion_start(&companion, &life->wait.pid, err);
    (void)close(companion.output_fd);
    (void)close(end[0]);
    if (result == 0) {
        expect(life, &life->wait);
        show_begin(life->show, "main");
        result = start_main(life, main_fd, err);
    }
    (void)close(main_fd);
    if (result == 0)
        result = await(life, &life->main, err);
    loop_timer_stop(&life->timeout);
    loop_timer_stop(&life->grace);
    output_drain(&main_output);
    if (result == 0) {
        show_end(life->show, "ended with code %d", process_exit_code(life->main.status));
        tell_end(life, end[1]);
    }
    (void)close(end[1]);
    show_begin(life->show, "wait");
    if (result == 0) {
        result = await(life, &life->wait, err);
        output_drain(&wait_output);
    }
    output_close(&main_output);
    output_close(&wait_output);
    return result;
}

static void end_container(struct life *life)
{
    struct error err = {0};

    if (!life->main.pid || life->options->is_shell)
        return;
    if (runtime_delete(&life->runtime, &err) < 0)
        show_note(life->show, "%s", err.text);
}

static int live(struct life *life, json_t *result, struct error *err)
{
    cleanup_store struct store *store = NULL;
    cleanup_free char *runtime_root = NULL;

    if (runtime_find(life->options->runtime, life->has_user_namespace, &life->runtime.program,
                     err) < 0 ||
        prepare_workspace(life, err) < 0 || prepare_image(life, &store, err) < 0 ||
        stage_set(workspace_run_path(life->workspace), err) < 0 || run_init(life, err) < 0)
        return -1;
    runtime_root = xasprintf("%s/runtime", workspace_run_path(life->workspace));
    life->runtime.root = runtime_root;
    life->runtime.id = life->job->offline.names.pod;
    life->runtime.has_user_namespace = life->has_user_namespace;
    life->runtime.has_cgroup = runtime_can_limit(life->has_user_namespace);
    life->cgroup = xasprintf("/longshore-%s", life->job->offline.names.pod);
    runtime_remove_cgroup(life->cgroup);
    if (!life->runtime.has_cgroup &&
        doc_text(spec_container(life->objects.pod, CONTAINER_MAIN), "resources.limits.memory"))
        show_note(life->show, "memory limits can't be enforced here: no control group may be made");
    if (run_main_beside_wait(life, err) < 0) {
        end_container(life);
        return -1;
    }
    outcome_read(workspace_run_path(life->workspace), process_exit_code(life->main.status),
                 process_exit_code(life->wait.status), life->is_timed_out, life->interrupts > 0,
                 was_out_of_memory(life), result);
    end_container(life);
    if (workspace_adopt(life->workspace, 2, err) < 0)
        return -1;
    show_end(life->show, "state %s, exports %s", doc_text_or(result, "state.how", "not stored"),
             doc_text_or(result, "exportsHow", "none"));
    return 0;
}

/* ---- The whole. ---- */

static int finish(struct life *life, json_t *result, struct error *err)
{
    const char *phase = doc_text_or(result, "phase", PHASE_FAILED);
    bool is_delete = strcmp(life->options->operation, OPERATION_DELETE) == 0;
    cleanup_free char *state = NULL;

    /* What a controller does after a successful DELETE: everything of the item goes. */
    if (is_delete && strcmp(phase, PHASE_SUCCEEDED) == 0) {
        (void)json_object_del(result, "state");
        return workspace_forget(life->workspace, err);
    }
    if (is_delete)
        doc_set_text(result, "phase", PHASE_DELETE_FAILED);
    state = xasprintf("%s/state", workspace_path(life->workspace));
    doc_set_text(result, "state.path", state);
    return life->options->out ? outcome_write(life->options->out, result, err) : 0;
}

static int exit_code_of(const struct life *life, const json_t *result, int failed)
{
    if (failed)
        return RUN_EXIT_FAILED;
    if (life->is_timed_out)
        return RUN_EXIT_TIMEOUT;
    if (life->interrupts)
        return RUN_EXIT_INTERRUPTED;
    if (doc_integer_or(result, "exitCode", 0) != 0)
        return (int)doc_integer_or(result, "exitCode", 1);
    return doc_text(result, "error") ? RUN_EXIT_FAILED : 0;
}

static int set_up(struct life *life, struct error *err)
{
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

    if (loop_new(clock_system(), &life->loop, err) < 0)
        return -1;
    life->show = show_new(life->options->output, life->options->is_verbose, clock_system());
    life->reaper = reaper_new();
    loop_timer_init(&life->timeout, life->loop, on_timeout, life);
    loop_timer_init(&life->grace, life->loop, kill_main, life);
    return loop_set_signals(life->loop, signals, array_length(signals), on_signal, life, err);
}

static void take_down(struct life *life)
{
    leave_workspace(life, life->options->is_kept);
    image_done(&life->image);
    pod_objects_done(&life->objects);
    reaper_free(life->reaper);
    show_free(life->show);
    loop_free(life->loop);
    free(life->cgroup);
}

int life_run(const struct run_options *options, struct job *job)
{
    cleanup_json json_t *result = json_object();
    struct life life = {.options = options, .job = job};
    struct error err = {0};
    int failed = 0;
    int code = 0;

    /* What the pod's user must pass through and read is made with the modes that are written,
     * whatever the caller's umask is. */
    (void)umask(022);
    /* In a user namespace the map of ids does not begin at the machine's own. */
    life.has_user_namespace = job->is_plain_user;
    failed = set_up(&life, &err);
    if (failed == 0) {
        for (size_t i = 0; i < job->offline.unread.count; i++)
            show_note(life.show, "nobody reads '%s'", job->offline.unread.items[i].path);
        failed = live(&life, result, &err);
        if (failed == 0)
            failed = finish(&life, result, &err);
    }
    if (failed) {
        doc_set_text(result, "phase", PHASE_FAILED);
        doc_set_text(result, "error", err.text);
    }
    if (life.show) {
        if (!doc_get(result, "exitCode"))
            json_object_set_new(result, "exitCode", json_null());
        json_object_set_new(result, "durations", show_durations(life.show));
        (void)json_object_del(result, "exportsHow");
        if (json_is_object(doc_get(result, "state")))
            (void)json_object_del(json_object_get(result, "state"), "how");
        show_result(life.show, result);
    }
    code = exit_code_of(&life, result, failed);
    take_down(&life);
    return code;
}
