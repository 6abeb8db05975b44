/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal output of a run: steps with their durations, main's output as it comes, and the
 * result. The result goes to stdout, everything else to stderr. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "deployer/run/options.h"

struct show;

struct show *show_new(enum run_output output, bool is_verbose, struct clock *clock);
void show_free(struct show *show);

/* A step begins, shows its progress (a line that is overwritten; on terminals only) and ends with a
 * line that says what it did. */
void show_begin(struct show *show, const char *step);
void show_progress(struct show *show, const char *what, uint64_t bytes);
void show_end(struct show *show, const char *format, ...) printf_like(2, 3);
/* A line with the prefix "note: " or "warning: ". */
void show_note(struct show *show, const char *format, ...) printf_like(2, 3);
void show_warning(struct show *show, const char *format, ...) printf_like(2, 3);
/* Durations of the steps that have ended: {"init": MILLISECONDS, ...}. New reference. */
json_t *show_durations(const struct show *show);

/* Output of a program as it arrives; size 0 is the end of file. Lines are prefixed with the name.
 * Lines of init and wait are shown only if verbose, but the last ones are kept for show_tail(). */
void show_output(struct show *show, const char *program_name, const char *bytes, size_t size);
/* Prints the last lines of a program that were not shown. */
void show_tail(struct show *show, const char *program_name);

/* Prints the result: {"phase", "exitCode", "exports", "state", "durations", "error"?}. */
void show_result(struct show *show, const json_t *result);
