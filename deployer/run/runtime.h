/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the OCI runtime, crun or runc, by its command line: create, start, delete. The first
 * process of the container becomes a child of ours, so that its end is reported by SIGCHLD. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct runtime {
    const char *program; /* "crun" or "runc" */
    const char *root;    /* directory for the runtime's own files */
    const char *id;      /* of the container */
    bool has_cgroup;     /* a control group can be created, so limits are enforced */
};

/* wanted: the name of a runtime, or NULL for the first that is installed. *ret_program is a
 * constant. ERROR_NOT_FOUND names the package to install. */
int runtime_find(const char *wanted, bool has_user_namespace, const char **ret_program,
                 struct error *err) must_check;
/* Whether this process may create control groups. */
bool runtime_can_limit(bool has_user_namespace);

/* Creates the container from the directory bundle (config.json), with output_fd as its stdout and
 * stderr. *ret_pid is its first process, which waits for runtime_start(). The error has the
 * runtime's own message. Blocks. */
int runtime_create(const struct runtime *runtime, const char *bundle, int output_fd, pid_t *ret_pid,
                   struct error *err) must_check;
int runtime_start(const struct runtime *runtime, struct error *err) must_check;
/* Deletes the container, killing what still runs in it. Blocks. */
int runtime_delete(const struct runtime *runtime, struct error *err) must_check;
/* Starts the container on our terminal. *ret_pid is the runtime, which ends with the container. */
int runtime_run(const struct runtime *runtime, const char *bundle, pid_t *ret_pid,
                struct error *err) must_check;

/* The last "msg" in a runtime's log (one JSON object per line), "" if there is none. No I/O. The
 * caller frees. */
char *runtime_log_message(const char *text);
/* The message in a line that a runtime writes to the container's stderr if it cannot execute the
 * program of a container that it has started; NULL if the line is not of this form. No I/O. The
 * caller frees. */
char *runtime_exec_message(const char *line);
/* Whether the kernel killed a process of this control group because it ran out of memory. */
bool runtime_was_out_of_memory(const char *cgroup);
/* Whether a line of memory.oom_control or memory.events reports such a kill. No I/O. */
bool runtime_is_kill_line(const char *line);
/* The process id in a pid file; 0 if it is malformed or 1. No I/O. */
pid_t runtime_read_pid(const char *text);
/* The control group of a run: one per workspace, because runs of one item with different state
 * directories may be in progress at the same time. The caller frees. */
char *runtime_cgroup_name(const char *id, const char *workspace_path);
/* Removes the empty control group that a killed run left behind. */
void runtime_remove_cgroup(const char *cgroup);
