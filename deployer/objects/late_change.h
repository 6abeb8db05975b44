/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about changes of an item's objects after its job has succeeded. Pure.
 *
 * A change is a state that differs from that at the end of the job, whatever happened in between: a
 * change that was undone does not count. It is reported, or answered with a new job, after it has
 * been stable for the quiet period. For each change a job is triggered once. Triggers are at least
 * interval_ms apart; this time doubles with each change that comes sooner than interval_ms after
 * the last trigger and the job that it led to, and after LATE_STREAK_MAX of them in a row changes
 * are only reported. So a job that itself changes what is watched cannot cause an endless loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum late_level { LATE_LEVEL_NONE, LATE_LEVEL_REPORT, LATE_LEVEL_TRIGGER };

enum {
    LATE_CHANGE_SIZE = 17,
    LATE_STREAK_MAX = 4,
    /* A state that never stays the same is stable after this many quiet periods. */
    LATE_UNSTABLE_PERIODS = 10,
};

struct late_rules {
    enum late_level level;
    int64_t quiet_ms, interval_ms;
    bool is_trigger_allowed; /* by the configuration of the deployer */
};

/* What has to survive a restart. Stored in the item's status before a job is triggered. */
struct late_memory {
    char change[LATE_CHANGE_SIZE]; /* that a job was triggered for last; "": none, or it is over */
    int64_t triggered_unix_ms;     /* when that was; 0: never */
    unsigned streak;               /* how many triggers before it came in quick succession */
    bool is_pending; /* the trigger was stored, but maybe not sent, and no job has begun since */
};

/* What is seen of the objects. */
struct late_view {
    bool is_known;                 /* all of them can be observed at present */
    char change[LATE_CHANGE_SIZE]; /* identifies the change; "": all is as the job left it */
    int64_t since_unix_ms;         /* since when there has been a change */
    int64_t last_unix_ms;          /* when any of this last became different */
    int64_t finished_unix_ms;      /* the end of the job */
    int64_t due_unix_ms;           /* when continuousReconcile wants the next job; -1: never */
};

enum late_verdict {
    LATE_WATCHING, /* nothing to be said yet */
    LATE_UNKNOWN,  /* not everything can be observed */
    LATE_UP_TO_DATE,
    LATE_CHANGED, /* reported, as wanted */
    LATE_TRIGGERED,
    LATE_TRIGGER_DISABLED, /* by the configuration of the deployer */
    LATE_BUDGET_EXHAUSTED, /* the next trigger has to wait */
    LATE_FLAPPING,         /* triggers do not lead to a stable state */
    /* Found out when the root Installation is read: */
    LATE_NO_INSTALLATION,
    LATE_INSTALLATION_BUSY, /* a job runs or is requested, or it is being deleted */
    LATE_INSTALLATION_FAILED,
    LATE_FORBIDDEN,
    LATE_VERDICT_COUNT,
};

struct late_decision {
    enum late_verdict verdict;
    bool is_trigger;           /* trigger a job, if the Installation allows it */
    int64_t wake_unix_ms;      /* decide again then; -1: only an event can change anything */
    struct late_memory memory; /* to be stored; with is_trigger: before it is sent */
};

struct late_decision late_decide(const struct late_rules *rules, const struct late_view *view,
                                 const struct late_memory *memory, int64_t now_unix_ms);

/* The reason of a condition. */
const char *late_verdict_reason(enum late_verdict verdict);
/* Whether it says that there is a change. */
bool late_verdict_is_change(enum late_verdict verdict);
