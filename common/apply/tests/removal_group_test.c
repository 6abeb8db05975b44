/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/removal_group.h"
#include "common/apply/tests/parse.h"
#include "common/apply/tests/removal_parse.h"
#include "common/base/memory.h"

/* ---- Which group takes a recorded object ---- */

static void an_object_goes_to_the_first_group_that_matches(void **state)
{
    static const struct {
        const char *groups, *object;
        int expected; /* -1: none */
    } cases[] = {
        {"[{'type': 'namespaced'}]", "v1 ConfigMap ns/a", 0},
        {"[{'type': 'namespaced'}]", "v1 Namespace a", -1},
        {"[{'type': 'cluster-scoped'}]", "v1 Namespace a", 0},
        {"[{'type': 'cluster-scoped'}]", "v1 ConfigMap ns/a", -1},
        {"[{'type': 'cluster-scoped'}]", "apiextensions.k8s.io/v1 CustomResourceDefinition a", -1},
        {"[{'type': 'namespaced'}]", "example.org/v1 CustomResourceDefinition ns/a", -1},
        {"[{'type': 'crds'}]", "apiextensions.k8s.io/v1 CustomResourceDefinition a", 0},
        {"[{'type': 'crds'}]", "example.org/v1 CustomResourceDefinition ns/a", 0},
        {"[{'type': 'crds'}]", "v1 Namespace a", -1},
        {"[{'type': 'empty'}, {'type': 'namespaced'}]", "v1 ConfigMap ns/a", 1},
        {"[{'type': 'namespaced'}, {'type': 'namespaced'}]", "v1 ConfigMap ns/a", 0},
        {"[]", "v1 ConfigMap ns/a", -1},
        /* Resources. */
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap']}]", "v1 ConfigMap ns/a", 0},
        {"[{'type': 'custom', 'resources': ['v1 configmap']}]", "v1 ConfigMap ns/a", -1},
        {"[{'type': 'custom', 'resources': ['v2 ConfigMap']}]", "v1 ConfigMap ns/a", -1},
        {"[{'type': 'custom', 'resources': ['v1 Secret', 'v1 ConfigMap']}]", "v1 ConfigMap ns/a",
         0},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'names': ['b', 'a']}]",
         "v1 ConfigMap ns/a", 0},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'names': ['b']}]", "v1 ConfigMap ns/a",
         -1},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'names': []}]", "v1 ConfigMap ns/a",
         0},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'namespaces': ['ns']}]",
         "v1 ConfigMap ns/a", 0},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'namespaces': ['other']}]",
         "v1 ConfigMap ns/a", -1},
        {"[{'type': 'custom', 'resources': ['v1 Namespace'], 'namespaces': ['ns']}]",
         "v1 Namespace a", -1},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'names': ['a'], "
         "'namespaces': ['other']}]",
         "v1 ConfigMap ns/a", -1},
        {"[{'type': 'custom', 'resources': []}]", "v1 ConfigMap ns/a", -1},
        /* Groups that are listed. */
        {"[{'type': 'all', 'resources': ['v1 ConfigMap']}]", "v1 ConfigMap ns/a", 0},
        {"[{'type': 'all', 'resources': ['v1 ConfigMap'], 'target': 't'}]", "v1 ConfigMap ns/a",
         -1},
        {"[{'type': 'custom', 'resources': ['v1 ConfigMap'], 'target': 't'}]", "v1 ConfigMap ns/a",
         -1},
        {"[{'type': 'selected', 'resources': ['v1 ConfigMap']}, {'type': 'namespaced'}]",
         "v1 ConfigMap ns/a", 1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct test_groups groups = parse_groups(cases[i].groups);
        struct object_ref ref = parse_ref(cases[i].object);
        size_t expected = cases[i].expected < 0 ? REMOVAL_NO_GROUP : (size_t)cases[i].expected;

        if (removal_group_of(groups.groups, groups.count, &ref) != expected)
            fail_msg("case %zu: %s %s", i, cases[i].groups, cases[i].object);
        object_ref_done(&ref);
        test_groups_done(&groups);
    }
}

static void the_default_groups_take_everything(void **state)
{
    static const char *const objects[] = {
        "v1 ConfigMap ns/a",
        "v1 Namespace a",
        "apiextensions.k8s.io/v1 CustomResourceDefinition a",
    };

    (void)state;
    for (size_t i = 0; i < array_length(objects); i++) {
        struct object_ref ref = parse_ref(objects[i]);

        assert_int_equal(removal_group_of(REMOVAL_DEFAULT_GROUPS, 3, &ref), i);
        object_ref_done(&ref);
    }
}

/* ---- What is refused ---- */

