/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one run inside its nest: image, init, main beside wait, and what came of it. */
#pragma once

#include "deployer/run/job.h"
#include "deployer/run/options.h"

/* Exit codes of `longshore run` besides main's own, which is passed on. */
enum {
    RUN_EXIT_TIMEOUT = 124,     /* the run's time was over */
    RUN_EXIT_FAILED = 125,      /* we failed: image, inputs, state, exports */
    RUN_EXIT_INTERRUPTED = 130, /* Ctrl-C */
};

/* Runs as process 1 of the nest; returns the exit code. */
int life_run(const struct run_options *options, struct job *job);
