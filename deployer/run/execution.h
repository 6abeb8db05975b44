/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one run inside its namespaces: image, init, main and wait, result. */
#pragma once

#include "deployer/run/documents.h"
#include "deployer/run/options.h"

/* Exit codes of `longshore run`, besides that of main, which is passed on. */
enum {
    RUN_EXIT_TIMEOUT = 124,
    RUN_EXIT_FAILED = 125, /* longshore failed: image, inputs, state or exports */
    RUN_EXIT_INTERRUPTED = 130,
};

/* Must be called as process 1 of the namespaces. Prints the result and returns the exit code. */
int execution_run(const struct run_options *options, struct documents *documents);
