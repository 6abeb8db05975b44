/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "common/state/restore.h"
#include "deployer/run/entry.h"
#include "deployer/run/execution_internal.h"
#include "deployer/run/helper.h"
#include "deployer/run/image_index.h"
#include "deployer/run/imported_state.h"
#include "deployer/run/origin.h"
#include "deployer/run/output.h"
#include "deployer/run/runtime_bundle.h"
#include "deployer/run/secret_volumes.h"
#include "deployer/run/spec.h"
#include "deployer/run/staging.h"

enum { LOG_LINE_MAX = 16 * 1024 };

/* ---- The workspace. ---- */

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

int execution_prepare_workspace(struct execution *run, struct error *err)
{
    struct state_set *state = &run->documents->offline.state;
    char uid[UUID_TEXT_SIZE] = {0};

    if (workspace_open(run->options->state, run->documents->offline.item->namespace_name,
                       run->documents->offline.item->name, &run->workspace, err) < 0)
        return -1;
    origin_check(run->workspace, run->options, run->show);
    if (run->documents->state_secrets &&
        (workspace_forget(run->workspace, err) < 0 ||
         imported_state_write(run->documents->state_secrets, workspace_state_fd(run->workspace),
                              err) < 0))
        return -1;
    if (workspace_begin(run->workspace, err) < 0 ||
        state_set_add_directory(state, workspace_state_fd(run->workspace), err) < 0)
        return -1;
    state_set_arrange(state);
    if (offline_objects(&run->documents->offline, run->options->operation, &run->objects, err) <
        0) {
        run->reason = err->kind == ERROR_INVALID ? RESULT_INVALID : RESULT_FAILED;
        return -1;
    }
    uuid_make(uid);
    doc_set_text(run->objects.pod, "metadata.uid", uid);
    return prepare_inputs(run, err);
}

/* ---- The image. ---- */

static void on_image_progress(void *data, const char *what, uint64_t bytes)
{
    struct execution *run = data;

    show_progress(run->show, what, bytes);
}

static void on_image_retry(void *data, const struct error *err, uint32_t delay_ms)
{
    struct execution *run = data;

    show_retry(run->show, err->text, delay_ms);
}

int execution_prepare_image(struct execution *run, struct image_cache **ret_cache,
                            struct error *err)
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
                                    .on_retry = on_image_retry,
                                    .data = run,
                                    .stop = &run->stop};
    int result = 0;

    run->activity = "it was read";
    show_begin(run->show, "image", run->documents->image);
    if (image_cache_open(path, (uint64_t)run->options->cache_bytes, ret_cache, err) < 0 ||
        source_parse(run->documents->image, &source, err) < 0)
        return -1;
    request.cache = *ret_cache;
    result = image_prepare(&request, &run->image, err);
    source_done(&source);
    if (result < 0)
        return -1;
    show_end(run->show, "%s%s", run->documents->image, run->image.was_cached ? " (cached)" : "");
    if (run->image.foreign_platform)
        show_warning(run->show,
                     "the image is for %s, but this machine is linux/%s; main can run only if the "
                     "kernel emulates that platform (binfmt_misc)",
                     run->image.foreign_platform, image_index_architecture());
    return 0;
}

/* ---- init ---- */

/* Lines of init's log. */
static bool on_init_line(void *data, const char *line)
{
    struct execution *run = data;
    cleanup_json json_t *entry = NULL;
    struct error ignored = {0};

    if (doc_parse_json(line, strlen(line), LOG_LINE_MAX, &entry, &ignored) == 0 &&
        strcmp(doc_text_or(entry, "msg", ""), LOG_RETRYING_REGISTRY) == 0)
        show_retry(run->show, doc_text_or(entry, "error", ""),
                   (uint32_t)doc_integer_or(entry, "delayMs", 0));
    return false;
}

static int explain_init(struct execution *run, struct error *err)
{
    cleanup_free char *message = helper_message(workspace_run_path(run->workspace), CONTAINER_INIT);

    if (run->stop.kind != ERROR_NONE) {
        *err = run->stop;
        return -1;
    }
    if (*message)
        return error_set(err, ERROR_INVALID, "%s", message); /* begins with "init failed" */
    show_tail(run->show, CONTAINER_INIT);
    return error_set(err, ERROR_INVALID,
                     "init exited with code %d and left no message; its log says more",
                     program_exit_code(run->init.status));
}

int execution_run_init(struct execution *run, struct error *err)
{
    struct output output = {.fd = -1};
    struct helper helper = {.name = CONTAINER_INIT,
                            .program = STAGING_INIT,
                            .pod = run->objects.pod,
                            .end_fd = -1,
                            .is_plain_http = run->options->is_plain_http,
                            .is_insecure = run->options->is_insecure};
    int result = 0;

    run->activity = "init was preparing the inputs";
    show_begin(run->show, "init", "preparing inputs and state");
    show_watch(run->show, CONTAINER_INIT, on_init_line, run);
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
    if (result == 0 && (run->stop.kind != ERROR_NONE || program_exit_code(run->init.status) != 0))
        result = explain_init(run, err);
    if (result == 0)
        show_end(run->show, "inputs and state ready");
    return result;
}

