/* SPDX-License-Identifier: Apache-2.0 */
/* The whole run of the program: set up, enter the sandbox, wait for main, store, report. */
#pragma once

#include "common/base/clock.h"
#include "wait/decide.h"
#include "wait/options.h"

/* Fails only if the set-up or the event loop fails. Failures to store are reported in the verdict.
 * Takes ownership of settings->main_end_fd. */
int life_run(const struct settings *settings, struct clock *clock, struct verdict *ret_verdict,
             struct error *err) must_check;
