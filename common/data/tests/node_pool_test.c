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

/* What is given back as one size and taken as another must be large enough: whoever gets it fills
 * it, and the sanitizers and malloc's own marks tell whether that was too much. */
static void a_piece_is_as_large_as_was_asked_for(void **state)
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
        /* In another order than they came. */
        for (size_t i = 0; i < SIZE_MOST; i++)
            node_give(pieces[(i * 7 + (size_t)round) % SIZE_MOST]);
    }
    node_give(NULL);
}

static void no_piece_is_given_out_twice(void **state)
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

/* jansson's strings are given to callers who free() them, and what others made may come back. */
static void pieces_are_memory_like_any_other(void **state)
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
        cmocka_unit_test(a_piece_is_as_large_as_was_asked_for),
        cmocka_unit_test(no_piece_is_given_out_twice),
        cmocka_unit_test(pieces_are_memory_like_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
