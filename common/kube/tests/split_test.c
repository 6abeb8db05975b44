/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/split.h"

/* The pieces, each followed by '|'; '*' stands for a skipped piece. */
struct seen {
    char text[512];
    size_t size;
    size_t count, stop_after;
};

static int note(void *data, const char *text, size_t size)
{
    struct seen *seen = data;

    if (!text) {
        text = "*";
        size = 1;
    }
    assert_true(seen->size + size + 2 < sizeof(seen->text));
    memcpy(seen->text + seen->size, text, size);
    seen->size += size;
    seen->text[seen->size++] = '|';
    seen->text[seen->size] = '\0';
    return ++seen->count == seen->stop_after ? 7 : 0;
}

static void lines_are_the_same_however_they_are_cut(void **state)
{
    static const struct {
        const char *input, *lines;
    } cases[] = {
        {"", ""},
        {"a", ""},
        {"a\n", "a|"},
        {"a\nb\n", "a|b|"},
        {"\n\na\n\n", "a|"},
        {"12345678\n", "12345678|"},
        {"123456789\n", "*|"},
        {"123456789012345678901234567890\nb\n", "*|b|"},
        {"a\n123456789", "a|"},
        {"a\r\nb\n", "a\r|b|"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        for (size_t chunk = 1; chunk <= 40; chunk++) {
            struct line_split split = {0};
            struct seen seen = {0};
            size_t size = strlen(cases[i].input);

            line_split_init(&split, 8);
            for (size_t at = 0; at < size; at += chunk)
                assert_int_equal(line_split_feed(&split, cases[i].input + at,
                                                 size - at < chunk ? size - at : chunk, note,
                                                 &seen),
                                 0);
            assert_string_equal(seen.text, cases[i].lines);
            line_split_done(&split);
        }
    }
}

static void a_splitter_exists_only_while_a_line_is_incomplete(void **state)
{
    static const struct {
        const char *input, *lines; /* so far */
        bool is_incomplete;
    } steps[] = {
        {"a\n", "a|", false},         {"b", "a|", true},         {"c", "a|", true},
        {"d\ne", "a|bcd|", true},     {"\n", "a|bcd|e|", false}, {"123456789", "a|bcd|e|", true},
        {"0\n", "a|bcd|e|*|", false},
    };
    struct line_split *split = NULL;
    struct seen seen = {0};

    (void)state;
    for (size_t i = 0; i < array_length(steps); i++) {
        assert_int_equal(
            line_split_pass(&split, 8, steps[i].input, strlen(steps[i].input), note, &seen), 0);
        assert_string_equal(seen.text, steps[i].lines);
        assert_int_equal(split != NULL, steps[i].is_incomplete);
    }
    seen = (struct seen){.stop_after = 1};
    assert_int_equal(line_split_pass(&split, 8, "a\nb\nc", 5, note, &seen), 7);
    assert_string_equal(seen.text, "a|");
    assert_int_equal(line_split_pass(&split, 8, "d", 1, note, &seen), 0);
    line_split_free(split);
    line_split_free(NULL);
}

static void a_callback_can_stop_the_lines(void **state)
{
    struct line_split split = {0};
    struct seen seen = {.stop_after = 2};

    (void)state;
    line_split_init(&split, 8);
    assert_int_equal(line_split_feed(&split, "a\nb\nc\n", 6, note, &seen), 7);
    assert_string_equal(seen.text, "a|b|");
    line_split_done(&split);
}

static const struct {
    const char *input, *items, *envelope;
} lists[] = {
    {"{}", "", "{}"},
    {"{\"items\":[]}", "", "{\"items\":[]}"},
    {"{\"items\":null,\"a\":1}", "", "{\"items\":null,\"a\":1}"},
    {"{\"items\":[{}]}", "{}|", "{\"items\":[]}"},
    {"{\"items\":[{\"a\":1},{\"b\":[{}]}]}", "{\"a\":1}|{\"b\":[{}]}|", "{\"items\":[]}"},
    {"{\"kind\":\"L\",\"metadata\":{\"continue\":\"c\",\"x\":[1,{}]},\"items\":[{\"a\":\"}]\"}],"
     "\"z\":[{}]}",
     "{\"a\":\"}]\"}|",
     "{\"kind\":\"L\",\"metadata\":{\"continue\":\"c\",\"x\":[1,{}]},\"items\":[],\"z\":[{}]}"},
    {"{\"items\" : [ {\"a\":\"\\\"}\\\\\"} , {} ] }", "{\"a\":\"\\\"}\\\\\"}|{}|",
     "{\"items\" : [    ] }"},
    /* Not the items of the list: nested deeper, under another name, "items" as a value, an escaped
       name. */
    {"{\"a\":{\"items\":[{}]}}", "", "{\"a\":{\"items\":[{}]}}"},
    {"{\"itemss\":[{}]}", "", "{\"itemss\":[{}]}"},
    {"{\"itemsitemsitems\":[{}]}", "", "{\"itemsitemsitems\":[{}]}"},
    {"{\"a\":\"items\",\"b\":[{}]}", "", "{\"a\":\"items\",\"b\":[{}]}"},
    {"{\"\\u0069tems\":[{}]}", "", "{\"\\u0069tems\":[{}]}"},
    {"[{\"items\":[{}]}]", "", "[{\"items\":[{}]}]"},
    /* Elements that are not objects stay in the envelope and make it invalid. */
    {"{\"items\":[1,2]}", "", "{\"items\":[12]}"},
    {"{\"items\":[[{}]]}", "", "{\"items\":[[{}]]}"},
    {"{\"items\":[{\"a\":\"12345678901234567890123456789012345\"},{}]}", "*|{}|", "{\"items\":[]}"},
    {"{\"items\":[{\"a\":", "", "{\"items\":["},
    {"]}{\"items\":[{}]", "{}|", "]}{\"items\":[]"},
};

static void items_are_the_same_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lists); i++) {
        for (size_t chunk = 1; chunk <= 120; chunk++) {
            struct item_split split = {0};
            struct seen seen = {0};
            struct error err = {0};
            size_t size = strlen(lists[i].input);

            item_split_init(&split, 32);
            for (size_t at = 0; at < size; at += chunk)
                assert_int_equal(item_split_feed(&split, lists[i].input + at,
                                                 size - at < chunk ? size - at : chunk, note, &seen,
                                                 &err),
                                 0);
            assert_string_equal(seen.text, lists[i].items);
            assert_string_equal(split.envelope.data, lists[i].envelope);
            item_split_done(&split);
        }
    }
}