static void a_group_that_could_remove_too_much_is_refused(void **state)
{
    static const struct {
        const char *group;
        bool has_cluster;
        const char *expected; /* NULL: accepted */
    } cases[] = {
        {"{'type': 'namespaced'}", false, NULL},
        {"{'type': 'all', 'resources': ['v1 Secret']}", false, NULL},
        {"{'type': 'all', 'resources': ['v1 Secret'], 'target': 't'}", true, NULL},
        {"{'type': 'all', 'resources': ['v1 Secret'], 'target': 't'}", false,
         "deletion group: target t was not resolved"},
        {"{'type': 'selected', 'resources': ['v1 Secret'], 'labels': {'a': 'b'}}", false, NULL},
        {"{'type': 'selected', 'resources': ['v1 Secret'], 'names': ['a']}", false, NULL},
        {"{'type': 'selected', 'resources': ['v1 Secret'], 'namespaces': ['a']}", false, NULL},
        {"{'type': 'selected', 'resources': ['v1 Secret']}", false,
         "deletion group: Secret is not limited: add matchLabels, names or namespaces"},
        {"{'type': 'selected', 'resources': ['v1 Secret'], 'labels': {}, 'names': []}", false,
         "deletion group: Secret is not limited: add matchLabels, names or namespaces"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct test_groups groups = parse_groups_of_one(cases[i].group);
        struct error err = {0};
        int result = removal_group_check(&groups.groups[0], cases[i].has_cluster, &err);

        assert_int_equal(result, cases[i].expected ? -1 : 0);
        if (cases[i].expected) {
            assert_string_equal(err.text, cases[i].expected);
            assert_int_equal(err.kind, ERROR_INVALID);
        }
        test_groups_done(&groups);
    }
}

/* ---- Lists ---- */

static void objects_of_a_list_are_checked_although_the_server_has_selected_them(void **state)
{
    static const struct {
        const char *group, *object;
        bool is_selected;
    } cases[] = {
        {"{'type': 'all'}", "{'name': 'a', 'namespace': 'ns'}", true},
        {"{'type': 'all'}", "{'namespace': 'ns'}", false},
        {"{'type': 'all', 'names': ['a']}", "{'name': 'a', 'namespace': 'ns'}", true},
        {"{'type': 'all', 'names': ['a']}", "{'name': 'b', 'namespace': 'ns'}", false},
        {"{'type': 'all', 'namespaces': ['ns']}", "{'name': 'a', 'namespace': 'ns'}", true},
        {"{'type': 'all', 'namespaces': ['ns']}", "{'name': 'a', 'namespace': 'other'}", false},
        {"{'type': 'all', 'namespaces': ['ns']}", "{'name': 'a'}", false},
        {"{'type': 'selected', 'labels': {'a': 'b'}}", "{'name': 'a', 'labels': {'a': 'b'}}", true},
        {"{'type': 'selected', 'labels': {'a': 'b'}}",
         "{'name': 'a', 'labels': {'x': 'y', 'a': 'b'}}", true},
        {"{'type': 'selected', 'labels': {'a': 'b'}}", "{'name': 'a', 'labels': {'a': 'c'}}",
         false},
        {"{'type': 'selected', 'labels': {'a': 'b'}}", "{'name': 'a', 'labels': {}}", false},
        {"{'type': 'selected', 'labels': {'a': 'b'}}", "{'name': 'a'}", false},
        {"{'type': 'selected', 'labels': {'a': 'b', 'c': 'd'}}",
         "{'name': 'a', 'labels': {'a': 'b'}}", false},
        {"{'type': 'selected', 'labels': {'a': 'b'}, 'names': ['a']}",
         "{'name': 'b', 'labels': {'a': 'b'}}", false},
        /* Labels limit only groups that select by labels. */
        {"{'type': 'all', 'labels': {'a': 'b'}}", "{'name': 'a'}", true},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *group = parse(cases[i].group);
        cleanup_free char *text = NULL;
        cleanup_json json_t *object = json_object();
        struct test_groups groups;

        doc_set_new(group, "resources", json_pack("[s]", "v1 ConfigMap"));
        text = doc_dump(group);
        groups = parse_groups_of_one(text);
        doc_set_new(object, "metadata", parse(cases[i].object));
        if (removal_group_selects(&groups.groups[0], &groups.groups[0].resources[0], object) !=
            cases[i].is_selected)
            fail_msg("case %zu: %s %s", i, cases[i].group, cases[i].object);
        test_groups_done(&groups);
    }
}

static void labels_become_a_selector(void **state)
{
    static const struct {
        const char *group, *expected;
    } cases[] = {
        {"{'type': 'selected', 'labels': {'a': 'b', 'example.org/c': 'd'}}", "a=b,example.org/c=d"},
        {"{'type': 'selected', 'labels': {'a': ''}}", "a="},
        {"{'type': 'selected', 'labels': {'a': 1, 'b': 'c'}}", "a=,b=c"},
        {"{'type': 'selected', 'labels': {}}", NULL},
        {"{'type': 'selected'}", NULL},
        {"{'type': 'all', 'labels': {'a': 'b'}}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct test_groups groups = parse_groups_of_one(cases[i].group);
        cleanup_free char *selector = removal_group_selector(&groups.groups[0]);

        if (cases[i].expected)
            assert_string_equal(selector, cases[i].expected);
        else
            assert_null(selector);
        test_groups_done(&groups);
    }
}

static void a_selector_has_a_limit(void **state)
{
    cleanup_free char *selector = NULL;
    json_t *labels = json_object();
    struct removal_group group = {.type = REMOVAL_SELECTED, .match_labels = labels};
    char key[32];

    (void)state;
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof(key), "label-%d", i);
        (void)json_object_set_new(labels, key, json_string("value"));
    }
    selector = removal_group_selector(&group);
    assert_true(strlen(selector) <= 64 * 1024);
    assert_int_equal(strncmp(selector, "label-0=value,label-1=value,", 28), 0);
    removal_group_done(&group);
}

