/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a run on stderr: steps with their durations, and main's output as it comes. On a
 * terminal the step in progress has a line that is overwritten, with the time since it began;
 * everywhere else there are only whole lines. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/error.h"

struct show;

struct show *show_new(bool is_verbose, struct clock *clock);
void show_free(struct show *show);
/* Whether show_tick() has an effect, that is, whether stderr is a terminal. */
bool show_is_live(const struct show *show);

/* A step begins, says what it is doing, and ends with a line that says what it did. bytes 0: not
 * shown. */
void show_begin(struct show *show, const char *step, const char *what);
void show_progress(struct show *show, const char *what, uint64_t bytes);
void show_end(struct show *show, const char *format, ...) printf_like(2, 3);
/* Removes the line of the step in progress until its next update. */
void show_clear(struct show *show);
/* Updates the time of the step in progress; to be called about once a second. */
void show_tick(struct show *show);
/* A request of the step has failed and is retried. On a terminal this is shown until the next
 * progress, else as a line. */
void show_retry(struct show *show, const char *error, uint32_t delay_ms);
/* The last error of the step in progress that was retried, or "". Borrowed. */
const char *show_last_retry(const struct show *show);

/* A line with the prefix "note: " or "warning: ". */
void show_note(struct show *show, const char *format, ...) printf_like(2, 3);
void show_warning(struct show *show, const char *format, ...) printf_like(2, 3);
/* Durations of the steps that have ended: {"init": MILLISECONDS, ...}. New reference. */
json_t *show_durations(const struct show *show);

/* Output of a program as it arrives; size 0 is the end of file. Lines are prefixed with the name.
 * Lines of init and wait are shown only if verbose. The last lines of each program are kept. */
void show_output(struct show *show, const char *program_name, const char *bytes, size_t size);
/* Calls watch for each line of a program; it may call functions of this header. If it returns true,
 * the line is neither shown nor kept. watch NULL: no longer. */
typedef bool show_line_fn(void *data, const char *line);
void show_watch(struct show *show, const char *program_name, show_line_fn *watch, void *data);
/* Prints the last lines of a program that were not shown. */
void show_tail(struct show *show, const char *program_name);
/* The last lines of a program as an array of strings, shown or not; bytes that are not UTF-8 are
 * replaced. New reference. */
json_t *show_tail_lines(struct show *show, const char *program_name);
