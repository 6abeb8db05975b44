/* SPDX-License-Identifier: Apache-2.0 */
/* merge_objects(), merge_patch_between() and the comparison of values. */
#include "common/apply/merge.h"
#include "common/apply/tests/merge_patch.h"
#include "common/apply/tests/parse.h"
#include "common/apply/tests/random.h"
#include "common/base/memory.h"

static void assert_json(const json_t *value, const char *expected_text)
{
    cleanup_json json_t *expected = parse(expected_text);
    cleanup_free char *text = doc_dump_sorted(value);

    if (!json_equal(value, expected))
        fail_msg("%s instead of %s", text, expected_text);
}

/* Values of the member "a"; "" means that it is missing. */
static const struct {
    const char *manifest, *live;
    const char *merged, *overwritten;
} merges[] = {
    /* Missing in the live object. */
    {"1", "", "1", "1"},
    {"0", "", "0", "0"},
    {"'x'", "", "'x'", "'x'"},
    {"''", "", "''", "''"},
    {"false", "", "false", "false"},
    {"null", "", "null", "null"},
    {"[]", "", "[]", "[]"},
    {"{}", "", "{}", "{}"},
    {"{'b':[1]}", "", "{'b':[1]}", "{'b':[1]}"},
    /* A scalar over something empty. */
    {"'x'", "''", "'x'", "'x'"},
    {"1", "0", "1", "1"},
    {"1", "0.0", "1", "1"},
    {"true", "false", "true", "true"},
    {"'x'", "null", "'x'", "'x'"},
    {"'x'", "[]", "'x'", "'x'"},
    {"'x'", "{}", "'x'", "'x'"},
    {"0", "''", "0", "0"},
    /* A scalar over something else. */
    {"'x'", "'y'", "'y'", "'x'"},
    {"1", "2", "2", "1"},
    {"1", "2.5", "2.5", "1"},
    {"''", "'y'", "'y'", "''"},
    {"0", "2", "2", "0"},
    {"false", "true", "true", "false"},
    {"true", "'y'", "'y'", "true"},
    {"1", "[1]", "[1]", "1"},
    {"1", "{'b':1}", "{'b':1}", "1"},
    /* A list. */
    {"[1]", "[2]", "[2]", "[1]"},
    {"[]", "[2]", "[2]", "[]"},
    {"[1]", "[]", "[1]", "[1]"},
    {"[1]", "null", "[1]", "[1]"},
    {"[1]", "''", "[1]", "[1]"},
    {"[{'b':1}]", "[{'c':2}]", "[{'c':2}]", "[{'b':1}]"},
    {"[1]", "'y'", "'y'", "[1]"},
    {"[1]", "{'b':1}", "{'b':1}", "[1]"},
    /* Objects. */
    {"{'b':1}", "{'c':2}", "{'b':1,'c':2}", "{'b':1,'c':2}"},
    {"{'b':1}", "{'b':2}", "{'b':2}", "{'b':1}"},
    {"{'b':1}", "{'b':0}", "{'b':1}", "{'b':1}"},
    {"{'b':{'c':[]}}", "{'b':{'c':[1],'d':2}}", "{'b':{'c':[1],'d':2}}", "{'b':{'c':[],'d':2}}"},
    {"{}", "{'c':2}", "{'c':2}", "{'c':2}"},
    {"{'b':1}", "{}", "{'b':1}", "{'b':1}"},
    {"{'b':1}", "'y'", "'y'", "{'b':1}"},
    {"{'b':1}", "[1]", "[1]", "{'b':1}"},
    {"{'b':1}", "''", "{'b':1}", "{'b':1}"},
    {"{'b':1}", "[]", "{'b':1}", "{'b':1}"},
    {"{'b':1}", "null", "{'b':1}", "{'b':1}"},
    /* null. */
    {"null", "'y'", "'y'", "null"},
    {"null", "''", "''", "null"},
    {"null", "{'b':1}", "{'b':1}", "null"},
    {"null", "[1]", "[1]", "null"},
    {"{'b':null}", "{'b':1}", "{'b':1}", "{'b':null}"},
    /* Missing in the manifest. */
    {"", "1", "1", "1"},
    {"", "null", "null", "null"},
    {"", "", "", ""},
};

