/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/node_pool.h"

enum {
    SIZE_MOST = 400,
    ROUNDS = 3,
    MANY = 1000,
    PEAK = 400 * 1000,
    PEAK_SIZE = 100, /* 40 MB in total, and an array of 3 MB for their addresses */
    SLACK_KIB = 8 * 1024,
};

static size_t resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* A block that was freed with one size may be returned for another. The test fills every block; a
 * sanitizer or the checks of malloc() detect an overflow. */
static void a_block_has_the_requested_size(void **state)
{
    void *pieces[SIZE_MOST] = {0};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t size = 0; size < SIZE_MOST; size++) {
            pieces[size] = node_take(size);
            assert_non_null(pieces[size]);
            memset(pieces[size], (int)(size & 0xff), size);
        }
        for (size_t size = 0; size < SIZE_MOST; size++) {
            const unsigned char *bytes = pieces[size];

            for (size_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], size & 0xff);
        }
        /* In another order. */
        for (size_t i = 0; i < SIZE_MOST; i++)
            node_give(pieces[(i * 7 + (size_t)round) % SIZE_MOST]);
    }
    node_give(NULL);
}

static void no_block_is_handed_out_twice(void **state)
{
    static char *pieces[MANY];

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < MANY; i++) {
            pieces[i] = node_take(40);
            memcpy(pieces[i], &i, sizeof(i));
        }
        for (size_t i = 0; i < MANY; i++) {
            assert_memory_equal(pieces[i], &i, sizeof(i));
            node_give(pieces[i]);
        }
    }
}

/* What was used at the peak is given back: the documents of thousands of clusters are in memory for
 * a moment only. */
static void memory_of_freed_documents_is_given_back(void **state)
{
    static void *pieces[PEAK];
    size_t before = resident_kib();

    (void)state;
    for (size_t i = 0; i < PEAK; i++) {
        pieces[i] = node_take(PEAK_SIZE);
        memset(pieces[i], 1, PEAK_SIZE);
    }
    for (size_t i = 0; i < PEAK; i++)
        node_give(pieces[i]);
    assert_true(resident_kib() < before + SLACK_KIB);
}

/* jansson may have allocated before the pool is used. */
static void memory_of_malloc_is_taken(void **state)
{
    (void)state;
    node_give(xstrdup("a"));
    node_give(xmalloc(1 << 20));
    node_give(node_take(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_the_requested_size),
        cmocka_unit_test(no_block_is_handed_out_twice),
        cmocka_unit_test(memory_of_freed_documents_is_given_back),
        cmocka_unit_test(memory_of_malloc_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
