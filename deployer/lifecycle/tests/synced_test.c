/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/cleanup.h"
#include "deployer/lifecycle/synced.h"

#define ENTRY(group_, kind_, name_, namespace_)                                                    \
    "{'group':'" group_ "','version':'v1','kind':'" kind_ "','name':'" name_                       \
    "','namespace':'" namespace_ "'}"

static void lists_are_united_and_subtracted(void **state)
{
    cleanup_json json_t *before = parse("[" ENTRY("", "ConfigMap", "a", "n") "]");
    cleanup_json json_t *now =
        parse("[" ENTRY("", "ConfigMap", "b", "n") "," ENTRY("", "ConfigMap", "a", "n") "]");
    cleanup_json json_t *all = synced_union(before, now), *added = synced_minus(now, before),
                        *first = synced_union(NULL, now);

    (void)state;
    assert_int_equal(json_array_size(all), 2);
    assert_string_equal(doc_text(json_array_get(all, 0), "name"), "a");
    assert_int_equal(json_array_size(added), 1);
    assert_string_equal(doc_text(json_array_get(added, 0), "name"), "b");
    assert_true(json_equal(first, now));
}

static void the_version_of_an_object_is_the_latest(void **state)
{
    cleanup_json json_t *before =
        parse("[" ENTRY("batch", "CronJob", "a", "n") "," ENTRY("", "ConfigMap", "b", "n") "]");
    cleanup_json json_t *now =
        parse("[{'group':'','version':'v1','kind':'ConfigMap','name':'b','namespace':'n'},{'group':"
              "'batch',"
              "'version':'v2','kind':'CronJob','name':'a','namespace':'n'}]");
    cleanup_json json_t *all = synced_union(before, now);

    (void)state;
    assert_int_equal(json_array_size(all), 2);
    assert_string_equal(doc_text(json_array_get(all, 0), "kind"), "CronJob");
    assert_string_equal(doc_text(json_array_get(all, 0), "version"), "v2");
    assert_true(json_equal(json_array_get(all, 1), json_array_get(before, 1)));
}

static void entries_are_references(void **state)
{
    cleanup_json json_t *entry = parse(ENTRY("apps", "Deployment", "d", "n"));
    struct object_ref ref = synced_ref(entry);
    cleanup_json json_t *again = synced_entry(&ref);
    cleanup_json json_t *objects =
        parse("[{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'}}]");

    (void)state;
    assert_string_equal(ref.api_version, "apps/v1");
    assert_true(json_equal(entry, again));
    assert_ptr_equal(synced_find_object(objects, &ref), json_array_get(objects, 0));
    object_ref_done(&ref);
}

static void an_object_in_another_version_of_its_api_is_recognized(void **state)
{
    static const struct {
        const char *content;
        bool is_other;
    } cases[] = {
        {"[{'apiVersion':'a.io/v2','kind':'K','metadata':{'name':'x','namespace':'n'}}]", true},
        {"[{'apiVersion':'a.io/v1','kind':'K','metadata':{'name':'x','namespace':'n'}}]", false},
        {"[{'apiVersion':'a.io/v2','kind':'K','metadata':{'name':'x','namespace':'n'}},"
         "{'apiVersion':'a.io/v1','kind':'K','metadata':{'name':'x','namespace':'n'}}]",
         false},
        {"[{'apiVersion':'b.io/v2','kind':'K','metadata':{'name':'x','namespace':'n'}}]", false},
        {"[{'apiVersion':'v2','kind':'K','metadata':{'name':'x','namespace':'n'}}]", false},
        {"[{'apiVersion':'a.io/v2','kind':'K','metadata':{'name':'y','namespace':'n'}}]", false},
        {"[{'apiVersion':'a.io/v2','kind':'K','metadata':{'name':'x','namespace':'m'}}]", false},
        {"[]", false},
    };
    struct object_ref ref = {.api_version = (char[]){"a.io/v1"},
                             .kind = (char[]){"K"},
                             .namespace_name = (char[]){"n"},
                             .name = (char[]){"x"}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *content = parse(cases[i].content);

        assert_int_equal(synced_has_other_version(content, &ref), cases[i].is_other);
    }
    assert_false(synced_has_other_version(NULL, &ref));
}

static void the_operator_goes_last_and_its_namespace_stays(void **state)
{
    cleanup_json json_t *synced = parse(
        "[" ENTRY("", "ConfigMap", "c", "n") "," ENTRY("apps", "StatefulSet", "s", "n") "," ENTRY(
            "", "Namespace", "kyma-system", "") "," ENTRY("apps", "Deployment", "d", "n") "]");
    cleanup_inventory struct inventory first = synced_inventory(synced, false);
    cleanup_inventory struct inventory last = synced_inventory(synced, true);

    (void)state;
    assert_int_equal(first.count, 2);
    assert_int_equal(last.count, 2);
    assert_int_equal(last.entries[0].policy, POLICY_KEEP);
    assert_false(last.entries[0].is_namespaced);
    assert_int_equal(last.entries[1].policy, POLICY_MANAGE);
    assert_string_equal(doc_text(synced_manager(synced), "name"), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_united_and_subtracted),
        cmocka_unit_test(the_version_of_an_object_is_the_latest),
        cmocka_unit_test(entries_are_references),
        cmocka_unit_test(an_object_in_another_version_of_its_api_is_recognized),
        cmocka_unit_test(the_operator_goes_last_and_its_namespace_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