/* ---- Before a deletion ---- */

static void annotations_and_patch_are_merged_over_the_live_object(void **state)
{
    static const struct {
        const char *annotations, *patch, *live, *expected;
    } cases[] = {
        {NULL, NULL, "{'metadata': {'name': 'a'}}", "{'metadata': {'name': 'a'}}"},
        {"{'a': 'b'}", NULL, "{'metadata': {'name': 'a'}}",
         "{'metadata': {'name': 'a', 'annotations': {'a': 'b'}}}"},
        {"{'a': 'b'}", NULL, "{'metadata': {'annotations': {'a': 'x', 'c': 'd'}}}",
         "{'metadata': {'annotations': {'a': 'b', 'c': 'd'}}}"},
        {NULL, "{'spec': {'suspend': false}}", "{'spec': {'suspend': true, 'other': [1]}}",
         "{'spec': {'suspend': false, 'other': [1]}}"},
        {"{'a': 'b'}", "{'metadata': {'annotations': {'a': 'c'}}}", "{'metadata': {}}",
         "{'metadata': {'annotations': {'a': 'c'}}}"},
        {"{'a': 'b'}", "{'spec': {'x': 1}}",
         "{'metadata': {'annotations': {'a': 'b'}}, 'spec': {'x': 1}}",
         "{'metadata': {'annotations': {'a': 'b'}}, 'spec': {'x': 1}}"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct inventory_entry entry = {
            .annotate_before_delete = cases[i].annotations ? parse(cases[i].annotations) : NULL,
            .patch_before_delete = cases[i].patch ? parse(cases[i].patch) : NULL,
        };
        cleanup_json json_t *live = parse(cases[i].live);
        cleanup_json json_t *unchanged = parse(cases[i].live);
        cleanup_json json_t *expected = parse(cases[i].expected);
        cleanup_json json_t *prepared = removal_prepare(&entry, live);

        if (!json_equal(prepared, expected))
            fail_msg("case %zu", i);
        assert_true(json_equal(live, unchanged));
        inventory_entry_done(&entry);
    }
}

static void finalizers_are_named(void **state)
{
    static const struct {
        const char *object, *expected;
    } cases[] = {
        {"{'metadata': {'finalizers': ['a']}}", "a"},
        {"{'metadata': {'finalizers': ['a', 'b/c']}}", "a, b/c"},
        {"{'metadata': {'finalizers': [1, 'a']}}", "a"},
        {"{'metadata': {'finalizers': []}}", NULL},
        {"{'metadata': {'finalizers': 'a'}}", NULL},
        {"{'metadata': {}}", NULL},
        {"{}", NULL},
        {"{'metadata': {'finalizers': ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', "
         "'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb']}}",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "a"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = parse(cases[i].object);
        cleanup_free char *text = removal_finalizers(object);

        if (cases[i].expected)
            assert_string_equal(text, cases[i].expected);
        else
            assert_null(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_goes_to_the_first_group_that_matches),
        cmocka_unit_test(the_default_groups_take_everything),
        cmocka_unit_test(a_group_that_could_remove_too_much_is_refused),
        cmocka_unit_test(objects_of_a_list_are_checked_although_the_server_has_selected_them),
        cmocka_unit_test(labels_become_a_selector),
        cmocka_unit_test(a_selector_has_a_limit),
        cmocka_unit_test(annotations_and_patch_are_merged_over_the_live_object),
        cmocka_unit_test(finalizers_are_named),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
