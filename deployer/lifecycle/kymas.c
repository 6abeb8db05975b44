/* SPDX-License-Identifier: Apache-2.0 */
/* The table of managed clusters, and the queue of those that have to be looked at. */
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"

enum { TABLE_FIRST = 64 };

static size_t bucket_of(const struct lifecycle *lifecycle, const char *name)
{
    return hash_bytes(HASH_FIRST, name, strlen(name)) & (lifecycle->table_size - 1);
}

static void grow(struct lifecycle *lifecycle)
{
    struct kyma **old = lifecycle->table;
    size_t old_size = lifecycle->table_size;
    struct kyma *next = NULL;

    lifecycle->table_size = old_size ? old_size * 2 : TABLE_FIRST;
    lifecycle->table = xcalloc(lifecycle->table_size, sizeof(struct kyma *));
    for (size_t i = 0; i < old_size; i++) {
        for (struct kyma *kyma = old[i]; kyma; kyma = next) {
            size_t bucket = bucket_of(lifecycle, kyma->name);

            next = kyma->hash_next;
            kyma->hash_next = lifecycle->table[bucket];
            lifecycle->table[bucket] = kyma;
        }
    }
    free(old);
}

struct kyma *kyma_find(const struct lifecycle *lifecycle, const char *name)
{
    struct kyma *kyma = lifecycle->table_size ? lifecycle->table[bucket_of(lifecycle, name)] : NULL;

    while (kyma && strcmp(kyma->name, name) != 0)
        kyma = kyma->hash_next;
    return kyma;
}

struct kyma *kyma_get(struct lifecycle *lifecycle, const char *name)
{
    struct kyma *kyma = kyma_find(lifecycle, name);
    size_t bucket = 0;

    if (kyma)
        return kyma;
    if (lifecycle->kyma_count >= lifecycle->table_size)
        grow(lifecycle);
    kyma = xcalloc(1, sizeof(*kyma));
    kyma->lifecycle = lifecycle;
    kyma->name = xstrdup(name);
    kyma->reported_state = -1;
    kyma->shoot = xstrdup("");
    kyma->instance = xstrdup("");
    loop_timer_init(&kyma->timer, lifecycle->loop, kyma_on_timer, kyma);
    loop_timer_init(&kyma->away_timer, lifecycle->loop, kyma_on_away, kyma);
    loop_timer_init(&kyma->report_timer, lifecycle->loop, kyma_on_report, kyma);
    loop_timer_init(&kyma->window_timer, lifecycle->loop, kyma_on_timer, kyma);
    bucket = bucket_of(lifecycle, name);
    kyma->hash_next = lifecycle->table[bucket];
    lifecycle->table[bucket] = kyma;
    lifecycle->kyma_count++;
    sharing_add(kyma);
    return kyma;
}

void kyma_touch(struct kyma *kyma)
{
    struct lifecycle *lifecycle = kyma->lifecycle;

    /* The pump stops while this process must not write. */
    if (!loop_timer_is_running(&lifecycle->pump))
        loop_timer_start(&lifecycle->pump, 0);
    if (kyma->is_queued)
        return;
    kyma->is_queued = true;
    kyma->queued_ms = loop_now_ms(lifecycle->loop);
    lifecycle->queue_adds++;
    kyma->queue_next = NULL;
    *lifecycle->queue_end = kyma;
    lifecycle->queue_end = &kyma->queue_next;
}

void kymas_foreach(struct lifecycle *lifecycle, void (*visit)(struct kyma *kyma))
{
    struct kyma *next = NULL;

    for (size_t i = 0; i < lifecycle->table_size; i++) {
        for (struct kyma *kyma = lifecycle->table[i]; kyma; kyma = next) {
            next = kyma->hash_next;
            visit(kyma);
        }
    }
}

void kymas_touch_all(struct lifecycle *lifecycle)
{
    if (!loop_timer_is_running(&lifecycle->pump))
        loop_timer_start(&lifecycle->pump, 0);
    kymas_foreach(lifecycle, kyma_touch);
}

/* ---- Slots ---- */

static void pump_if_needed(struct lifecycle *lifecycle)
{
    if ((slots_has_next(&lifecycle->apply_slots) || slots_has_next(&lifecycle->connect_slots) ||
         slots_has_next(&lifecycle->report_slots)) &&
        !loop_timer_is_running(&lifecycle->pump))
        loop_timer_start(&lifecycle->pump, 0);
}

static bool take_slot(struct slots *slots, struct slot *slot, struct loop_timer *timer)
{
    if (!slots_take(slots, slot, loop_now_ms(timer->loop)))
        return false;
    if (!loop_timer_is_running(timer))
        loop_timer_start(timer, slots->held_ms_max);
    return true;
}

static void expire_slots(struct slots *slots, struct loop_timer *timer)
{
    uint64_t next_ms = slots_expire(slots, loop_now_ms(timer->loop));

    if (next_ms)
        loop_timer_start(timer, next_ms);
}

bool kymas_take_slot(struct module *module)
{
    struct lifecycle *lifecycle = module->kyma->lifecycle;

    if (take_slot(&lifecycle->apply_slots, &module->slot, &lifecycle->slot_timer))
        return true;
    slots_wait(&lifecycle->apply_slots, &module->kyma->waiter, false);
    return false;
}

void kymas_give_slot(struct module *module)
{
    slots_give(&module->kyma->lifecycle->apply_slots, &module->slot);
    pump_if_needed(module->kyma->lifecycle);
}

