/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run, which is printed, written to --out and turned into the exit code:
 *
 *     {"operation", "phase", "reason", "error"?, "exitCode", "exports", "state"?, "durations",
 *      "logTail", "runPath"?, "objects"?, "manifests"?}
 *
 * docs/schemas/run-result.schema.json describes it. The run is a child process that may be killed,
 * so it passes its result to the parent in a file in memory, and only the parent prints it. So
 * there is exactly one result, however the run ends. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

enum result_reason {
    RESULT_SUCCEEDED,
    RESULT_INVALID,     /* usage or configuration error, found before main was started */
    RESULT_MAIN_FAILED, /* main exited with a code other than 0 */
    RESULT_TIMED_OUT,
    RESULT_FAILED,         /* longshore failed: image, inputs, state or exports */
    RESULT_NOT_EXECUTABLE, /* the image has main's program, but it cannot be executed */
    RESULT_NOT_FOUND,      /* the image has no such program, or not its interpreter */
    RESULT_INTERRUPTED,
};

enum { RESULT_EXIT_INTERRUPTED = 130 };

/* What a run that is interrupted before it begins prints with -o json; a constant, because a signal
 * handler writes it. */
extern const char RESULT_INTERRUPTED_JSON[];

/* The result of a run that has failed before it began: every required field is set, reason and
 * error by result_fail(). New reference. */
json_t *result_new(const char *operation);
void result_fail(json_t *result, enum result_reason reason, const char *error);
void result_succeed(json_t *result);
bool result_is_success(const json_t *result);
/* The exit code of `longshore run`: one for each reason, or that of main if main failed. */
int result_exit_code(const json_t *result);

/* Opens the file in memory. Returns a descriptor. */
int result_open(struct error *err) must_check;
int result_write(int fd, const json_t *result, struct error *err) must_check;
/* Replaces the members of result by those that result_write() wrote. ERROR_INTERNAL, with result
 * unchanged, if they are not complete. */
int result_read(int fd, json_t *result, struct error *err) must_check;

/* Prints it to stdout: as one line of JSON, or as text, in color if stdout is a terminal. */
void result_print_json(const json_t *result);
void result_print_text(const json_t *result);
