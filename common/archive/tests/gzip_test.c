/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"

enum { LARGE = 300000 };

/* Bytes of which some repeat and most do not. */
static unsigned char *make_bytes(size_t size)
{
    unsigned char *bytes = xcalloc(1, size + 1);
    uint32_t seed = 1;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = i % 5 ? (unsigned char)(seed >> 24) : 'x';
    }
    return bytes;
}

static void what_is_packed_is_unpacked_and_always_the_same(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, LARGE};
    static const int levels[] = {1, 9};

    (void)state;
    for (size_t i = 0; i < array_length(sizes) * array_length(levels); i++) {
        size_t size = sizes[i / array_length(levels)];
        int level = levels[i % array_length(levels)];
        cleanup_free unsigned char *bytes = make_bytes(size);
        cleanup_buffer struct buffer packed = {0}, again = {0}, plain = {0};
        struct error err = {0};

        buffer_init(&packed, 2 * LARGE);
        buffer_init(&again, 2 * LARGE);
        buffer_init(&plain, LARGE);
        assert_int_equal(gzip_pack(bytes, size, level, &packed, &err), 0);
        assert_int_equal(gzip_pack(bytes, size, level, &again, &err), 0);
        assert_int_equal(packed.size, again.size);
        assert_memory_equal(packed.data, again.data, packed.size);
        assert_int_equal(gzip_unpack(packed.data, packed.size, &plain, &err), 0);
        assert_int_equal(plain.size, size);
        if (size > 0)
            assert_memory_equal(plain.data, bytes, size);
    }
}

static void a_buffer_without_room_is_an_error(void **state)
{
    cleanup_free unsigned char *bytes = make_bytes(LARGE);
    cleanup_buffer struct buffer packed = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&packed, LARGE / 2);
    assert_int_equal(gzip_pack(bytes, LARGE, 9, &packed, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_unpacked_and_always_the_same),
        cmocka_unit_test(a_buffer_without_room_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
