/* SPDX-License-Identifier: Apache-2.0 */
/* The thinking of the program, without I/O: go on waiting or store now, what is due, until when,
 * and what all of it means in the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "wait/main_end.h"

struct observed {
    struct main_end end;
    bool is_stopped; /* SIGTERM: drain, eviction, deadline, cancel */
    uint64_t stopped_at_ms;
    uint64_t grace_ms; /* from then to SIGKILL */
    bool is_quiet;     /* main does nothing that can be seen */
    uint64_t quiet_since_ms;
    uint64_t quiet_ms; /* for so long it must be quiet to be taken for ended; 0: it never is */
};

struct plan {
    bool is_store_due; /* else wait on */
    bool is_export_due;
    uint64_t wake_at_ms;    /* decide again then, if nothing happens before; 0: no need to */
    uint64_t give_up_at_ms; /* storing must be over by then; 0: as long as it takes */
};

/* After SIGTERM main is given time to end, as it was told to at the same moment and may be writing
 * its last state; but a reserve of the grace time (a minute, at most half of it) is kept for
 * storing. Its end may go unreported then (quiet.h): a main that has been quiet for quiet_ms is not
 * waited for any longer. */
struct plan decide_plan(const struct observed *observed, uint64_t now_ms);

enum delivery {
    DELIVERY_NOT_DUE,
    DELIVERY_STORED,
    DELIVERY_UNCHANGED, /* the last generation has the same bytes: nothing to store */
    DELIVERY_NONE,      /* main exported nothing */
    DELIVERY_FAILED,
};

const char *delivery_name(enum delivery delivery); /* for logs */

struct state_outcome {
    enum delivery delivery;
    int64_t sequence, chunks;
    uint64_t files, bytes, packed_bytes;
    char sha256[65]; /* "": not known */
    struct error err;
};

struct export_outcome {
    enum delivery delivery;
    uint64_t bytes;
    struct error err;
};

enum { VERDICT_MESSAGE_MAX = 4096 }; /* what Kubernetes keeps of it, terminating NUL included */

struct verdict {
    int exit_code; /* 0 only if all that was due was stored, and main was fine */
    char message[VERDICT_MESSAGE_MAX]; /* names what was not, and why */
};

void decide_verdict(const struct observed *observed, const struct state_outcome *state,
                    const struct export_outcome *exports, struct verdict *ret_verdict);
