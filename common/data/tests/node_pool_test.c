/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/node_pool.h"

enum { SIZE_MOST = 400, ROUNDS = 3, MANY = 1000 };

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

/* Callers free() strings of jansson, and jansson may free memory of malloc(). */
static void blocks_are_compatible_with_malloc_and_free(void **state)
{
    (void)state;
    free(node_take(24));
    node_give(xstrdup("a"));
    node_give(xmalloc(1 << 20));
    node_give(node_take(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_the_requested_size),
        cmocka_unit_test(no_block_is_handed_out_twice),
        cmocka_unit_test(blocks_are_compatible_with_malloc_and_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
