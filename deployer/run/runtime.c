/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "deployer/run/program.h"

enum { ARGUMENTS_MAX = 20, PID_FILE_MAX = 64, LOG_FILE_MAX = 65536 };
#define CGROUP_ROOT "/sys/fs/cgroup"

int runtime_find(const char *wanted, bool has_user_namespace, const char **ret_program,
                 struct error *err)
{
    static const char *const known[] = {"crun", "runc"};

    for (size_t i = 0; i < array_length(known); i++) {
        cleanup_free char *path = NULL;

        if (wanted && strcmp(wanted, known[i]) != 0)
            continue;
        /* runc 1.1 fails if it may not write control groups, and insists on creating the user
         * namespace itself. */
        if (has_user_namespace && strcmp(known[i], "runc") == 0)
            continue;
        path = program_find(known[i]);
        if (path) {
            *ret_program = known[i];
            return 0;
        }
    }
    if (has_user_namespace)
        return error_set(err, ERROR_NOT_FOUND,
                         "no OCI runtime found; a run as an unprivileged user needs crun (package "
                         "\"crun\")");
    return error_set(err, ERROR_NOT_FOUND, "no OCI runtime found; install the package \"%s\"",
                     wanted ? wanted : "crun");
}

bool runtime_can_limit(bool has_user_namespace)
{
    if (has_user_namespace)
        return false;
    if (access(CGROUP_ROOT "/cgroup.controllers", F_OK) == 0)
        return access(CGROUP_ROOT, W_OK) == 0;
    return access(CGROUP_ROOT "/memory", W_OK) == 0;
}

struct command {
    const char *arguments[ARGUMENTS_MAX];
    size_t count;
};

static void add(struct command *command, const char *argument)
{
    if (command->count < ARGUMENTS_MAX - 1)
        command->arguments[command->count++] = argument;
}

static void begin(struct command *command, const struct runtime *runtime)
{
    *command = (struct command){0};
    add(command, runtime->program);
    add(command, "--root");
    add(command, runtime->root);
    if (strcmp(runtime->program, "crun") == 0)
        add(command,
            runtime->has_cgroup ? "--cgroup-manager=cgroupfs" : "--cgroup-manager=disabled");
}

pid_t runtime_read_pid(const char *text)
{
    uint64_t pid = 0;

    return number_parse_line(text, INT32_MAX, &pid) && pid > 1 ? (pid_t)pid : 0;
}

static int read_pid(const char *path, pid_t *ret_pid, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    pid_t pid = 0;

    buffer_init(&text, PID_FILE_MAX);
    if (doc_read_file(path, PID_FILE_MAX, &text, err) < 0)
        return -1;
    pid = runtime_read_pid(text.data ? text.data : "");
    if (!pid)
        return error_set(err, ERROR_INTERNAL, "the OCI runtime wrote no process id to \"%s\"",
                         path);
    *ret_pid = pid;
    return 0;
}

char *runtime_log_message(const char *text)
{
    char *message = xstrdup("");

    while (*text) {
        size_t length = strcspn(text, "\n");
        cleanup_json json_t *line = NULL;
        struct error ignored = {0};

        if (doc_parse_json(text, length, LOG_FILE_MAX, &line, &ignored) == 0 &&
            doc_text(line, "msg")) {
            free(message);
            message = xstrdup(doc_text(line, "msg"));
        }
        text += length + (text[length] == '\n');
    }
    return message;
}

char *runtime_exec_message(const char *line)
{
    /* crun 1.8, with the log format that runtime_create() asks for; runc 1.1. */
    static const char crun[] = "exec container process ", runc[] = "exec /";
    cleanup_json json_t *entry = NULL;
    struct error ignored = {0};
    const char *message = NULL;

    if (strncmp(line, runc, strlen(runc)) == 0)
        return xstrdup(line);
    if (doc_parse_json(line, strlen(line), LOG_FILE_MAX, &entry, &ignored) < 0)
        return NULL;
    message = doc_text_or(entry, "msg", "");
    return strncmp(message, crun, strlen(crun)) == 0 ? xstrdup(message) : NULL;
}

static int explain_failure(const struct runtime *runtime, const char *log_path, int code,
                           struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_free char *message = NULL;

    buffer_init(&text, LOG_FILE_MAX);
    if (doc_read_file(log_path, LOG_FILE_MAX, &text, err) < 0)
        buffer_clear(&text);
    message = runtime_log_message(text.data ? text.data : "");
    return error_set(err, ERROR_INVALID, "%s failed: %s (exit code %d)", runtime->program,
                     *message ? message : "no message", code);
}

