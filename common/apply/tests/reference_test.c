/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/reference.h"

#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define cleanup_ref __attribute__((cleanup(object_ref_done)))

static void assert_text(const char *text, const char *expected)
{
    if (!expected)
        assert_null(text);
    else
        assert_string_equal(text, expected);
}

static const struct {
    const char *object;
    const char *api_version, *kind, *namespace_name, *name, *uid;
    const char *text;
} objects[] = {
    {"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','namespace':'n','uid':'u'}}",
     "v1", "ConfigMap", "n", "a", "u", "ConfigMap n/a"},
    {"{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'ClusterRole','metadata':{'name':'a'}}",
     "rbac.authorization.k8s.io/v1", "ClusterRole", NULL, "a", NULL, "ClusterRole a"},
    {"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','namespace':'','uid':''}}", "v1",
     "Pod", NULL, "a", NULL, "Pod a"},
    {"{'apiVersion':1,'kind':[],'metadata':{'name':{},'namespace':2,'uid':true}}", "", "", NULL, "",
     NULL, " "},
    {"{'metadata':'x'}", "", "", NULL, "", NULL, " "},
    {"{}", "", "", NULL, "", NULL, " "},
    {"[]", "", "", NULL, "", NULL, " "},
};

static void an_object_has_a_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(objects); i++) {
        cleanup_json json_t *object = parse(objects[i].object);
        cleanup_ref struct object_ref ref = object_ref_of(object);
        cleanup_free char *text = object_ref_text(&ref);

        print_message("%s\n", objects[i].object);
        assert_text(ref.api_version, objects[i].api_version);
        assert_text(ref.kind, objects[i].kind);
        assert_text(ref.namespace_name, objects[i].namespace_name);
        assert_text(ref.name, objects[i].name);
        assert_text(ref.uid, objects[i].uid);
        assert_string_equal(text, objects[i].text);
    }
}

static const struct {
    const char *value;
    const char *json;  /* of what was parsed; NULL: ERROR_INVALID */
    const char *error; /* its start */
} references[] = {
    {"{'apiVersion':'v1','kind':'Secret','name':'s','namespace':'n','uid':'u'}",
     "{'apiVersion':'v1','kind':'Secret','name':'s','namespace':'n','uid':'u'}", NULL},
    {"{'apiVersion':'v1','kind':'Secret','name':'s','namespace':'n'}",
     "{'apiVersion':'v1','kind':'Secret','name':'s','namespace':'n'}", NULL},
    {"{'apiVersion':'v1','kind':'Namespace','name':'s'}",
     "{'apiVersion':'v1','kind':'Namespace','name':'s'}", NULL},
    {"{'apiVersion':'v1','kind':'Namespace','name':'s','namespace':'','uid':null,'fieldPath':'x'}",
     "{'apiVersion':'v1','kind':'Namespace','name':'s'}", NULL},
    {"{'kind':'Secret','name':'s'}", NULL, "apiVersion:"},
    {"{'apiVersion':'','kind':'Secret','name':'s'}", NULL, "apiVersion: must not be empty"},
    {"{'apiVersion':'v1','name':'s'}", NULL, "kind:"},
    {"{'apiVersion':'v1','kind':'','name':'s'}", NULL, "kind: must not be empty"},
    {"{'apiVersion':'v1','kind':'Secret'}", NULL, "name:"},
    {"{'apiVersion':'v1','kind':'Secret','name':''}", NULL, "name: must not be empty"},
    {"{'apiVersion':'v1','kind':'Secret','name':5}", NULL, "name: expected a string"},
    {"{'apiVersion':'v1','kind':'Secret','name':'s','namespace':[]}", NULL,
     "namespace: expected a string"},
    {"{'apiVersion':'v1','kind':'Secret','name':'s','uid':7}", NULL, "uid: expected a string"},
    {"'Secret'", NULL, "expected an object reference, got a string"},
    {"null", NULL, "expected an object reference, got null"},
};

static void an_object_reference_is_parsed_and_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(references); i++) {
        cleanup_json json_t *value = parse(references[i].value);
        cleanup_json json_t *expected = NULL;
        cleanup_json json_t *written = NULL;
        cleanup_ref struct object_ref ref = {0};
        cleanup_ref struct object_ref copy = {0};
        struct error err = {0};
        int result = object_ref_parse(value, &ref, &err);

        print_message("%s\n", references[i].value);
        if (!references[i].json) {
            assert_int_equal(result, -1);
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_memory_equal(err.text, references[i].error, strlen(references[i].error));
            assert_null(ref.name);
            continue;
        }
        assert_int_equal(result, 0);
        expected = parse(references[i].json);
        copy = object_ref_copy(&ref);
        written = object_ref_json(&copy);
        assert_true(json_equal(written, expected));
        assert_true(object_ref_equal(&ref, &copy));
    }
}