bool kymas_take_connect_slot(struct kyma *kyma, bool is_urgent)
{
    struct lifecycle *lifecycle = kyma->lifecycle;

    if (take_slot(&lifecycle->connect_slots, &kyma->connect_slot, &lifecycle->connect_slot_timer))
        return true;
    slots_wait(&lifecycle->connect_slots, &kyma->connect_waiter, is_urgent);
    return false;
}

void kymas_give_connect_slot(struct kyma *kyma)
{
    slots_give(&kyma->lifecycle->connect_slots, &kyma->connect_slot);
    pump_if_needed(kyma->lifecycle);
}

bool kymas_take_report_slot(struct kyma *kyma)
{
    struct slots *slots = &kyma->lifecycle->report_slots;

    if (!slots_take(slots, &kyma->report_slot, loop_now_ms(kyma->lifecycle->loop))) {
        slots_wait(slots, &kyma->report_waiter, false);
        return false;
    }
    slots_leave(slots, &kyma->report_waiter);
    return true;
}

void kymas_give_report_slot(struct kyma *kyma)
{
    slots_give(&kyma->lifecycle->report_slots, &kyma->report_slot);
    pump_if_needed(kyma->lifecycle);
}

void kymas_on_slot_timer(void *data)
{
    struct lifecycle *lifecycle = data;

    expire_slots(&lifecycle->apply_slots, &lifecycle->slot_timer);
    pump_if_needed(lifecycle);
}

void kymas_on_connect_slot_timer(void *data)
{
    struct lifecycle *lifecycle = data;

    expire_slots(&lifecycle->connect_slots, &lifecycle->connect_slot_timer);
    pump_if_needed(lifecycle);
}

static void offer(struct slots *slots, size_t offset)
{
    for (size_t taken = slots->count; taken < slots->max && slots_has_next(slots); taken++) {
        struct slot_waiter *waiter = slots_next(slots);

        kyma_touch((struct kyma *)(void *)((char *)waiter - offset));
    }
}

void kymas_offer_slots(struct lifecycle *lifecycle)
{
    offer(&lifecycle->apply_slots, offsetof(struct kyma, waiter));
    offer(&lifecycle->connect_slots, offsetof(struct kyma, connect_waiter));
    offer(&lifecycle->report_slots, offsetof(struct kyma, report_waiter));
}

/* ---- The end ---- */

static void unlink_kyma(struct kyma *kyma)
{
    struct lifecycle *lifecycle = kyma->lifecycle;
    struct kyma **link = &lifecycle->table[bucket_of(lifecycle, kyma->name)];

    while (*link != kyma)
        link = &(*link)->hash_next;
    *link = kyma->hash_next;
    lifecycle->kyma_count--;
    sharing_remove(kyma);
    slots_leave(&lifecycle->apply_slots, &kyma->waiter);
    slots_leave(&lifecycle->connect_slots, &kyma->connect_waiter);
    slots_leave(&lifecycle->report_slots, &kyma->report_waiter);
    for (link = &lifecycle->queue_first; kyma->is_queued && *link; link = &(*link)->queue_next) {
        if (*link != kyma)
            continue;
        *link = kyma->queue_next;
        if (lifecycle->queue_end == &kyma->queue_next)
            lifecycle->queue_end = link;
        break;
    }
}

void kyma_free(struct kyma *kyma)
{
    documents_release(&kyma->lifecycle->documents, kyma);
    kyma_disconnect(kyma);
    while (kyma->modules)
        module_free(kyma->modules);
    kube_cancel(kyma->call);
    kymas_give_report_slot(kyma);
    json_decref(kyma->event);
    loop_timer_stop(&kyma->timer);
    loop_timer_stop(&kyma->away_timer);
    loop_timer_stop(&kyma->report_timer);
    loop_timer_stop(&kyma->window_timer);
    unlink_kyma(kyma);
    while (kyma->accesses) {
        struct access *access = kyma->accesses;

        kyma->accesses = access->next;
        kube_config_free(access->config);
        free(access->problem);
        free(access->secret);
        free(access);
    }
    kept_done(&kyma->object);
    kept_done(&kyma->remote);
    free(kyma->problem);
    free(kyma->silence);
    free(kyma->shoot);
    free(kyma->instance);
    free(kyma->name);
    free(kyma);
}

void kymas_free_all(struct lifecycle *lifecycle)
{
    kymas_foreach(lifecycle, kyma_free);
    free(lifecycle->table);
    lifecycle->table = NULL;
    lifecycle->table_size = 0;
    text_pool_done(&lifecycle->texts);
}

/* ---- Modules ---- */

struct module *module_find(const struct kyma *kyma, const char *manifest)
{
    struct module *module = kyma->modules;

    while (module && strcmp(module->name, manifest) != 0)
        module = module->next;
    return module;
}

struct module *module_get(struct kyma *kyma, const char *manifest)
{
    struct module *module = module_find(kyma, manifest);

    if (module)
        return module;
    module = xcalloc(1, sizeof(*module));
    module->kyma = kyma;
    module->name = xstrdup(manifest);
    module->round = kyma->lifecycle->sources[SOURCE_MANIFESTS].round;
    loop_timer_init(&module->timer, kyma->lifecycle->loop, module_on_timer, module);
    loop_timer_init(&module->removal_timer, kyma->lifecycle->loop, module_on_removal_timer, module);
    module->next = kyma->modules;
    kyma->modules = module;
    return module;
}

void module_free(struct module *module)
{
    struct module **link = &module->kyma->modules;

    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    module_stop(module);
    kept_done(&module->manifest);
    text_pool_give(&module->kyma->lifecycle->texts, module->module_name);
    free(module->name);
    free(module);
}
