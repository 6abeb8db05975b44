/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"

static void accepts_bytes_up_to_the_maximum(void **state)
{
    static const size_t maxima[] = {1, 2, 255, 256, 257, 511, 512, 513, 5000};

    (void)state;
    for (size_t i = 0; i < array_length(maxima); i++) {
        cleanup_buffer struct buffer buffer = {0};
        struct error err = {0};

        buffer_init(&buffer, maxima[i]);
        for (size_t j = 0; j < maxima[i]; j++)
            assert_int_equal(buffer_append(&buffer, "x", 1, &err), 0);
        assert_int_equal(buffer.size, maxima[i]);
        assert_int_equal(strlen(buffer.data), maxima[i]);
        assert_true(buffer.capacity <= maxima[i] + 1);
        assert_int_equal(buffer_append(&buffer, "y", 1, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        assert_int_equal(buffer.size, maxima[i]);
        assert_int_equal(buffer_append(&buffer, "", 0, &err), 0);
    }
}

static void a_piece_that_does_not_fit_changes_nothing(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&buffer, 6);
    assert_int_equal(buffer_append(&buffer, "abc", 3, &err), 0);
    assert_int_equal(buffer_append(&buffer, "defg", 4, &err), -1);
    assert_int_equal(buffer_append_text(&buffer, &err, "%d", 1234), -1);
    assert_string_equal(buffer.data, "abc");
    assert_int_equal(buffer_append_text(&buffer, &err, "%d", 123), 0);
    assert_string_equal(buffer.data, "abc123");
}

static void a_maximum_of_0_allows_no_byte(void **state)
{
    struct buffer zeroed = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(buffer_append(&zeroed, "a", 1, &err), -1);
    assert_int_equal(buffer_append(&zeroed, NULL, 0, &err), 0);
    assert_string_equal(zeroed.data, "");
    buffer_done(&zeroed);
    buffer_done(&zeroed);
}

static void the_largest_maximum_does_not_overflow(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&buffer, SIZE_MAX);
    assert_int_equal(buffer_append(&buffer, "abc", 3, &err), 0);
    assert_string_equal(buffer.data, "abc");
}

static void bytes_may_be_nul(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&buffer, 10);
    assert_int_equal(buffer_append(&buffer, "a\0b", 3, &err), 0);
    assert_int_equal(buffer.size, 3);
    assert_memory_equal(buffer.data, "a\0b", 4);
}

static void consuming_takes_from_the_front(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&buffer, 10);
    buffer_consume(&buffer, 0);
    assert_int_equal(buffer_append(&buffer, "abcdef", 6, &err), 0);
    buffer_consume(&buffer, 0);
    assert_string_equal(buffer.data, "abcdef");
    buffer_consume(&buffer, 2);
    assert_string_equal(buffer.data, "cdef");
    buffer_consume(&buffer, 4);
    assert_int_equal(buffer.size, 0);
    assert_string_equal(buffer.data, "");
    assert_int_equal(buffer_append(&buffer, "0123456789", 10, &err), 0);
}

static void a_cleared_buffer_keeps_its_memory(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    struct error err = {0};
    const char *memory = NULL;

    (void)state;
    buffer_init(&buffer, 10);
    buffer_clear(&buffer);
    assert_int_equal(buffer_append(&buffer, "abc", 3, &err), 0);
    memory = buffer.data;
    buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_string_equal(buffer.data, "");
    assert_int_equal(buffer_append(&buffer, "xy", 2, &err), 0);
    assert_ptr_equal(buffer.data, memory);
}

static void taking_leaves_an_empty_buffer_with_the_same_maximum(void **state)
{
    cleanup_buffer struct buffer buffer = {0};
    cleanup_free char *nothing = NULL;
    cleanup_free char *text = NULL;
    struct error err = {0};

    (void)state;
    buffer_init(&buffer, 4);
    nothing = buffer_take(&buffer);
    assert_string_equal(nothing, "");
    assert_int_equal(buffer_append(&buffer, "abcd", 4, &err), 0);
    text = buffer_take(&buffer);
    assert_string_equal(text, "abcd");
    assert_null(buffer.data);
    assert_int_equal(buffer_append(&buffer, "abcde", 5, &err), -1);
    assert_int_equal(buffer_append(&buffer, "wxyz", 4, &err), 0);
    assert_string_equal(text, "abcd");
}

static void appending_to_the_tail_keeps_the_last_bytes(void **state)
{
    static const struct {
        const char *piece, *kept;
    } steps[] = {{"", ""},         {"abc", "abc"},       {"d", "abcd"},
                 {"e", "bcde"},    {"fgh", "efgh"},      {"", "efgh"},
                 {"ijkl", "ijkl"}, {"mnopqrst", "qrst"}, {"uv", "stuv"}};
    cleanup_buffer struct buffer buffer = {0};
    cleanup_buffer struct buffer nothing = {0};

    (void)state;
    buffer_init(&buffer, 4);
    for (size_t i = 0; i < array_length(steps); i++) {
        buffer_append_tail(&buffer, steps[i].piece, strlen(steps[i].piece));
        assert_string_equal(buffer.data ? buffer.data : "", steps[i].kept);
        assert_int_equal(buffer.size, strlen(steps[i].kept));
    }
    buffer_append_tail(&nothing, "abc", 3);
    assert_int_equal(nothing.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_bytes_up_to_the_maximum),
        cmocka_unit_test(a_piece_that_does_not_fit_changes_nothing),
        cmocka_unit_test(a_maximum_of_0_allows_no_byte),
        cmocka_unit_test(the_largest_maximum_does_not_overflow),
        cmocka_unit_test(bytes_may_be_nul),
        cmocka_unit_test(consuming_takes_from_the_front),
        cmocka_unit_test(appending_to_the_tail_keeps_the_last_bytes),
        cmocka_unit_test(a_cleared_buffer_keeps_its_memory),
        cmocka_unit_test(taking_leaves_an_empty_buffer_with_the_same_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