static json_t *parse_member(const char *value)
{
    cleanup_free char *text = *value ? xasprintf("{'a':%s,'z':'z'}", value) : xstrdup("{'z':'z'}");

    return parse(text);
}

static void objects_are_merged_as_by_the_go_deployer(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(merges); i++) {
        cleanup_json json_t *live = parse_member(merges[i].live);
        cleanup_json json_t *live_copy = json_deep_copy(live);
        cleanup_json json_t *manifest = parse_member(merges[i].manifest);
        cleanup_json json_t *manifest_copy = json_deep_copy(manifest);
        cleanup_json json_t *merged = merge_objects(live, manifest, false);
        cleanup_json json_t *overwritten = merge_objects(live, manifest, true);
        cleanup_json json_t *expected_merged = parse_member(merges[i].merged);
        cleanup_json json_t *expected_overwritten = parse_member(merges[i].overwritten);

        print_message("manifest %s, live %s\n", merges[i].manifest, merges[i].live);
        assert_true(json_equal(merged, expected_merged));
        assert_true(json_equal(overwritten, expected_overwritten));
        assert_true(json_equal(live, live_copy));
        assert_true(json_equal(manifest, manifest_copy));
    }
}

static void a_merged_object_shares_nothing(void **state)
{
    cleanup_json json_t *live = parse("{'a':{'b':1}}");
    cleanup_json json_t *manifest = parse("{'c':{'d':2}}");
    cleanup_json json_t *merged = merge_objects(live, manifest, true);

    (void)state;
    doc_set_new(merged, "a.b", json_integer(5));
    doc_set_new(merged, "c.d", json_integer(5));
    assert_json(live, "{'a':{'b':1}}");
    assert_json(manifest, "{'c':{'d':2}}");
}

static const struct {
    const char *from, *to;
    const char *patch; /* NULL: they are equal */
} patches[] = {
    {"{}", "{}", NULL},
    {"{'a':1}", "{'a':1.0}", NULL},
    {"{'a':null}", "{}", NULL},
    {"{}", "{'a':null}", NULL},
    {"{'a':[1,{'b':null}]}", "{'a':[1,{}]}", NULL},
    {"{'a':1,'b':2}", "{'b':2,'a':1}", NULL},
    {"{'a':1}", "{'a':2}", "{'a':2}"},
    {"{'a':1}", "{'a':'1'}", "{'a':'1'}"},
    {"{'a':1}", "{}", "{'a':null}"},
    {"{'a':1}", "{'a':null}", "{'a':null}"},
    {"{}", "{'a':{'b':1}}", "{'a':{'b':1}}"},
    {"{'a':{'b':1,'c':2}}", "{'a':{'b':1,'c':3}}", "{'a':{'c':3}}"},
    {"{'a':{'b':1}}", "{'a':{}}", "{'a':{'b':null}}"},
    {"{'a':{'b':1}}", "{}", "{'a':null}"},
    {"{'a':{'b':1}}", "{'a':5}", "{'a':5}"},
    {"{'a':5}", "{'a':{'b':1}}", "{'a':{'b':1}}"},
    {"{'a':5}", "{'a':{}}", "{'a':{}}"},
    /* Lists are replaced as a whole. */
    {"{'a':[1,2]}", "{'a':[1,2,3]}", "{'a':[1,2,3]}"},
    {"{'a':[{'b':1}]}", "{'a':[{'b':2}]}", "{'a':[{'b':2}]}"},
    {"{'a':[1]}", "{'a':[]}", "{'a':[]}"},
    {"{'a':[]}", "{'a':{}}", "{'a':{}}"},
    {"{'a':false}", "{'a':0}", "{'a':0}"},
    /* At the top. */
    {"{'a':1}", "[1]", "[1]"},
    {"[1]", "{'a':1}", "{'a':1}"},
    {"1", "1", NULL},
};

