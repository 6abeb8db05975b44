/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/apply_slots.h"

bool apply_slots_take(struct apply_slots *slots, struct apply_slot *slot, uint64_t now_ms)
{
    if (slot->is_held)
        return true;
    if (slots->count >= APPLY_SLOTS_MAX)
        return false;
    *slot = (struct apply_slot){.previous = slots->newest, .since_ms = now_ms, .is_held = true};
    *(slots->newest ? &slots->newest->next : &slots->oldest) = slot;
    slots->newest = slot;
    slots->count++;
    return true;
}

void apply_slots_give(struct apply_slots *slots, struct apply_slot *slot)
{
    if (!slot->is_held)
        return;
    *(slot->previous ? &slot->previous->next : &slots->oldest) = slot->next;
    *(slot->next ? &slot->next->previous : &slots->newest) = slot->previous;
    slot->is_held = false;
    slots->count--;
}

uint64_t apply_slots_expire(struct apply_slots *slots, uint64_t now_ms)
{
    while (slots->oldest && now_ms - slots->oldest->since_ms >= APPLY_SLOT_MS)
        apply_slots_give(slots, slots->oldest);
    return slots->oldest ? slots->oldest->since_ms + APPLY_SLOT_MS - now_ms : 0;
}

void apply_slots_wait(struct apply_slots *slots, struct apply_waiter *waiter)
{
    if (waiter->link)
        return;
    waiter->next = NULL;
    waiter->link = slots->last ? &slots->last->next : &slots->first;
    *waiter->link = waiter;
    slots->last = waiter;
}

void apply_slots_leave(struct apply_slots *slots, struct apply_waiter *waiter)
{
    struct apply_waiter *previous = NULL;

    if (!waiter->link)
        return;
    /* next is the first member, so a link inside a waiter is the waiter's address. */
    if (waiter->link != &slots->first)
        previous = (struct apply_waiter *)waiter->link;
    *waiter->link = waiter->next;
    if (waiter->next)
        waiter->next->link = waiter->link;
    else
        slots->last = previous;
    waiter->link = NULL;
}

struct apply_waiter *apply_slots_next(struct apply_slots *slots)
{
    struct apply_waiter *waiter = slots->first;

    if (waiter)
        apply_slots_leave(slots, waiter);
    return waiter;
}
