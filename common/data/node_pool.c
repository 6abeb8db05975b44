/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/node_pool.h"

#include <malloc.h>
#include <stdbool.h>

#include "common/base/memory.h"

enum {
    SMALLEST = 24, /* malloc gives out 24 bytes, 40, 56 and so on, so these are asked for */
    STEP = 16,
    KINDS = 16,
    /* With all kinds full, 1.2 MB. */
    KEPT_MAX = 512,
};

/* A piece that waits. */
struct piece {
    struct piece *next;
};

/* There is one thread, as everywhere. */
static struct {
    struct piece *first;
    size_t count;
} kept[KINDS];

/* Which kind is large enough; KINDS or more: none. */
static size_t kind_for(size_t size)
{
    return size <= SMALLEST ? 0 : (size - SMALLEST + STEP - 1) / STEP;
}

/* Which kind a piece can serve as. */
static size_t kind_of(void *memory)
{
    size_t usable = malloc_usable_size(memory);

    return usable < SMALLEST ? KINDS : (usable - SMALLEST) / STEP;
}

/* A sanitizer sees the use of a piece that was given back only if it is really given back. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_KEEPING false
#elif defined(__has_feature)
#define IS_KEEPING (!__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer))
#else
#define IS_KEEPING true
#endif

void *node_take(size_t size)
{
    size_t kind = kind_for(size);
    struct piece *piece = NULL;

    if (kind >= KINDS || !IS_KEEPING)
        return xmalloc(size);
    if (!kept[kind].first)
        return xmalloc(SMALLEST + kind * STEP);
    piece = kept[kind].first;
    kept[kind].first = piece->next;
    kept[kind].count--;
    /* Pieces lie here and there, and the next one is wanted soon. */
    __builtin_prefetch(piece->next, 1);
    return piece;
}

void node_give(void *memory)
{
    struct piece *piece = memory;
    size_t kind = 0;

    if (!memory)
        return;
    kind = IS_KEEPING ? kind_of(memory) : KINDS;
    if (kind >= KINDS || kept[kind].count == KEPT_MAX) {
        free(memory);
        return;
    }
    piece->next = kept[kind].first;
    kept[kind].first = piece;
    kept[kind].count++;
}
