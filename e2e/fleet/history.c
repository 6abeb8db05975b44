/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/history.h"

#include "common/base/memory.h"

enum { CAPACITY_FIRST = 16 };

void history_init(struct history *history, size_t max)
{
    *history = (struct history){.max = max ? max : 1};
}

static struct change *slot(const struct history *history, size_t index)
{
    return &history->ring[(history->first + index) % history->capacity];
}

static void drop_first(struct history *history, struct text_pool *pool)
{
    struct change *change = slot(history, 0);

    history->dropped_version = change->record->resource_version;
    record_release(pool, change->record);
    record_release(pool, change->previous);
    history->first = (history->first + 1) % history->capacity;
    history->count--;
}

void history_done(struct history *history, struct text_pool *pool)
{
    while (history->count > 0)
        drop_first(history, pool);
    free(history->ring);
    *history = (struct history){0};
}

static void grow(struct history *history)
{
    size_t capacity = history->capacity ? history->capacity * 2 : CAPACITY_FIRST;
    struct change *ring = NULL;

    if (capacity > history->max)
        capacity = history->max;
    ring = xcalloc(capacity, sizeof(*ring));
    for (size_t i = 0; i < history->count; i++)
        ring[i] = *slot(history, i);
    free(history->ring);
    history->ring = ring;
    history->first = 0;
    history->capacity = capacity;
}

void history_add(struct history *history, struct text_pool *pool, const struct change *change)
{
    if (history->count == history->capacity) {
        if (history->capacity < history->max)
            grow(history);
        else
            drop_first(history, pool);
    }
    *slot(history, history->count++) = (struct change){
        .type = change->type,
        .resource = change->resource,
        .record = record_take(change->record),
        .previous = change->previous ? record_take(change->previous) : NULL,
    };
}

void history_forget(struct history *history, struct text_pool *pool, uint64_t version)
{
    while (history->count > 0)
        drop_first(history, pool);
    history->dropped_version = version;
}

bool history_reaches(const struct history *history, uint64_t version)
{
    return version >= history->dropped_version;
}

const struct change *history_at(const struct history *history, size_t index)
{
    return index < history->count ? slot(history, index) : NULL;
}

size_t history_after(const struct history *history, uint64_t version)
{
    size_t low = 0, high = history->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (slot(history, middle)->record->resource_version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
