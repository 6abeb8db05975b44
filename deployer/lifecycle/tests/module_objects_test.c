/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "deployer/lifecycle/module_objects.h"

static json_t *objects_of(const char *yaml)
{
    json_t *objects = NULL;
    struct error err = {0};

    if (module_objects_parse(yaml, strlen(yaml), &objects, &err) < 0)
        fail_msg("%s", err.text);
    return objects;
}

#define MAP(name_) "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name_ "}\n"

static void documents_become_objects(void **state)
{
    cleanup_json json_t *objects =
        objects_of("---\n" MAP("a") "---\n# nothing\n---\n" MAP("b") "data: {x: first}\n---\n" MAP(
            "b") "data: {x: second}\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, "
                 "kind: Secret, "
                 "metadata: {name: a}}\n- {apiVersion: apps/v1, kind: StatefulSet, metadata: "
                 "{name: s}}\n---\n"
                 "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n");

    (void)state;
    assert_int_equal(json_array_size(objects), 5);
    assert_string_equal(doc_text(json_array_get(objects, 1), "data.x"), "first");
    assert_string_equal(doc_text(json_array_get(objects, 3), "metadata.name"), "s");
}

static void wrong_documents_are_named(void **state)
{
    static const struct {
        const char *yaml, *expected;
    } rows[] = {
        {MAP("a") "---\n- 1\n", "document 2: expected an object, got a list"},
        {MAP("a") "---\nkind: X\n", "document 2: apiVersion"},
        {"apiVersion: v1\nkind: ''\nmetadata: {name: a}\n", "document 1: kind: is empty"},
        {"apiVersion: v1\nkind: A\n", "document 1: metadata.name"},
        {"apiVersion: v1\nkind: List\nitems: [5]\n", "document 1: items[0]: expected an object"},
        {"a: [\n", "line 2"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        json_t *objects = NULL;
        struct error err = {0};

        assert_int_equal(module_objects_parse(rows[i].yaml, strlen(rows[i].yaml), &objects, &err),
                         -1);
        print_message("%s\n", err.text);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, rows[i].expected));
        assert_null(objects);
    }
}

static void too_many_objects_are_refused(void **state)
{
    cleanup_buffer struct buffer yaml = {0};
    json_t *objects = NULL;
    struct error err = {0};

    (void)state;
    buffer_init(&yaml, MODULE_BYTES_MAX);
    for (int i = 0; i <= MODULE_OBJECTS_MAX; i++)
        assert_int_equal(
            buffer_append_text(&yaml, &err,
                               "---\n{apiVersion: v1, kind: A, metadata: {name: n%d}}\n", i),
            0);
    assert_int_equal(module_objects_parse(yaml.data, yaml.size, &objects, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static void objects_are_marked_for_their_cluster(void **state)
{
    cleanup_json json_t *object = parse(
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','labels':{'a':'b'}},"
        "'spec':{'template':{'spec':{'containers':[{'name':'c','image':'old/x:1'}]}}}}");
    cleanup_json json_t *images = parse("['new/x:1']");
    cleanup_json json_t *copy = NULL, *before = json_deep_copy(object);
    const struct module_owner owner = {"kcp-system", "fleet-0001-harbour-1"};
    const json_t *labels, *annotations;
    struct error err = {0};

    (void)state;
    assert_int_equal(module_object_for(object, &owner, images, &copy, &err), 0);
    assert_true(json_equal(object, before));
    labels = doc_get(copy, "metadata.labels");
    annotations = doc_get(copy, "metadata.annotations");
    assert_int_equal(json_object_size(labels), 4);
    assert_string_equal(
        json_string_value(doc_member(labels, "operator.kyma-project.io/managed-by")), "kyma");
    assert_string_equal(json_string_value(doc_member(labels, "app.kubernetes.io/component")),
                        "fleet-0001-harbour-1");
    assert_string_equal(json_string_value(doc_member(labels, "app.kubernetes.io/part-of")), "Kyma");
    assert_string_equal(
        json_string_value(doc_member(annotations, "deprecated-operator.kyma-project.io/owned-by")),
        "kcp-system/fleet-0001-harbour-1");
    assert_int_equal(json_object_size(annotations), 2);
    assert_string_equal(
        doc_text(json_array_get(doc_get(copy, "spec.template.spec.containers"), 0), "image"),
        "new/x:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_become_objects),
        cmocka_unit_test(wrong_documents_are_named),
        cmocka_unit_test(too_many_objects_are_refused),
        cmocka_unit_test(objects_are_marked_for_their_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
