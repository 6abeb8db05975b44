/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the programs of a run (init, wait, the OCI runtime, newuidmap), never through a shell, and
 * waits for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/base/loop.h"

struct program_spec {
    const char *const *argv;            /* argv[0] is looked up in PATH */
    const char *const *environment;     /* NULL: ours */
    int stdin_fd, stdout_fd, stderr_fd; /* -1: /dev/null for stdin, ours for the others */
    int kept_fd;        /* inherited under the same number, or -1; all others are closed */
    bool is_pod_user;   /* runs as the pod's user and groups, without new privileges, in / */
    bool has_own_group; /* runs in its own session: signals of the terminal do not reach it */
};

/* The path of an executable file with this name in a directory of PATH, or NULL. The caller frees.
 */
char *program_find(const char *name);
/* Forks and executes; returns once the program has been executed. A program that cannot be executed
 * is an error (ERROR_NOT_FOUND, ERROR_DENIED), not an exit code. */
int program_start(const struct program_spec *spec, pid_t *ret_pid, struct error *err) must_check;

/* Runs a short program to its end; its output becomes part of the error if it fails. Blocks. */
int program_check(const char *const *argv, struct error *err) must_check;

/* Of a wait status: the exit code, or 128 + n after signal n. */
int program_exit_code(int status);

/* Collects children that have ended, orphans included: a run is process 1 of its PID namespace. The
 * owner of the loop calls reaper_collect() on SIGCHLD. */
struct reaper;
typedef void reaper_fn(void *data, int status);

struct reaper *reaper_new(void);
void reaper_free(struct reaper *reaper); /* NULL is fine */
/* Calls callback once the child has ended; at once if reaper_collect() has seen its end already. */
void reaper_expect(struct reaper *reaper, pid_t pid, reaper_fn *callback, void *data);
void reaper_collect(struct reaper *reaper);

struct child {
    pid_t pid;
    bool is_running;
    int status; /* once it has ended, for program_exit_code() */
};

/* Updates child when the process child->pid ends; child must outlive the reaper or the process. */
void child_watch(struct child *child, struct reaper *reaper);
/* Runs the loop until the child has ended. */
int child_await(const struct child *child, struct loop *loop, struct error *err) must_check;
