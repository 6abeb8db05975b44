/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/kept.h"

#define OBJECT(uid_, version_) "{'metadata':{'uid':'" uid_ "','resourceVersion':'" version_ "'}}"

static void only_newer_answers_are_taken(void **state)
{
    cleanup_json json_t *first = parse(OBJECT("u", "5")), *older = parse(OBJECT("u", "4"));
    cleanup_json json_t *newer = parse(OBJECT("u", "10")), *other = parse(OBJECT("v", "11"));
    cleanup_json json_t *read = NULL;
    struct kept kept = {0};

    (void)state;
    kept_take_answer(&kept, first);
    assert_false(kept_is_there(&kept)); /* it was deleted meanwhile */
    assert_null(kept_get(&kept));
    kept_set(&kept, first);
    assert_true(kept_is_newer_than(&kept, older));
    assert_false(kept_is_newer_than(&kept, newer));
    assert_false(kept_is_newer_than(&kept, other));
    kept_take_answer(&kept, older);
    assert_int_equal(kept.version, 5);
    kept_take_answer(&kept, other);
    assert_int_equal(kept.version, 5);
    kept_take_answer(&kept, newer);
    assert_int_equal(kept.version, 10);
    read = kept_get(&kept);
    assert_true(json_equal(read, newer));
    kept_set(&kept, NULL);
    assert_false(kept_is_there(&kept));
    kept_done(&kept);
}

static void a_version_is_known_by_its_uid_and_number(void **state)
{
    cleanup_json json_t *first = parse(OBJECT("u", "5")), *newer = parse(OBJECT("u", "6"));
    cleanup_json json_t *other = parse(OBJECT("v", "5")), *odd = parse(OBJECT("u", "x"));
    struct kept kept = {0};

    (void)state;
    assert_false(kept_has(&kept, first));
    kept_set(&kept, first);
    assert_true(kept_has(&kept, first));
    assert_false(kept_has(&kept, newer));
    assert_false(kept_has(&kept, other));
    kept_set(&kept, odd);
    assert_false(kept_has(&kept, odd)); /* only numbers can be compared */
    kept_done(&kept);
}

static void objects_of_any_size_are_read_as_they_were(void **state)
{
    (void)state;
    for (size_t count = 0; count < 3000; count += count < 300 ? 7 : 500) {
        cleanup_json json_t *object = parse(OBJECT("u", "5"));
        cleanup_json json_t *read = NULL;
        struct kept kept = {0};
        json_t *list = json_array();

        for (size_t i = 0; i < count; i++)
            json_array_append_new(
                list, json_pack("{s:s, s:I}", "kind", "ConfigMap", "number", (json_int_t)i));
        json_object_set_new(object, "status", list);
        kept_set(&kept, object);
        read = kept_get(&kept);
        assert_true(json_equal(read, object));
        assert_true(kept.size <= kept.length);
        if (count > 20)
            assert_true(kept.size < kept.length / 2);
        kept_done(&kept);
    }
}

static void a_held_object_is_parsed_once_and_follows_changes(void **state)
{
    cleanup_json json_t *first = parse(OBJECT("u", "5")), *second = parse(OBJECT("u", "6"));
    cleanup_json json_t *before = NULL, *again = NULL, *changed = NULL, *released = NULL;
    struct kept kept = {0};

    (void)state;
    kept_set(&kept, first);
    kept_hold(&kept);
    before = kept_get(&kept);
    again = kept_get(&kept);
    assert_ptr_equal(before, again);
    kept_take_answer(&kept, second);
    changed = kept_get(&kept);
    assert_true(json_equal(changed, second));
    assert_true(json_equal(before, first)); /* whoever reads it at the time is not disturbed */
    kept_release(&kept);
    assert_null(kept.parsed);
    released = kept_get(&kept);
    assert_ptr_not_equal(released, changed);
    assert_null(kept.parsed);
    kept_hold(&kept);
    json_decref(kept_get(&kept));
    kept_set(&kept, NULL);
    assert_null(kept_get(&kept));
    kept_done(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_newer_answers_are_taken),
        cmocka_unit_test(a_version_is_known_by_its_uid_and_number),
        cmocka_unit_test(objects_of_any_size_are_read_as_they_were),
        cmocka_unit_test(a_held_object_is_parsed_once_and_follows_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
