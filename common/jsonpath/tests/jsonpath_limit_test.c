/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/jsonpath/jsonpath.h"

static char *repeat(const char *start, const char *middle, size_t count, const char *end)
{
    struct buffer text = {0};
    struct error err = {0};

    buffer_init(&text, 100000);
    assert_int_equal(buffer_append_text(&text, &err, "%s", start), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buffer_append_text(&text, &err, "%s", middle), 0);
    assert_int_equal(buffer_append_text(&text, &err, "%s", end), 0);
    return buffer_take(&text);
}

static int parse(char *text, struct error *err)
{
    cleanup_free char *owned = text;
    cleanup_jsonpath struct jsonpath *path = NULL;

    return jsonpath_parse(owned, &path, err);
}

static void refused(char *text, const char *message)
{
    struct error err = {0};

    assert_int_equal(parse(text, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, message);
}

static void a_path_has_a_maximum_length(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(parse(repeat("", "x", JSONPATH_TEXT_MAX, ""), &err), 0);
    refused(repeat("", "x", JSONPATH_TEXT_MAX + 1, ""),
            "invalid JSONPath at offset 4096: expected at most 4096 bytes");
}

static void a_path_has_a_maximum_number_of_steps(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(parse(repeat("", ".x", JSONPATH_STEPS_MAX, ""), &err), 0);
    refused(repeat("", ".x", JSONPATH_STEPS_MAX + 1, ""),
            "invalid JSONPath at offset 512: expected at most 256 steps");
    assert_int_equal(parse(repeat("", "[0]", JSONPATH_STEPS_MAX, ""), &err), 0);
    refused(repeat("", "[0]", JSONPATH_STEPS_MAX, "[0,1]"),
            "invalid JSONPath at offset 769: expected at most 256 steps");
    refused(repeat("", "[0]", JSONPATH_STEPS_MAX - 1, "[0,1]"),
            "invalid JSONPath at offset 765: expected at most 256 steps");
    refused(repeat("[0", ",0", JSONPATH_STEPS_MAX, "]"),
            "invalid JSONPath at offset 511: expected at most 256 steps");
    refused(repeat("", "[?(@)]", JSONPATH_STEPS_MAX, "..x"),
            "invalid JSONPath at offset 1536: expected at most 256 steps");
    refused(repeat("", "[?(@)]", JSONPATH_STEPS_MAX, "[?(@)]"),
            "invalid JSONPath at offset 1536: expected at most 256 steps");
}

static char *nested_filters(size_t levels)
{
    cleanup_free char *open = repeat("", "[?(@", levels, "");

    return repeat(open, ")]", levels, "");
}

static void filters_have_a_maximum_depth(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(parse(nested_filters(JSONPATH_DEPTH_MAX - 1), &err), 0);
    refused(nested_filters(JSONPATH_DEPTH_MAX),
            "invalid JSONPath at offset 32: expected filters and names nested at most 8 levels");
    refused(nested_filters(500),
            "invalid JSONPath at offset 32: expected filters and names nested at most 8 levels");
}

static int find(const char *text, const json_t *doc, size_t *ret_count, struct error *err)
{
    cleanup_jsonpath struct jsonpath *path = NULL;
    cleanup_json json_t *values = NULL;

    if (jsonpath_parse(text, &path, err) < 0)
        fail_msg("%s: %s", text, err->text);
    if (jsonpath_find(path, doc, JSONPATH_MISSING_IS_NOTHING, &values, err) < 0)
        return -1;
    *ret_count = json_array_size(values);
    return 0;
}

static void too_large(const char *text, const json_t *doc)
{
    struct error err = {0};
    size_t count = 0;

    assert_int_equal(find(text, doc, &count, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(err.text, "the JSONPath visits more than 262144 values of the document");
}

static json_t *new_list(size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_integer(1));
    return list;
}

static void the_visited_values_are_limited(void **state)
{
    cleanup_json json_t *fits = new_list(JSONPATH_VISITS_MAX - 1); /* the root is visited, too */
    cleanup_json json_t *large = new_list(JSONPATH_VISITS_MAX);
    struct error err = {0};
    size_t count = 0;

    (void)state;
    assert_int_equal(find("[*]", fits, &count, &err), 0);
    assert_int_equal(count, JSONPATH_VISITS_MAX - 1);
    assert_int_equal(find("[0]", large, &count, &err), 0);
    assert_int_equal(count, 1);
    too_large("[*]", large);
    too_large(".*", large);
    too_large("..", large);
    too_large("..x", large);
    too_large("[?(@.x)]", large);
    too_large("[?(@==1)]", fits);
    too_large("[*].x", fits);
}

static void large_objects_are_limited_like_lists(void **state)
{
    cleanup_json json_t *large = json_object();
    cleanup_json json_t *nested = json_pack("[{s:O}]", "a", large);

    (void)state;
    for (int i = 0; i < JSONPATH_VISITS_MAX; i++) {
        char key[16] = {0};

        (void)snprintf(key, sizeof(key), "%d", i);
        (void)json_object_set_new(large, key, json_string("x"));
    }
    too_large(".*", large);
    too_large("..", large);
    too_large("..", nested);
}

/* The document alone is within the limit, but the steps multiply the work. */
static void steps_that_multiply_are_limited(void **state)
{
    cleanup_json json_t *list = new_list(400);
    cleanup_json json_t *nested = json_array();

    (void)state;
    for (int i = 0; i < 400; i++)
        (void)json_array_append(nested, list);
    too_large("[*][*].x", nested);
    too_large("..[*]..", nested);
    too_large("[?(@[?(@==2)])][?(@==1)]", nested);
    too_large("[:,:,:,:][:,:,:,:][:,:,:,:]", nested);
    too_large("[*][*]['a','b','c']", nested);
}

/* 5000 comparisons of 65600 bytes: few values, but much work. */
static void comparing_long_strings_is_limited(void **state)
{
    cleanup_free char *text = repeat("", "xxxxxxxxxxxxxxxx", 4100, "");
    cleanup_json json_t *member = json_pack("{s:s,s:s}", "long", text, "short", "x");
    cleanup_json json_t *doc = json_array();
    struct error err = {0};
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 5000; i++)
        (void)json_array_append(doc, member);
    assert_int_equal(find("[?(@.long>@.short)]", doc, &count, &err), 0);
    assert_int_equal(count, 5000);
    too_large("[?(@.long==@.long)]", doc);
}

static void the_depth_of_the_document_is_limited(void **state)
{
    json_t *doc = json_integer(1);
    struct error err = {0};
    size_t count = 0;

    (void)state;
    for (int i = 0; i < DOC_DEPTH_MAX; i++) {
        json_t *outer = json_array();

        (void)json_array_append_new(outer, doc);
        doc = outer;
    }
    assert_int_equal(find("..", doc, &count, &err), 0);
    assert_int_equal(count, DOC_DEPTH_MAX);
    {
        cleanup_json json_t *outer = json_pack("[o]", doc);

        assert_int_equal(find("..", outer, &count, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        assert_string_equal(err.text, "the document has more than 128 levels");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_has_a_maximum_length),
        cmocka_unit_test(a_path_has_a_maximum_number_of_steps),
        cmocka_unit_test(filters_have_a_maximum_depth),
        cmocka_unit_test(the_visited_values_are_limited),
        cmocka_unit_test(large_objects_are_limited_like_lists),
        cmocka_unit_test(steps_that_multiply_are_limited),
        cmocka_unit_test(comparing_long_strings_is_limited),
        cmocka_unit_test(the_depth_of_the_document_is_limited),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
