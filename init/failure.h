/* SPDX-License-Identifier: Apache-2.0 */
/* Reports why a run failed: in the last line of the log and in the termination message, which
 * Kubernetes and Landscaper show to the user. Both name the step, the reason and a solution. */
#pragma once

#include "common/base/error.h"
#include "init/step.h"

enum { FAILURE_MESSAGE_MAX = 4096 };

/* What the user can do about an error: a constant phrase. */
const char *failure_advice(enum step step, const struct error *err);

/* Opens the termination message file, which is out of reach once the sandbox is active. -1 if there
 * is none. */
int failure_open_message(const char *path);
/* Logs the failure, and writes the termination message unless message_fd is -1. */
void failure_report(enum step step, const struct error *err, int message_fd);