static void a_patch_has_only_the_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(patches); i++) {
        cleanup_json json_t *from = parse(patches[i].from);
        cleanup_json json_t *to = parse(patches[i].to);
        cleanup_json json_t *patch = merge_patch_between(from, to);

        print_message("from %s to %s\n", patches[i].from, patches[i].to);
        assert_int_equal(merge_is_equal(from, to), !patches[i].patch);
        assert_int_equal(merge_is_equal(to, from), !patches[i].patch);
        if (!patches[i].patch)
            assert_null(patch);
        else
            assert_json(patch, patches[i].patch);
    }
}

/* Few keys and values, so that two values have much in common. */
static json_t *random_value(struct random *random, int depth)
{
    static const char *const keys[] = {"a", "b", "c", "d"};
    size_t type = random_below(random, depth > 0 ? 9 : 6);
    size_t size = random_below(random, 4);
    json_t *value = NULL;

    if (type == 0)
        return json_null();
    if (type == 1)
        return json_boolean(size > 1);
    if (type == 2)
        return json_real((double)size);
    if (type <= 4)
        return json_integer((json_int_t)size);
    if (type == 5)
        return json_string(keys[size]);
    value = type == 6 ? json_array() : json_object();
    for (size_t i = 0; i < size; i++) {
        if (type == 6)
            (void)json_array_append_new(value, random_value(random, depth - 1));
        else
            (void)json_object_set_new(value, keys[random_below(random, 4)],
                                      random_value(random, depth - 1));
    }
    return value;
}

static json_t *random_object(struct random *random)
{
    for (;;) {
        json_t *value = random_value(random, 4);

        if (json_is_object(value))
            return value;
        json_decref(value);
    }
}

static void a_patch_turns_one_value_into_the_other(void **state)
{
    struct random random = {3};

    (void)state;
    for (size_t round = 0; round < 20000; round++) {
        cleanup_json json_t *from = random_object(&random);
        cleanup_json json_t *to = random_object(&random);
        cleanup_json json_t *patch = merge_patch_between(from, to);
        cleanup_json json_t *result = json_deep_copy(from);

        assert_int_equal(patch == NULL, merge_is_equal(from, to));
        if (patch)
            result = apply_patch(result, patch);
        if (!merge_is_equal(result, to)) {
            cleanup_free char *from_text = doc_dump(from);
            cleanup_free char *to_text = doc_dump(to);

            fail_msg("from %s to %s", from_text, to_text);
        }
    }
}

static bool has_all_members(const json_t *object, const json_t *members)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(members, key, value)
    {
        if (!json_object_get(object, key))
            return false;
    }
    return true;
}

static void merging_is_idempotent_and_loses_no_member(void **state)
{
    struct random random = {5};

    (void)state;
    for (size_t round = 0; round < 20000; round++) {
        bool is_overwriting = round % 2;
        cleanup_json json_t *live = random_object(&random);
        cleanup_json json_t *manifest = random_object(&random);
        cleanup_json json_t *once = merge_objects(live, manifest, is_overwriting);
        cleanup_json json_t *twice = merge_objects(once, manifest, is_overwriting);

        assert_true(json_equal(once, twice));
        assert_true(has_all_members(once, live));
        assert_true(has_all_members(once, manifest));
    }
}

static void a_hash_identifies_the_content(void **state)
{
    cleanup_json json_t *a = parse("{'a':1,'b':{'c':2,'d':3}}");
    cleanup_json json_t *same = parse("{'b':{'d':3,'c':2},'a':1}");
    cleanup_json json_t *other = parse("{'a':1,'b':{'c':2,'d':4}}");
    cleanup_free char *a_hash = merge_hash(a);
    cleanup_free char *same_hash = merge_hash(same);
    cleanup_free char *other_hash = merge_hash(other);

    (void)state;
    assert_int_equal(strlen(a_hash), 16);
    assert_int_equal(strspn(a_hash, "0123456789abcdef"), 16);
    assert_string_equal(a_hash, same_hash);
    assert_string_not_equal(a_hash, other_hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_merged_as_by_the_go_deployer),
        cmocka_unit_test(a_merged_object_shares_nothing),
        cmocka_unit_test(a_patch_has_only_the_differences),
        cmocka_unit_test(a_patch_turns_one_value_into_the_other),
        cmocka_unit_test(merging_is_idempotent_and_loses_no_member),
        cmocka_unit_test(a_hash_identifies_the_content),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
