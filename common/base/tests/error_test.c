/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/error.h"
#include "common/base/memory.h"
#include "common/base/utf8.h"

static void setting_returns_minus_one_and_replaces_the_previous_error(void **state)
{
    struct error err = {.kind = ERROR_GONE, .os = 5, .http_status = 410, .retry_after_ms = 9};

    (void)state;
    assert_int_equal(error_set(&err, ERROR_INVALID, "item '%s' is %d", "a", 3), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(err.os, 0);
    assert_int_equal(err.http_status, 0);
    assert_int_equal(err.retry_after_ms, 0);
    assert_string_equal(err.text, "item 'a' is 3");
}

static void wrapping_puts_context_in_front_and_keeps_the_rest(void **state)
{
    struct error err = {0};

    (void)state;
    (void)error_set(&err, ERROR_TEMPORARY, "connection reset");
    err.http_status = 503;
    err.retry_after_ms = 1000;
    assert_int_equal(error_wrap(&err, "pull '%s'", "a/b"), -1);
    assert_string_equal(err.text, "pull 'a/b': connection reset");
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_int_equal(err.http_status, 503);
    assert_int_equal(err.retry_after_ms, 1000);
}

static void the_arguments_may_come_from_the_error_itself(void **state)
{
    struct error err = {0};

    (void)state;
    (void)error_set(&err, ERROR_INVALID, "cause");
    (void)error_set(&err, ERROR_DENIED, "seen before: %s", err.text);
    assert_string_equal(err.text, "seen before: cause");
    (void)error_wrap(&err, "again (%s)", err.text);
    assert_string_equal(err.text, "again (seen before: cause): seen before: cause");
}

static void a_long_text_is_truncated(void **state)
{
    struct error err = {0};
    char text[3000] = {0};

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    (void)error_set(&err, ERROR_INVALID, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    (void)error_wrap(&err, "context");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "context: xxx", 12);
    (void)error_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void is_utf8_and_nearly_full(const struct error *err)
{
    size_t at = 0;

    while (err->text[at]) {
        uint32_t code = 0;
        size_t length = utf8_decode(err->text + at, strlen(err->text + at), &code);

        assert_true(length > 0);
        at += length;
    }
    assert_true(at + 4 >= sizeof(err->text) - 1);
}

/* An incomplete character would make the JSON of a status invalid. */
static void truncation_never_splits_a_character(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 8; shift++) {
        struct error err = {0};
        char text[2001] = {0};

        memset(text, 'x', shift);
        for (size_t i = shift; i < sizeof(text) - 1; i++)
            text[i] = "\xf0\x9f\x9a\xa2"[(i - shift) % 4];
        (void)error_set(&err, ERROR_INVALID, "%s", text);
        is_utf8_and_nearly_full(&err);
        (void)error_wrap(&err, "ab");
        is_utf8_and_nearly_full(&err);
    }
}

static const struct {
    int os;
    enum error_kind kind;
} kinds[] = {
    {ENOENT, ERROR_NOT_FOUND}, {EACCES, ERROR_DENIED},          {EPERM, ERROR_DENIED},
    {EEXIST, ERROR_EXISTS},    {ECONNREFUSED, ERROR_TEMPORARY}, {ETIMEDOUT, ERROR_TEMPORARY},
    {ELOOP, ERROR_INVALID},    {EFBIG, ERROR_TOO_LARGE},        {EIO, ERROR_INTERNAL},
};

static void errno_determines_the_kind_and_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(kinds); i++) {
        cleanup_free char *expected = xasprintf("open \"f\": %s", strerror(kinds[i].os));
        struct error err = {0};

        assert_int_equal(error_set_errno(&err, kinds[i].os, "open \"%s\"", "f"), -1);
        assert_int_equal(err.kind, kinds[i].kind);
        assert_int_equal(err.os, kinds[i].os);
        assert_string_equal(err.text, expected);
    }
}

static void every_kind_has_a_different_name(void **state)
{
    (void)state;
    for (int kind = ERROR_NONE; kind <= ERROR_INTERNAL; kind++) {
        for (int other = ERROR_NONE; other < kind; other++)
            assert_string_not_equal(error_kind_name((enum error_kind)kind),
                                    error_kind_name((enum error_kind)other));
    }
}

static void a_kept_error_is_a_copy_until_another_or_none_replaces_it(void **state)
{
    struct error err = {.kind = ERROR_GONE, .text = "first"};
    struct error *kept = NULL;

    (void)state;
    error_keep(&kept, &err);
    (void)error_set(&err, ERROR_INVALID, "second");
    assert_string_equal(kept->text, "first");
    error_keep(&kept, &err);
    assert_int_equal(kept->kind, ERROR_INVALID);
    error_keep(&kept, NULL);
    assert_null(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_returns_minus_one_and_replaces_the_previous_error),
        cmocka_unit_test(wrapping_puts_context_in_front_and_keeps_the_rest),
        cmocka_unit_test(the_arguments_may_come_from_the_error_itself),
        cmocka_unit_test(a_long_text_is_truncated),
        cmocka_unit_test(truncation_never_splits_a_character),
        cmocka_unit_test(errno_determines_the_kind_and_is_described),
        cmocka_unit_test(every_kind_has_a_different_name),
        cmocka_unit_test(a_kept_error_is_a_copy_until_another_or_none_replaces_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