/* ---- main and wait ---- */

/* Only if main itself was killed: a child of main that ran out of memory does not fail the
 * container in a cluster either. */
bool execution_is_out_of_memory(const struct execution *run)
{
    return run->runtime.has_cgroup && program_exit_code(run->main.status) == 128 + SIGKILL &&
           runtime_was_out_of_memory(run->cgroup);
}

/* Why main's program cannot be executed; NULL if no reason is found. Sets run->reason. The caller
 * frees. */
static char *explain_program(struct execution *run)
{
    char *text = NULL;

    switch (entry_examine(run->spec, &text)) {
    case ENTRY_FINE:
        break;
    case ENTRY_MISSING:
        run->reason = RESULT_NOT_FOUND;
        break;
    case ENTRY_NOT_EXECUTABLE:
        run->reason = RESULT_NOT_EXECUTABLE;
        break;
    }
    return text;
}

void execution_explain_main(struct execution *run)
{
    cleanup_free char *cause = NULL;
    cleanup_free char *text = NULL;

    if (!run->exec_message || result_is_success(run->result))
        return;
    run->reason = RESULT_NOT_EXECUTABLE;
    cause = explain_program(run);
    if (cause)
        text = steal(&cause);
    else if (run->image.foreign_platform)
        text = xasprintf("cannot execute main's program: the image is for %s, this machine is "
                         "linux/%s",
                         run->image.foreign_platform, image_index_architecture());
    else
        text = xasprintf("cannot execute main's program: %s", run->exec_message);
    result_fail(run->result, run->reason, text);
    json_object_set_new(run->result, "exitCode", json_null());
}

/* If execve() fails after the container was started, the runtime writes its message to main's
 * output, as the first line. */
static bool on_main_line(void *data, const char *line)
{
    struct execution *run = data;
    bool is_first = !run->has_main_output;

    run->has_main_output = true;
    if (is_first)
        run->exec_message = runtime_exec_message(line);
    return run->exec_message != NULL && is_first;
}

/* Arguments with anything but common characters are quoted. The caller frees. */
static char *shell_words(const json_t *words)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,@%+";
    char *text = xstrdup("");
    const json_t *word = NULL;
    size_t index = 0;

    json_array_foreach(words, index, word)
    {
        const char *value = json_string_value(word);
        bool is_plain = *value && value[strspn(value, plain)] == '\0';
        char *longer = xasprintf("%s%s%s%s%s", text, *text ? " " : "", is_plain ? "" : "'", value,
                                 is_plain ? "" : "'");

        free(text);
        text = longer;
    }
    return text;
}

static int start_shell(struct execution *run, const char *bundle, struct error *err)
{
    cleanup_json json_t *words = spec_program(run->objects.pod, run->image.config);
    cleanup_free char *program = shell_words(words);
    cleanup_free char *fault = explain_program(run);

    if (fault)
        return error_set(err, ERROR_INVALID, "option --shell: %s", fault);
    if (*program)
        show_note(run->show, "main's own program is: %s", program);
    show_note(run->show, "state and exports are saved when the shell exits");
    show_clear(run->show);
    if (runtime_run(&run->runtime, bundle, &run->main.pid, err) < 0)
        return -1;
    child_watch(&run->main, run->reaper);
    return 0;
}

static int create_main(struct execution *run, const char *bundle, int output_fd, struct error *err)
{
    cleanup_free char *fault = NULL;

    show_watch(run->show, CONTAINER_MAIN, on_main_line, run);
    if (runtime_create(&run->runtime, bundle, output_fd, &run->main.pid, err) < 0) {
        fault = explain_program(run);
        return fault ? error_set(err, ERROR_INVALID, "%s", fault) : -1;
    }
    child_watch(&run->main, run->reaper);
    return runtime_start(&run->runtime, err);
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
        runtime_bundle_write(&contents, bundle, &run->spec, err) < 0)
        return -1;
    return run->options->is_shell ? start_shell(run, bundle, err)
                                  : create_main(run, bundle, output_fd, err);
}

int execution_run_main(struct execution *run, struct error *err)
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
        show_begin(run->show, "main", "running");
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
        if (run->exec_message)
            show_end(run->show, "could not be executed");
        else
            show_end(run->show, "exited with code %d", program_exit_code(run->main.status));
        helper_report_end(end[1], program_exit_code(run->main.status),
                          execution_is_out_of_memory(run));
    }
    (void)close(end[1]);
    if (result == 0) {
        show_begin(run->show, "wait", "saving state and exports");
        result = child_await(&run->wait, run->loop, err);
        output_drain(&wait_output);
    }
    output_close(&main_output);
    output_close(&wait_output);
    return result;
}
