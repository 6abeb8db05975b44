/* SPDX-License-Identifier: Apache-2.0 */
/* The OCI runtime, crun or runc, driven by its command line: create, start, delete. Between them
 * the container's first process is a child of ours, so its end is known at once and exactly. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct runtime {
    const char *program;     /* "crun" or "runc" */
    const char *root;        /* its own directory */
    const char *id;          /* the container's */
    bool has_cgroup;         /* can make one, so limits hold */
    bool has_user_namespace; /* a plain user's */
};

/* wanted NULL: crun, else runc. ERROR_NOT_FOUND names the package. */
int runtime_find(const char *wanted, bool has_user_namespace, const char **ret_program,
                 struct error *err) must_check;
/* Whether this machine lets us make control groups. */
bool runtime_can_limit(bool has_user_namespace);

/* Creates the container from bundle (config.json), its output to output_fd. *ret_pid is its first
 * process, waiting to be started. */
int runtime_create(const struct runtime *runtime, const char *bundle, int output_fd, pid_t *ret_pid,
                   struct error *err) must_check;
int runtime_start(const struct runtime *runtime, struct error *err) must_check;
/* Also kills what is left in it. */
int runtime_delete(const struct runtime *runtime, struct error *err) must_check;
/* In the foreground on our own terminal, until it ends. */
int runtime_run(const struct runtime *runtime, const char *bundle, pid_t *ret_pid,
                struct error *err) must_check;

/* Whether the kernel killed a process of this cgroup for want of memory. */
bool runtime_was_out_of_memory(const char *cgroup);
/* Whether a line of memory.oom_control or memory.events says so. Pure. */
bool runtime_is_kill_line(const char *line);
/* The process number in a runtime's pid file; 0 if there is none, or init's. Pure. */
pid_t runtime_read_pid(const char *text);
/* Removes the empty cgroup that a killed run left. */
void runtime_remove_cgroup(const char *cgroup);
