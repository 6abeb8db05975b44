/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sees of a run: steps with their times, main's output live and marked, exports and
 * state at the end. Everything goes to stderr but the result, which goes to stdout. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "deployer/run/options.h"

struct show;

struct show *show_new(enum run_output output, bool is_verbose, struct clock *clock);
void show_free(struct show *show);

/* One step: begin, progress (a transient line on a terminal), end with what came of it. */
void show_begin(struct show *show, const char *step);
void show_progress(struct show *show, const char *what, uint64_t bytes);
void show_end(struct show *show, const char *format, ...) printf_like(2, 3);
void show_note(struct show *show, const char *format, ...) printf_like(2, 3);
/* Duration of the steps so far by name: {"init": ms, ...}. New reference. */
json_t *show_durations(const struct show *show);

/* Output of a program, as it comes; lines are marked with its name. Lines of init and wait are
 * shown only when verbose, but the last ones are kept for show_tail(). */
void show_output(struct show *show, const char *program_name, const char *bytes, size_t size);
/* The last lines of a program that were not shown, as they were. */
void show_tail(struct show *show, const char *program_name);

/* The result: {"phase", "exitCode", "exports", "state", "durations", "error"?}. */
void show_result(struct show *show, const json_t *result);
