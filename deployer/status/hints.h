/* SPDX-License-Identifier: Apache-2.0 */
/* Why a DeployItem does not go on, and what to do about it: one table, from lastError to cause and
 * solution. docs/troubleshooting.md has the same rows (make reference); e2e/ship/test_docs.py
 * compares them. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* NULL matches everything. */
struct hint {
    const char *group;     /* of rows that belong together; not part of the match */
    const char *operation; /* lastError.operation */
    const char *reason;    /* lastError.reason; alternatives are separated by '|' */
    const char *text;      /* part of lastError.message, in any case */
    const char *cause, *solution;
};

/* lastError.reason that `longshore status` itself uses for a job that no deployer has begun. */
#define HINT_NOT_PICKED_UP "NotPickedUp"

/* The first row that matches, or NULL. message may be NULL. */
const struct hint *hint_find(const char *operation, const char *reason, const char *message);
/* Enumerates the table; NULL after the last row. */
const struct hint *hint_at(size_t index);