/* The runtime's stdout and stderr are those of the container, so its own messages are taken from a
 * log file. */
int runtime_create(const struct runtime *runtime, const char *bundle, int output_fd, pid_t *ret_pid,
                   struct error *err)
{
    cleanup_free char *pid_file = xasprintf("%s/pid", runtime->root);
    cleanup_free char *log_file = xasprintf("%s/log", runtime->root);
    struct command command = {0};
    struct program_spec spec = {.stdin_fd = -1,
                                .stdout_fd = output_fd,
                                .stderr_fd = output_fd,
                                .kept_fd = -1,
                                .has_own_group = true};
    int status = 0;
    pid_t pid = 0;

    begin(&command, runtime);
    add(&command, "--log");
    add(&command, log_file);
    add(&command, "--log-format");
    add(&command, "json");
    add(&command, "create");
    add(&command, "--bundle");
    add(&command, bundle);
    add(&command, "--pid-file");
    add(&command, pid_file);
    add(&command, runtime->id);
    spec.argv = command.arguments;
    if (program_start(&spec, &pid, err) < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (program_exit_code(status) != 0)
        return explain_failure(runtime, log_file, program_exit_code(status), err);
    return read_pid(pid_file, ret_pid, err);
}

int runtime_start(const struct runtime *runtime, struct error *err)
{
    struct command command = {0};

    begin(&command, runtime);
    add(&command, "start");
    add(&command, runtime->id);
    return program_check(command.arguments, err);
}

int runtime_delete(const struct runtime *runtime, struct error *err)
{
    struct command command = {0};

    begin(&command, runtime);
    add(&command, "delete");
    add(&command, "--force");
    add(&command, runtime->id);
    return program_check(command.arguments, err);
}

int runtime_run(const struct runtime *runtime, const char *bundle, pid_t *ret_pid,
                struct error *err)
{
    struct command command = {0};
    struct program_spec spec = {
        .stdin_fd = STDIN_FILENO, .stdout_fd = -1, .stderr_fd = -1, .kept_fd = -1};

    begin(&command, runtime);
    add(&command, "run");
    add(&command, "--bundle");
    add(&command, bundle);
    add(&command, runtime->id);
    spec.argv = command.arguments;
    return program_start(&spec, ret_pid, err);
}

bool runtime_is_kill_line(const char *line)
{
    static const char name[] = "oom_kill ";
    uint64_t kills = 0;

    return strncmp(line, name, strlen(name)) == 0 &&
           number_parse_line(line + strlen(name), UINT64_MAX, &kills) && kills > 0;
}

bool runtime_was_out_of_memory(const char *cgroup)
{
    static const char *const files[] = {CGROUP_ROOT "/memory%s/memory.oom_control",
                                        CGROUP_ROOT "%s/memory.events"};

    for (size_t i = 0; i < array_length(files); i++) {
        const char *mark = strchr(files[i], '%');
        cleanup_free char *path =
            xasprintf("%.*s%s%s", (int)(mark - files[i]), files[i], cgroup, mark + 2);
        cleanup_file FILE *file = fopen(path, "re");
        char line[128] = {0};

        while (file && fgets(line, sizeof(line), file)) {
            if (runtime_is_kill_line(line))
                return true;
        }
    }
    return false;
}

char *runtime_cgroup_name(const char *id, const char *workspace_path)
{
    char hex[DIGEST_HEX_MAX] = {0};

    digest_sha256_hex(workspace_path, strlen(workspace_path), hex);
    return xasprintf("/longshore-%s-%.8s", id, hex);
}

void runtime_remove_cgroup(const char *cgroup)
{
    cleanup_free char *own = xasprintf(CGROUP_ROOT "%s", cgroup);
    DIR *directory = opendir(CGROUP_ROOT);
    const struct dirent *entry = NULL;

    (void)rmdir(own);
    while (directory && (entry = readdir(directory))) {
        cleanup_free char *path = xasprintf(CGROUP_ROOT "/%s%s", entry->d_name, cgroup);

        if (entry->d_name[0] != '.')
            (void)rmdir(path);
    }
    if (directory)
        (void)closedir(directory);
}
