/* SPDX-License-Identifier: Apache-2.0 */
/* How many clusters or modules do something at a time. While a module is applied, its plan takes
 * about 100 KB, and a cluster that is being connected has a handshake and a dozen lists under way:
 * without a limit ten thousand clusters would take some GB for a moment. A status of a Kyma that
 * waits for the control plane takes 4 KB.
 *
 * A cluster that does not respond keeps its memory until its requests time out, but its slot is
 * taken from it long before, so that it does not hold up the others. Pure bookkeeping. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    APPLY_SLOTS_MAX = 256,
    APPLY_SLOT_MS = 10000, /* nobody keeps a slot for longer */
    CONNECT_SLOTS_MAX = 200,
    CONNECT_SLOT_MS = 3000,
    REPORT_SLOTS_MAX = 128,
};

/* In whoever does something. Zeroed: it has no slot. */
struct slot {
    struct slot *next, *previous; /* by age */
    uint64_t since_ms;
    bool is_held;
};

/* In a cluster. Zeroed: it does not wait. */
struct slot_waiter {
    struct slot_waiter *next, **link; /* link NULL: it does not wait */
    bool is_urgent;
};

struct slot_queue {
    struct slot_waiter *first, *last;
};

struct slots {
    size_t max;
    uint64_t held_ms_max;
    struct slot *oldest, *newest;
    size_t count;
    struct slot_queue urgent, others;
};

/* All slots are free. */
void slots_init(struct slots *slots, size_t max, uint64_t held_ms_max);
/* False if there is no free slot. */
bool slots_take(struct slots *slots, struct slot *slot, uint64_t now_ms);
void slots_give(struct slots *slots, struct slot *slot); /* also if it has none */
/* Takes slots back that were held for too long. Returns the ms until the next one is; 0: none. */
uint64_t slots_expire(struct slots *slots, uint64_t now_ms);
/* Waits for a slot, before all that are not urgent if it is; does nothing if it waits already. */
void slots_wait(struct slots *slots, struct slot_waiter *waiter, bool is_urgent);
void slots_leave(struct slots *slots, struct slot_waiter *waiter);
/* Whether there is a free slot for somebody who waits. */
bool slots_has_next(const struct slots *slots);
/* Who has waited for longest, who does not wait any more then; NULL: nobody waits. */
struct slot_waiter *slots_next(struct slots *slots);