static void absent_members_are_not_written(void **state)
{
    const struct object_ref nothing = {0};
    cleanup_ref struct object_ref copy = object_ref_copy(&nothing);
    cleanup_json json_t *value = object_ref_json(&copy);
    cleanup_free char *text = object_ref_text(&copy);

    (void)state;
    assert_int_equal(json_object_size(value), 0);
    assert_string_equal(text, " ");
    assert_true(object_ref_equal(&nothing, &copy));
}

#define REF(api_version_, kind_, namespace_, name_, uid_)                                          \
    {                                                                                              \
        .api_version = (char[]){api_version_}, .kind = (char[]){kind_},                            \
        .namespace_name = (char[]){namespace_}, .name = (char[]){name_}, .uid = (char[]){uid_},    \
    }

static const struct {
    struct object_ref a, b;
    bool is_same_name, is_equal;
} pairs[] = {
    {REF("v1", "Pod", "n", "a", "1"), REF("v1", "Pod", "n", "a", "1"), true, true},
    /* The version does not count. */
    {REF("apps/v1", "Deployment", "n", "a", ""), REF("apps/v1beta1", "Deployment", "n", "a", "1"),
     true, true},
    /* The object was deleted and created again. */
    {REF("v1", "Pod", "n", "a", "1"), REF("v1", "Pod", "n", "a", "2"), true, false},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Pod", "n", "a", "2"), true, true},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Pod", "n", "a", ""), true, true},
    /* One object that the server has in two groups. */
    {REF("extensions/v1beta1", "Ingress", "n", "a", "1"),
     REF("networking.k8s.io/v1", "Ingress", "n", "a", "1"), false, true},
    {REF("extensions/v1beta1", "Ingress", "n", "a", "1"),
     REF("networking.k8s.io/v1", "Ingress", "n", "a", ""), false, false},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Pod", "m", "a", ""), false, false},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Pod", "", "a", ""), false, false},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Pod", "n", "b", ""), false, false},
    {REF("v1", "Pod", "n", "a", ""), REF("v1", "Secret", "n", "a", ""), false, false},
    {REF("v1", "Event", "n", "a", ""), REF("events.k8s.io/v1", "Event", "n", "a", ""), false,
     false},
    {REF("ab/v1", "X", "n", "a", ""), REF("a/v1", "X", "n", "a", ""), false, false},
    {REF("ab/v1", "X", "n", "a", ""), REF("ac/v1", "X", "n", "a", ""), false, false},
    /* Together they are the same text. */
    {REF("v1", "X", "n", "ma", ""), REF("v1", "X", "nm", "a", ""), false, false},
    {REF("v1", "Xn", "", "a", ""), REF("v1", "X", "n", "a", ""), false, false},
};

static void references_are_compared_by_uid_or_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pairs); i++) {
        cleanup_free char *a_key = object_ref_key(&pairs[i].a);
        cleanup_free char *b_key = object_ref_key(&pairs[i].b);

        print_message("pair %zu\n", i);
        assert_int_equal(strcmp(a_key, b_key) == 0, pairs[i].is_same_name);
        assert_int_equal(object_ref_is_same_name(&pairs[i].a, &pairs[i].b), pairs[i].is_same_name);
        assert_int_equal(object_ref_is_same_name(&pairs[i].b, &pairs[i].a), pairs[i].is_same_name);
        assert_int_equal(object_ref_equal(&pairs[i].a, &pairs[i].b), pairs[i].is_equal);
        assert_int_equal(object_ref_equal(&pairs[i].b, &pairs[i].a), pairs[i].is_equal);
    }
}

static void an_empty_member_equals_a_missing_one(void **state)
{
    const struct object_ref empty = REF("v1", "Node", "", "a", "");
    cleanup_json json_t *value = object_ref_json(&empty);
    cleanup_ref struct object_ref parsed = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(object_ref_parse(value, &parsed, &err), 0);
    assert_null(parsed.namespace_name);
    assert_true(object_ref_is_same_name(&empty, &parsed));
    assert_true(object_ref_equal(&parsed, &empty));
}

static const struct {
    const char *api_version, *group, *version;
} versions[] = {
    {"v1", "", "v1"},      {"apps/v1", "apps", "v1"}, {"a.b/v1beta1", "a.b", "v1beta1"},
    {"", "", ""},          {"/v1", "", "v1"},         {"apps/", "apps", ""},
    {"a/b/c", "a", "b/c"},
};

static void an_api_version_has_group_and_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(versions); i++) {
        const char *group = NULL;
        const char *version = NULL;
        size_t group_size = 99;

        api_version_split(versions[i].api_version, &group, &group_size, &version);
        assert_int_equal(group_size, strlen(versions[i].group));
        assert_memory_equal(group, versions[i].group, group_size);
        assert_string_equal(version, versions[i].version);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_has_a_reference),
        cmocka_unit_test(an_object_reference_is_parsed_and_written),
        cmocka_unit_test(absent_members_are_not_written),
        cmocka_unit_test(references_are_compared_by_uid_or_name),
        cmocka_unit_test(an_empty_member_equals_a_missing_one),
        cmocka_unit_test(an_api_version_has_group_and_version),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
