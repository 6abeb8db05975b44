/* SPDX-License-Identifier: Apache-2.0 */
/* All decisions of the program, without I/O: wait or store, what to store, until when, and which
 * exit code and message the results give. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "wait/main_end.h"

struct observed {
    struct main_end end;
    bool is_stopped; /* SIGTERM: drain, eviction, deadline, cancel */
    uint64_t stopped_at_ms;
    uint64_t main_grace_ms; /* from then on main is given this long to end */
    uint64_t grace_ms;      /* from then to SIGKILL */
    bool is_idle;           /* main shows no activity (activity.h) */
    uint64_t idle_since_ms;
    uint64_t idle_ms;        /* a stopped main that is idle for this long has ended; 0: never */
    uint64_t snapshot_at_ms; /* when the state is stored while main still runs; 0: never */
};

struct plan {
    bool is_store_due;    /* else continue to wait */
    bool is_snapshot_due; /* store the state as it is now, then continue to wait */
    bool is_export_due;
    bool is_main_idle;      /* main is taken for ended, but its end was not reported */
    uint64_t wake_at_ms;    /* decide again at this time at the latest; 0: at the next event */
    uint64_t give_up_at_ms; /* storing must have ended by then; 0: no deadline */
};

/* After SIGTERM main has main_grace_ms to end: it got the signal at the same time and may still be
 * writing its state. A reserve of the pod's grace period is kept for storing: a fifth of it, but at
 * least 8 s and at most a minute, and never more than half. A main that was never started is not
 * waited for, nor one that has been idle for idle_ms, because its end may not be reported
 * (activity.h). */
struct plan decide_plan(const struct observed *observed, uint64_t now_ms);
/* The snapshot_at_ms of a stopped pod: a sixth of main's time from now. A main that ends at once
 * has written its state by then, and a snapshot that fails can be repeated a few times. */
uint64_t decide_snapshot_at_ms(const struct observed *observed, uint64_t now_ms);
/* The snapshot_at_ms after a snapshot for a requested end that main has spoiled by changing the
 * state meanwhile; 0: no further attempt. attempts: so far. */
uint64_t decide_repeat_at_ms(int attempts, uint64_t now_ms);

enum delivery {
    DELIVERY_SKIPPED, /* main did not succeed, so its exports are not stored */
    DELIVERY_STORED,
    DELIVERY_UNCHANGED, /* same bytes as the last generation, nothing was written */
    DELIVERY_NONE,      /* main exported nothing */
    DELIVERY_FAILED,
};

const char *delivery_name(enum delivery delivery); /* for logs */

struct state_outcome {
    enum delivery delivery;
    int64_t sequence, chunks;
    uint64_t files, bytes, packed_bytes;
    char sha256[65];           /* "": not known */
    int64_t snapshot_sequence; /* a snapshot that was stored before, though this one failed; or 0 */
    bool may_be_complete;      /* failed, but chunk 0 was sent: it may exist nevertheless */
    struct error err;
};

struct export_outcome {
    enum delivery delivery;
    uint64_t bytes;
    struct error err;
};

enum { VERDICT_MESSAGE_MAX = 4096 }; /* limit of Kubernetes, with the terminating NUL */

struct verdict {
    int exit_code; /* 0 only if main succeeded and state and exports are stored */
    char message[VERDICT_MESSAGE_MAX]; /* the termination message; shown in lastError */
};

void decide_verdict(const struct observed *observed, const struct plan *plan,
                    const struct state_outcome *state, const struct export_outcome *exports,
                    struct verdict *ret_verdict);
