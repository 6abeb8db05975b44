/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run that did not work: the last line of the log and the termination message, which
 * Kubernetes and Landscaper show to the user. They say what failed, where, and what to do. */
#pragma once

#include "common/base/error.h"

enum step {
    STEP_CONFIGURATION,
    STEP_VOLUME,
    STEP_SANDBOX,
    STEP_COMPONENTS,
    STEP_BLUEPRINT,
    STEP_IMPORTS,
    STEP_TARGET,
    STEP_STATE,
};

enum { FAILURE_MESSAGE_MAX = 4096 };

const char *step_name(enum step step);
/* What the reader can do about it: a constant sentence. */
const char *failure_advice(enum step step, const struct error *err);

/* Opened while the file can still be reached; -1 if there is none. */
int failure_open_message(const char *path);
/* Logs, and writes the message where there is a place for it (fd -1: none). */
void failure_report(enum step step, const struct error *err, int message_fd);
