/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/text_diff.h"

static void differences_are_shown_as_diff_does(void **state)
{
    static const struct {
        const char *before, *after, *expected;
    } rows[] = {
        {"", "", ""},
        {"a\nb\n", "a\nb\n", ""},
        {"a\nb", "a\nb\n", ""},
        {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
        {"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
        {"a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
        {"a\n\nb\n", "a\nb\n", "@@ -1,3 +1,2 @@\n a\n-\n b\n"},
        /* Three lines of context. */
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
         "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
        /* Six lines between two edits: one hunk. Seven: two. */
        {"a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
         "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n"},
        {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
         "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n"},
        /* The shortest script: one line moved is one removed and one added. */
        {"a\nb\nc\n", "b\nc\na\n", "@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_free char *diff = text_diff(rows[i].before, rows[i].after);

        assert_string_equal(diff, rows[i].expected);
    }
}

/* ---- Random texts ---- */

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void add(struct buffer *text, const char *bytes, size_t size)
{
    struct error err = {0};

    assert_int_equal(buffer_append(text, bytes, size, &err), 0);
}

static char *random_text(uint32_t *seed, size_t lines, uint32_t letters)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, 1 << 20);
    for (size_t i = 0; i < lines; i++) {
        char line[2] = {(char)('a' + next(seed) % letters), '\n'};

        add(&text, line, 2);
    }
    return buffer_take(&text);
}

/* The number at the beginning of a text; *text moves behind it. */
static size_t take_number(const char **text)
{
    size_t value = 0;

    while (**text >= '0' && **text <= '9')
        value = value * 10 + (size_t)(*(*text)++ - '0');
    return value;
}

static const char *take_line(const char *text, size_t *ret_size)
{
    *ret_size = strcspn(text, "\n") + 1;
    return text + *ret_size;
}

/* What patch(1) would do; checks that lines of context and removed lines are those of before. */
static char *patched(const char *before, const char *diff)
{
    cleanup_buffer struct buffer text = {0};
    size_t line = 1;
    size_t size = 0;

    buffer_init(&text, 1 << 20);
    while (*diff) {
        const char *place = diff + strlen("@@ -");
        size_t start = take_number(&place);

        assert_memory_equal(diff, "@@ -", 4);
        if (*place == ',' && place[1] == '0' && place[2] == ' ')
            start++; /* an empty range is named by the line before it */
        diff = take_line(diff, &size);
        for (; line < start; line++) {
            const char *end = take_line(before, &size);

            add(&text, before, size);
            before = end;
        }
        while (*diff && *diff != '@') {
            const char *end = take_line(diff, &size);

            if (*diff != '+') {
                assert_memory_equal(before, diff + 1, size - 1);
                before += size - 1;
                line++;
            }
            if (*diff != '-')
                add(&text, diff + 1, size - 1);
            diff = end;
        }
    }
    add(&text, before, strlen(before));
    return buffer_take(&text);
}

static void a_diff_turns_one_text_into_the_other(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        uint32_t letters = 1 + next(&seed) % 6;
        cleanup_free char *before = random_text(&seed, next(&seed) % 40, letters);
        cleanup_free char *after = random_text(&seed, next(&seed) % 40, letters);
        cleanup_free char *diff = text_diff(before, after);
        cleanup_free char *result = patched(before, diff);

        assert_string_equal(result, after);
    }
}

static void texts_with_very_many_differences_are_replaced(void **state)
{
    cleanup_buffer struct buffer before = {0};
    cleanup_buffer struct buffer after = {0};
    struct error err = {0};
    cleanup_free char *diff = NULL;
    cleanup_free char *result = NULL;

    (void)state;
    buffer_init(&before, 1 << 20);
    buffer_init(&after, 1 << 20);
    add(&before, "first\n", 6);
    add(&after, "first\n", 6);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(buffer_append_text(&before, &err, "a%d\n", i), 0);
        assert_int_equal(buffer_append_text(&after, &err, "b%d\n", i), 0);
    }
    diff = text_diff(before.data, after.data);
    result = patched(before.data, diff);
    assert_string_equal(result, after.data);
    assert_memory_equal(diff, "@@ -1,3001 +1,3001 @@\n first\n-a0\n", 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_shown_as_diff_does),
        cmocka_unit_test(a_diff_turns_one_text_into_the_other),
        cmocka_unit_test(texts_with_very_many_differences_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
