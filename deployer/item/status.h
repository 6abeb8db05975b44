/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and phases in the status of a DeployItem. No I/O; the time is a parameter. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Errors: lastError, firstError, lastErrors ---- */

enum { STATUS_LAST_ERRORS_MAX = 5, STATUS_MESSAGE_MAX = 4096 };

struct status_error {
    const char *operation, *reason, *message;
    const char *codes[4]; /* NULL at the end */
};

/* Sets lastError by the merging rules of the Go deployer: lastTransitionTime changes only with the
 * operation, lastUpdateTime with anything; firstError is kept once set; a new error is added to
 * lastErrors, which keeps STATUS_LAST_ERRORS_MAX. Returns whether the error is new, that is,
 * differs in more than the numbers of its message: only then an Event is due. The message is
 * truncated to STATUS_MESSAGE_MAX and made valid UTF-8. */
bool status_set_error(json_t *status, const struct status_error *error, int64_t now_unix_ms);
/* Removes lastError after a pass without an error; firstError and lastErrors are kept for the job.
 */
void status_clear_error(json_t *status);
/* Removes all three, at the start of a job. */
void status_reset_errors(json_t *status);

/* ---- Conditions ---- */

/* Sets the condition of this type to next, {"status", "reason", "message"}: lastTransitionTime
 * changes only with the status, lastUpdateTime with anything. */
void status_set_condition(json_t *status, const char *type, const json_t *next,
                          int64_t now_unix_ms);

void status_remove_condition(json_t *status, const char *type);
/* The condition of this type, or NULL. Borrowed. */
const json_t *status_condition(const json_t *status, const char *type);

/* ---- Phases ---- */

bool status_is_final(const char *phase);
bool status_is_failed(const char *phase);
const char *status_failed_phase(bool is_deleting);
