/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that ended most recently, and how many ended in each of the last minutes. Bounded: the
 * oldest are forgotten, and nothing survives the process. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_RUNS_MAX = 4096, /* of all objects together; about 1 MiB */
    HISTORY_SHOWN_MAX = 10,  /* of one object */
    HISTORY_MINUTES = 60,
    HISTORY_TEXT_MAX = 64,
};

struct history_run {
    const char *namespace_name, *name;
    const char *job, *reason; /* never NULL; cut off after HISTORY_TEXT_MAX */
    bool is_failed;
    int64_t started_unix_ms, finished_unix_ms; /* started: 0 if unknown */
};

struct history;

struct history *history_new(void);
void history_free(struct history *history); /* NULL is fine */
void history_add(struct history *history, const struct history_run *run);
/* The last runs of one object, newest first: [{"job", "state", "reason"?, "startedAt"?,
 * "finishedAt"}]. New reference. */
json_t *history_of(const struct history *history, const char *namespace_name, const char *name);
/* The last HISTORY_MINUTES minutes, oldest first: [{"minute" (RFC 3339), "succeeded", "failed",
 * "meanSeconds"?, "maxSeconds"?}]. New reference. */
json_t *history_minutes(const struct history *history, int64_t now_unix_ms);
