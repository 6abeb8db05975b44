/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the program: set up, lock in, wait for main, store, judge. */
#pragma once

#include "common/base/clock.h"
#include "wait/decide.h"
#include "wait/options.h"

/* Fails only where set-up fails, before anything could be waited for or stored; whatever happens
 * later is in the verdict. Takes over settings->main_end_fd. */
int life_run(const struct settings *settings, struct clock *clock, struct verdict *ret_verdict,
             struct error *err) must_check;
