/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/node_pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/base/memory.h"

/* Address space is reserved once, and divided into slabs of blocks of the same size. Memory is used
 * only for pages that were written to. */
enum {
    STEP = 16,
    CLASSES = 16,
    SLAB_SIZE = 64 * 1024,
    SLABS = 16 * 1024, /* 1 GiB; after that malloc() is used */
    SPARE_MAX = 16,    /* empty slabs whose memory is kept for the next document */
};

/* AddressSanitizer detects a use after free only if the memory is really freed. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_POOLING false
#elif defined(__has_feature)
#define IS_POOLING (!__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer))
#else
#define IS_POOLING true
#endif

struct block {
    struct block *next;
};

struct slab {
    struct slab *next, *previous; /* with free blocks of the same class, or empty ones */
    struct block *first;          /* freed blocks */
    uint16_t used_count;
    uint16_t touched_count; /* blocks after these have never been used */
    uint8_t class;
};

static struct {
    bool is_tried;
    char *memory;       /* of the slabs; NULL: none could be reserved */
    struct slab *slabs; /* their state: a table of its own, so that empty slabs need no memory */
    size_t slab_count;  /* that have ever been used */
    struct slab *partial[CLASSES];
    struct slab *spare, *released; /* empty, with and without memory */
    size_t spare_count;
} pool;

static char *memory_of(const struct slab *slab)
{
    return pool.memory + (size_t)(slab - pool.slabs) * SLAB_SIZE;
}

static size_t block_size(const struct slab *slab)
{
    return (slab->class + 1u) * STEP;
}

static bool is_full(const struct slab *slab)
{
    return !slab->first && (slab->touched_count + 1u) * block_size(slab) > SLAB_SIZE;
}

static void push(struct slab **list, struct slab *slab)
{
    slab->previous = NULL;
    slab->next = *list;
    if (*list)
        (*list)->previous = slab;
    *list = slab;
}

static void take_out(struct slab **list, struct slab *slab)
{
    *(slab->previous ? &slab->previous->next : list) = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static bool reserve(void)
{
    const size_t table_size = SLABS * sizeof(struct slab);
    char *memory = NULL;

    if (pool.is_tried)
        return pool.memory != NULL;
    pool.is_tried = true;
    memory = mmap(NULL, table_size + (size_t)SLABS * SLAB_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    pool.slabs = (struct slab *)(void *)memory;
    pool.memory = memory + table_size;
    /* A huge page would be resident although only a part of it is used. */
    (void)madvise(memory, table_size + (size_t)SLABS * SLAB_SIZE, MADV_NOHUGEPAGE);
    return true;
}

/* A slab with a free block, or NULL. */
static struct slab *slab_for(size_t class)
{
    struct slab *slab = pool.partial[class];
    struct slab **list = pool.spare ? &pool.spare : &pool.released;

    if (slab || !reserve())
        return slab;
    slab = *list;
    if (slab) {
        pool.spare_count -= slab == pool.spare;
        take_out(list, slab);
    } else if (pool.slab_count < SLABS) {
        slab = &pool.slabs[pool.slab_count++];
    } else {
        return NULL;
    }
    *slab = (struct slab){.class = (uint8_t) class};
    push(&pool.partial[class], slab);
    return slab;
}

static void put_aside(struct slab *slab)
{
    take_out(&pool.partial[slab->class], slab);
    if (pool.spare_count < SPARE_MAX) {
        push(&pool.spare, slab);
        pool.spare_count++;
        return;
    }
    (void)madvise(memory_of(slab), SLAB_SIZE, MADV_DONTNEED);
    push(&pool.released, slab);
}

void *node_take(size_t size)
{
    size_t class = size ? (size - 1) / STEP : 0;
    struct slab *slab = class < CLASSES && IS_POOLING ? slab_for(class) : NULL;
    void *block = NULL;

    if (!slab)
        return xmalloc(size);
    block = slab->first;
    if (block)
        slab->first = slab->first->next;
    else
        block = memory_of(slab) + slab->touched_count++ * block_size(slab);
    slab->used_count++;
    if (is_full(slab))
        take_out(&pool.partial[class], slab);
    return block;
}

void node_give(void *memory)
{
    uintptr_t offset = (uintptr_t)memory - (uintptr_t)pool.memory;
    struct block *block = memory;
    struct slab *slab = NULL;

    if (!pool.memory || offset >= (uintptr_t)SLABS * SLAB_SIZE) {
        free(memory);
        return;
    }
    slab = &pool.slabs[offset / SLAB_SIZE];
    if (is_full(slab))
        push(&pool.partial[slab->class], slab);
    block->next = slab->first;
    slab->first = block;
    if (--slab->used_count == 0)
        put_aside(slab);
}
