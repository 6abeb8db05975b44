/* SPDX-License-Identifier: Apache-2.0 */
/* Produces the outputs, one after the other. Each logs one line with its size and duration. */
#pragma once

#include "init/progress.h"
#include "init/setup.h"
#include "init/step.h"

/* On failure *ret_step is the step that failed. */
int work_run(struct setup *setup, const struct options *options, struct progress *progress,
             enum step *ret_step, struct error *err) must_check;
