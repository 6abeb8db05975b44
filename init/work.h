/* SPDX-License-Identifier: Apache-2.0 */
/* The work itself, one output after the other. Each logs one line with sizes and times. */
#pragma once

#include "init/failure.h"
#include "init/progress.h"
#include "init/setup.h"

/* On failure *ret_step is the step that failed. */
int work_run(struct setup *setup, const struct options *options, struct progress *progress,
             enum step *ret_step, struct error *err) must_check;