static void an_endless_envelope_is_too_large(void **state)
{
    struct item_split split = {0};
    struct error err = {0};
    struct seen seen = {0};
    char junk[4096];
    int result = 0;

    (void)state;
    memset(junk, ' ', sizeof(junk));
    item_split_init(&split, 32);
    for (size_t i = 0; i <= ITEM_SPLIT_ENVELOPE_MAX / sizeof(junk) && result == 0; i++)
        result = item_split_feed(&split, junk, sizeof(junk), note, &seen, &err);
    assert_int_equal(result, -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    item_split_done(&split);
}

static void a_callback_can_stop_the_items(void **state)
{
    static const char text[] = "{\"items\":[{},{},{}]}";
    struct item_split split = {0};
    struct seen seen = {.stop_after = 2};
    struct error err = {0};

    (void)state;
    item_split_init(&split, 32);
    assert_int_equal(item_split_feed(&split, text, strlen(text), note, &seen, &err), 7);
    assert_string_equal(seen.text, "{}|{}|");
    item_split_done(&split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_however_they_are_cut),
        cmocka_unit_test(a_splitter_exists_only_while_a_line_is_incomplete),
        cmocka_unit_test(a_callback_can_stop_the_lines),
        cmocka_unit_test(items_are_the_same_however_they_are_cut),
        cmocka_unit_test(an_endless_envelope_is_too_large),
        cmocka_unit_test(a_callback_can_stop_the_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
