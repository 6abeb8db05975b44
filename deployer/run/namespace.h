/* SPDX-License-Identifier: Apache-2.0 */
/* A run lives in a nest: process 1 of PID and mount namespaces of its own and, for a plain user, of
 * a user namespace with the user's subordinate ids. When that process ends, however it ends, the
 * kernel ends every process in the nest and takes its mounts away: nothing is left running or
 * mounted, even after SIGKILL of the program itself. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

/* Runs as process 1 of the nest; returns the exit code. */
typedef int nest_main_fn(void *data);

struct nest_options {
    bool has_terminal; /* stay in the terminal's foreground group: the program reads from it */
    nest_main_fn *main;
    void *data;
};

/* Blocks until the nest has ended. SIGINT, SIGTERM and SIGHUP that we get are handed on to it.
 * Fails with what the machine lacks and the package that brings it. Single-threaded callers only.
 */
int nest_run(const struct nest_options *options, int *ret_exit_code, struct error *err) must_check;
