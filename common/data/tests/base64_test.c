/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/base64.h"

static const struct {
    const char *bytes, *text;
} pairs[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfd", "//79"},
    {"\xfb\xf0", "+/A="},
};

static void encodes_and_decodes_the_examples_of_the_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pairs); i++) {
        cleanup_free char *text = base64_encode(pairs[i].bytes, strlen(pairs[i].bytes));
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        assert_string_equal(text, pairs[i].text);
        buffer_init(&bytes, 100);
        assert_int_equal(base64_decode(text, strlen(text), &bytes, &err), 0);
        assert_int_equal(bytes.size, strlen(pairs[i].bytes));
        assert_memory_equal(bytes.data ? bytes.data : "", pairs[i].bytes, bytes.size);
    }
}

static void all_bytes_are_preserved_at_every_length(void **state)
{
    unsigned char bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        cleanup_free char *text = base64_encode(bytes, size);
        cleanup_buffer struct buffer back = {0};
        struct error err = {0};

        buffer_init(&back, sizeof(bytes));
        assert_int_equal(base64_decode(text, strlen(text), &back, &err), 0);
        assert_int_equal(back.size, size);
        assert_memory_equal(back.data ? back.data : "", bytes, size);
    }
}

static const char *const spaced[] = {"Zm9vYmFy\n", " Zm9v YmFy ", "Zm9v\r\nYmFy\r\n", "Z\tm9vYmFy"};

static void white_space_is_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(spaced); i++) {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        buffer_init(&bytes, 6);
        assert_int_equal(base64_decode(spaced[i], strlen(spaced[i]), &bytes, &err), 0);
        assert_string_equal(bytes.data, "foobar");
    }
}

static const char *const bad[] = {
    "Z",    "Zg",    "Zg=",   "Zm8",  "=",    "====",   "Z===",     "Zg==Zg==",
    "Zg=a", "Zm9v=", "Zm9v!", "Zm9-", "Zm9_", "Zg== x", "Zm9v\xc3", "Z=g=",
};

static void refuses_invalid_input_and_leaves_the_buffer_unchanged(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        buffer_init(&bytes, 100);
        assert_int_equal(buffer_append(&bytes, "before", 6, &err), 0);
        assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &bytes, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(bytes.data, "before");
        assert_int_equal(bytes.size, 6);
    }
}

static void a_nul_byte_is_refused(void **state)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&bytes, 100);
    assert_int_equal(base64_decode("Zm9v\0\0\0\0", 8, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void the_limit_is_that_of_the_buffer(void **state)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&bytes, 5);
    assert_int_equal(base64_decode("Zm9vYmFy", 8, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(bytes.size, 0);
}

static void the_error_does_not_quote_what_may_be_a_secret(void **state)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&bytes, 100);
    assert_int_equal(base64_decode("hunter2!", 8, &bytes, &err), -1);
    assert_string_equal(err.text, "invalid base64 at byte 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_and_decodes_the_examples_of_the_rfc),
        cmocka_unit_test(all_bytes_are_preserved_at_every_length),
        cmocka_unit_test(white_space_is_skipped),
        cmocka_unit_test(refuses_invalid_input_and_leaves_the_buffer_unchanged),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(the_limit_is_that_of_the_buffer),
        cmocka_unit_test(the_error_does_not_quote_what_may_be_a_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
