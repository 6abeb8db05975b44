/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a run starts: its init and wait, the OCI runtime, newuidmap. Never through a shell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/base/loop.h"

struct process_spec {
    const char *const *argv;            /* argv[0] is looked up in PATH */
    const char *const *environment;     /* NULL: ours */
    int stdin_fd, stdout_fd, stderr_fd; /* -1: /dev/null for stdin, ours for the others */
    int kept_fd;        /* handed on under its own number, or -1; all others are closed */
    bool is_pod_user;   /* becomes uid 1000, gid 3000, group 2000, in / */
    bool has_own_group; /* its own session: signals of the terminal don't reach it */
};

/* Starts; a program that can't be executed is ERROR_NOT_FOUND or ERROR_DENIED here, not an exit
 * code. */
int process_start(const struct process_spec *spec, pid_t *ret_pid, struct error *err) must_check;

/* Starts a short helper and waits for it; its stderr goes into the error text (bounded). Blocks. */
int process_check(const char *const *argv, struct error *err) must_check;

/* 0..255: the exit code; 128 + n: ended by signal n. */
int process_exit_code(int status);

/* Collects ended children for the loop's owner, who calls reaper_collect() on SIGCHLD. Orphans of
 * the nest, whose process 1 we are, are collected too. */
struct reaper;
typedef void reaper_fn(void *data, int status);

struct reaper *reaper_new(void);
void reaper_free(struct reaper *reaper);
/* Also for a child that has already ended: the status is kept for it. */
void reaper_expect(struct reaper *reaper, pid_t pid, reaper_fn *callback, void *data);
void reaper_collect(struct reaper *reaper);
