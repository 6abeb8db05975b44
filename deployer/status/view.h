/* SPDX-License-Identifier: Apache-2.0 */
/* What a DeployItem is doing, made from the item and, if it can be read, its pod. No I/O; the time
 * is a parameter. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "deployer/status/hints.h"

enum step_state {
    STEP_PENDING, /* not begun */
    STEP_RUNNING,
    STEP_DONE,
    STEP_FAILED,
    STEP_SKIPPED, /* will not happen, or there was nothing to do */
};

struct view_step {
    const char *name;
    enum step_state state;
    int64_t started_unix_ms, finished_unix_ms; /* 0: unknown */
    char *detail;                              /* "exit code 3", or NULL */
};

enum {
    STEP_TRIGGERED,
    STEP_PICKED_UP,
    STEP_SCHEDULED,
    STEP_INIT,
    STEP_MAIN,
    STEP_WAIT,
    STEP_EXPORTED,
    STEP_COUNT
};

struct view {
    char *namespace_name, *name; /* never NULL, as all texts without a comment */
    char *type;                  /* "container": the end of spec.type */
    char *phase;                 /* "" if there is none */
    char *job;                   /* "" if there is none */
    int64_t created_unix_ms;     /* of the item; 0: unknown */
    int64_t started_unix_ms;     /* when the job was picked up; 0: not yet */
    int64_t finished_unix_ms;    /* of the job; 0: not yet */
    bool is_open;                /* a job is pending or running */
    bool is_failed;              /* the last job failed */
    bool is_deleting;
    char *pod;                /* "namespace/name" of the pod of this job, or NULL */
    char *waiting_for;        /* NULL: nothing */
    char *operation, *reason; /* of lastError, or of what the job waits for; "" if none */
    char *message;            /* without the log that the controller appends */
    const struct hint *hint;  /* or NULL */
    char *log_tail;           /* last lines of main that the status has, or NULL */
    struct view_step steps[STEP_COUNT];
};

/* pod may be NULL, or the pod of another job of the item. */
void view_init(struct view *view, const json_t *item, const json_t *pod, int64_t now_unix_ms);
void view_done(struct view *view);
static inline void view_donep(struct view *view)
{
    view_done(view);
}
#define cleanup_view __attribute__((cleanup(view_donep)))

/* How long the job took or takes, in ms; -1: it has not begun. */
int64_t view_duration_ms(const struct view *view, int64_t now_unix_ms);
/* "done", "running" ... */
const char *step_state_name(enum step_state state);

/* For lists and comparisons: everything but the times that pass. New reference. */
json_t *view_json(const struct view *view, int64_t now_unix_ms);
