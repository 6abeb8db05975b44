/* SPDX-License-Identifier: Apache-2.0 */
/* How many modules are applied at a time. While a module is applied, its plan takes about 100 KB:
 * without a limit the installation of ten thousand clusters would take some GB for a moment.
 *
 * A cluster that does not respond keeps its plan until its requests time out, but its slot is taken
 * from it long before, so that it does not hold up the others. Pure bookkeeping. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    APPLY_SLOTS_MAX = 256,
    APPLY_SLOT_MS = 10000, /* nobody keeps a slot for longer */
};

/* In a module. Zeroed: it has no slot. */
struct apply_slot {
    struct apply_slot *next, *previous; /* by age */
    uint64_t since_ms;
    bool is_held;
};

/* In a cluster. Zeroed: it does not wait. */
struct apply_waiter {
    struct apply_waiter *next, **link; /* link NULL: it does not wait */
};

/* Zeroed: all slots are free. */
struct apply_slots {
    struct apply_slot *oldest, *newest;
    size_t count;
    struct apply_waiter *first, *last;
};

/* False if there is no free slot. */
bool apply_slots_take(struct apply_slots *slots, struct apply_slot *slot, uint64_t now_ms);
void apply_slots_give(struct apply_slots *slots, struct apply_slot *slot); /* also if it has none */
/* Takes slots back that were held for too long. Returns the ms until the next one is; 0: none. */
uint64_t apply_slots_expire(struct apply_slots *slots, uint64_t now_ms);
/* Waits for a slot; does nothing if it waits already. */
void apply_slots_wait(struct apply_slots *slots, struct apply_waiter *waiter);
void apply_slots_leave(struct apply_slots *slots, struct apply_waiter *waiter);
/* Who has waited for longest, who does not wait any more then; NULL: nobody waits. */
struct apply_waiter *apply_slots_next(struct apply_slots *slots);
