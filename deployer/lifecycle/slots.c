/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/slots.h"

void slots_init(struct slots *slots, size_t max, uint64_t held_ms_max)
{
    *slots = (struct slots){.max = max, .held_ms_max = held_ms_max};
}

bool slots_take(struct slots *slots, struct slot *slot, uint64_t now_ms)
{
    if (slot->is_held)
        return true;
    if (slots->count >= slots->max)
        return false;
    *slot = (struct slot){.previous = slots->newest, .since_ms = now_ms, .is_held = true};
    *(slots->newest ? &slots->newest->next : &slots->oldest) = slot;
    slots->newest = slot;
    slots->count++;
    return true;
}

void slots_give(struct slots *slots, struct slot *slot)
{
    if (!slot->is_held)
        return;
    *(slot->previous ? &slot->previous->next : &slots->oldest) = slot->next;
    *(slot->next ? &slot->next->previous : &slots->newest) = slot->previous;
    slot->is_held = false;
    slots->count--;
}

uint64_t slots_expire(struct slots *slots, uint64_t now_ms)
{
    while (slots->oldest && now_ms - slots->oldest->since_ms >= slots->held_ms_max)
        slots_give(slots, slots->oldest);
    return slots->oldest ? slots->oldest->since_ms + slots->held_ms_max - now_ms : 0;
}

static struct slot_queue *queue_of(struct slots *slots, const struct slot_waiter *waiter)
{
    return waiter->is_urgent ? &slots->urgent : &slots->others;
}

void slots_wait(struct slots *slots, struct slot_waiter *waiter, bool is_urgent)
{
    struct slot_queue *queue = NULL;

    if (waiter->link)
        return;
    waiter->is_urgent = is_urgent;
    queue = queue_of(slots, waiter);
    waiter->next = NULL;
    waiter->link = queue->last ? &queue->last->next : &queue->first;
    *waiter->link = waiter;
    queue->last = waiter;
}

void slots_leave(struct slots *slots, struct slot_waiter *waiter)
{
    struct slot_queue *queue = queue_of(slots, waiter);
    struct slot_waiter *previous = NULL;

    if (!waiter->link)
        return;
    /* next is the first member, so a link inside a waiter is the waiter's address. */
    if (waiter->link != &queue->first)
        previous = (struct slot_waiter *)waiter->link;
    *waiter->link = waiter->next;
    if (waiter->next)
        waiter->next->link = waiter->link;
    else
        queue->last = previous;
    waiter->link = NULL;
}

static struct slot_waiter *first_of(const struct slots *slots)
{
    return slots->urgent.first ? slots->urgent.first : slots->others.first;
}

bool slots_has_next(const struct slots *slots)
{
    return slots->count < slots->max && first_of(slots);
}

struct slot_waiter *slots_next(struct slots *slots)
{
    struct slot_waiter *waiter = first_of(slots);

    if (waiter)
        slots_leave(slots, waiter);
    return waiter;
}
