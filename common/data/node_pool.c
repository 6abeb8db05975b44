/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/node_pool.h"

#include <malloc.h>
#include <stdbool.h>

#include "common/base/memory.h"

enum {
    /* Sizes that glibc hands out without loss: 24, 40, 56 ... */
    SMALLEST = 24,
    STEP = 16,
    CLASSES = 16,
    FREE_MAX = 512, /* blocks of each class; 1.2 MB if all classes are full */
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

static struct {
    struct block *first;
    size_t count;
} pool[CLASSES];

/* The smallest class that is large enough; CLASSES or more: none is. */
static size_t class_for(size_t size)
{
    return size <= SMALLEST ? 0 : (size - SMALLEST + STEP - 1) / STEP;
}

/* The largest class that a block of malloc() can serve. */
static size_t class_of(void *memory)
{
    size_t usable = malloc_usable_size(memory);

    return usable < SMALLEST ? CLASSES : (usable - SMALLEST) / STEP;
}

void *node_take(size_t size)
{
    size_t class = class_for(size);
    struct block *block = NULL;

    if (class >= CLASSES || !IS_POOLING)
        return xmalloc(size);
    block = pool[class].first;
    if (!block)
        return xmalloc(SMALLEST + class * STEP);
    pool[class].first = block->next;
    pool[class].count--;
    return block;
}

void node_give(void *memory)
{
    struct block *block = memory;
    size_t class = CLASSES;

    if (memory && IS_POOLING)
        class = class_of(memory);
    if (class >= CLASSES || pool[class].count == FREE_MAX) {
        free(memory);
        return;
    }
    block->next = pool[class].first;
    pool[class].first = block;
    pool[class].count++;
}
