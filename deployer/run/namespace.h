/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function as process 1 of new PID and mount namespaces and, for an unprivileged user, of a
 * user namespace with the user's subordinate ids. When that process ends, the kernel kills every
 * process in the PID namespace and removes the mounts. So nothing is left behind, even if this
 * program is killed by SIGKILL. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

/* Runs as process 1; returns the exit code. failure is NULL; if the namespaces could not be set up
 * from the inside, it says why, and there is nothing to run. */
typedef int namespace_main_fn(void *data, const struct error *failure);

struct namespace_options {
    bool has_terminal; /* stay in the terminal's foreground process group, to read from it */
    namespace_main_fn *main;
    void *data;
};

/* Blocks until options->main has ended; SIGINT, SIGTERM and SIGHUP are forwarded to it. The error
 * says what the machine lacks and which package or setting provides it. For single-threaded callers
 * only. SIGCHLD and the forwarded signals stay blocked afterwards. */
int namespace_run(const struct namespace_options *options, int *ret_exit_code, struct error *err)
    must_check;
