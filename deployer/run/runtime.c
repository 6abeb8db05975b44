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
#include "common/data/doc.h"
#include "deployer/run/process.h"

enum { ARGUMENTS_MAX = 16, PID_FILE_MAX = 64 };
#define CGROUP_ROOT "/sys/fs/cgroup"

static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t length = strcspn(path, ":");
        cleanup_free char *file = xasprintf("%.*s/%s", (int)length, path, name);

        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

int runtime_find(const char *wanted, bool has_user_namespace, const char **ret_program,
                 struct error *err)
{
    static const char *const known[] = {"crun", "runc"};

    if (wanted && strcmp(wanted, "crun") != 0 && strcmp(wanted, "runc") != 0)
        return error_set(err, ERROR_INVALID, "option --runtime: '%s' is neither 'crun' nor 'runc'",
                         wanted);
    for (size_t i = 0; i < array_length(known); i++) {
        if (wanted && strcmp(wanted, known[i]) != 0)
            continue;
        /* runc insists on writing control groups and on mappings of its own. */
        if (has_user_namespace && strcmp(known[i], "runc") == 0)
            continue;
        if (is_in_path(known[i])) {
            *ret_program = known[i];
            return 0;
        }
    }
    if (has_user_namespace)
        return error_set(err, ERROR_NOT_FOUND,
                         "a run as a plain user needs the OCI runtime 'crun' (package 'crun')");
    return error_set(err, ERROR_NOT_FOUND, "no OCI runtime is there; install the package '%s'",
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

static void begin(struct command *command, const struct runtime *runtime, const char *verb)
{
    *command = (struct command){0};
    add(command, runtime->program);
    add(command, "--root");
    add(command, runtime->root);
    if (strcmp(runtime->program, "crun") == 0)
        add(command,
            runtime->has_cgroup ? "--cgroup-manager=cgroupfs" : "--cgroup-manager=disabled");
    add(command, verb);
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
        return error_set(err, ERROR_INTERNAL, "the runtime wrote no process number to '%s'", path);
    *ret_pid = pid;
    return 0;
}

/* The runtime's own complaints go where the container's output goes; the last of them is the
 * message. */
int runtime_create(const struct runtime *runtime, const char *bundle, int output_fd, pid_t *ret_pid,
                   struct error *err)
{
    cleanup_free char *pid_file = xasprintf("%s/pid", runtime->root);
    struct command command = {0};
    struct process_spec spec = {.stdin_fd = -1,
                                .stdout_fd = output_fd,
                                .stderr_fd = output_fd,
                                .kept_fd = -1,
                                .has_own_group = true};
    int status = 0;
    pid_t pid = 0;

    begin(&command, runtime, "create");
    add(&command, "--bundle");
    add(&command, bundle);
    add(&command, "--pid-file");
    add(&command, pid_file);
    add(&command, runtime->id);
    spec.argv = command.arguments;
    if (process_start(&spec, &pid, err) < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (process_exit_code(status) != 0)
        return error_set(err, ERROR_INVALID,
                         "'%s create' ended with code %d; its words stand above", runtime->program,
                         process_exit_code(status));
    return read_pid(pid_file, ret_pid, err);
}

int runtime_start(const struct runtime *runtime, struct error *err)
{
    struct command command = {0};

    begin(&command, runtime, "start");
    add(&command, runtime->id);
    return process_check(command.arguments, err);
}

int runtime_delete(const struct runtime *runtime, struct error *err)
{
    struct command command = {0};

    begin(&command, runtime, "delete");
    add(&command, "--force");
    add(&command, runtime->id);
    return process_check(command.arguments, err);
}

int runtime_run(const struct runtime *runtime, const char *bundle, pid_t *ret_pid,
                struct error *err)
{
    struct command command = {0};
    struct process_spec spec = {
        .stdin_fd = STDIN_FILENO, .stdout_fd = -1, .stderr_fd = -1, .kept_fd = -1};

    begin(&command, runtime, "run");
    add(&command, "--bundle");
    add(&command, bundle);
    add(&command, runtime->id);
    spec.argv = command.arguments;
    return process_start(&spec, ret_pid, err);
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
