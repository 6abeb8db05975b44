/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/plain.h"

enum { SIZE_MOST = 19 };

static bool is_plain(unsigned byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void every_byte_is_told_at_every_place(void **state)
{
    (void)state;
    for (size_t size = 1; size <= SIZE_MOST; size++) {
        /* Of its own size, so that reading past it is noticed. */
        cleanup_free char *text = xmalloc(size);

        for (size_t place = 0; place < size; place++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                memset(text, 'a', size);
                text[place] = (char)byte;
                assert_int_equal(plain_length(text, size), is_plain(byte) ? size : place);
            }
        }
    }
}

/* The trick with whole words is wrong above the first hit, and must not be below it. */
static void the_first_of_two_counts(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            const char text[] = {'a', (char)first, (char)second, 'a', 'a', 'a', 'a', 'a'};
            size_t wanted = !is_plain(first) ? 1 : !is_plain(second) ? 2 : sizeof(text);

            assert_int_equal(plain_length(text, sizeof(text)), wanted);
        }
    }
}

static void nothing_is_plain(void **state)
{
    (void)state;
    assert_int_equal(plain_length("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_told_at_every_place),
        cmocka_unit_test(the_first_of_two_counts),
        cmocka_unit_test(nothing_is_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
