/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/kinds.h"

#include "common/apply/tests/parse.h"

static void assert_kind(const struct kind *kind, const char *group, const char *version,
                        const char *plural, bool is_namespaced)
{
    struct kube_resource resource = {0};

    assert_non_null(kind);
    resource = kind_resource(kind);
    assert_string_equal(resource.group, group);
    assert_string_equal(resource.version, version);
    assert_string_equal(resource.plural, plural);
    assert_int_equal(kind->is_namespaced, is_namespaced);
}

static bool has_verb(const json_t *resource, const char *verb)
{
    const json_t *verbs = doc_get(resource, "verbs");

    for (size_t i = 0; i < json_array_size(verbs); i++) {
        if (strcmp(json_string_value(json_array_get(verbs, i)), verb) == 0)
            return true;
    }
    return false;
}

/* Reads what the API server of Kubernetes 1.34 responds to discovery of its stable versions. */
static json_t *read_discovery(void)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};
    json_t *lists = NULL;

    if (doc_read_file("testdata/discovery.json", 100000, &text, &err) < 0 ||
        doc_parse_json(text.data, text.size, 100000, &lists, &err) < 0)
        fail_msg("%s", err.text);
    return lists;
}

static void the_table_has_the_kinds_of_the_server(void **state)
{
    cleanup_json json_t *lists = read_discovery();
    cleanup_kind_set struct kind_set *set = kind_set_new();
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(lists); i++) {
        const json_t *list = json_array_get(lists, i);
        const char *api_version = doc_text(list, "groupVersion");
        const json_t *resources = doc_get(list, "resources");
        struct error err = {0};

        assert_int_equal(kind_set_add_discovery(set, api_version, list, &err), 0);
        for (size_t j = 0; j < json_array_size(resources); j++) {
            const json_t *resource = json_array_get(resources, j);
            const char *name = doc_text(resource, "kind");
            const struct kind *builtin = kind_builtin(api_version, name);
            const struct kind *learnt = kind_set_find(set, api_version, name);

            if (strchr(doc_text(resource, "name"), '/'))
                continue;
            print_message("%s %s\n", api_version, name);
            assert_non_null(learnt);
            if (!has_verb(resource, "get") || !has_verb(resource, "create")) {
                assert_null(builtin);
                continue;
            }
            assert_kind(builtin, learnt->group, learnt->version, learnt->plural,
                        learnt->is_namespaced);
            count++;
        }
    }
    assert_int_equal(count, 58);
}

static void other_kinds_are_not_in_the_table(void **state)
{
    static const struct {
        const char *api_version, *kind;
    } others[] = {
        {"v1", "configmap"},
        {"v1", "configmaps"},
        {"v1", "List"},
        {"v1", "Binding"},
        {"v1", "Deployment"},
        {"apps/v1beta1", "Deployment"},
        {"apps/v2", "StatefulSet"},
        {"/v1", "ConfigMap"},
        {"", "ConfigMap"},
        {"extensions/v1beta1", "Ingress"},
        {"v1", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < array_length(others); i++)
        assert_null(kind_builtin(others[i].api_version, others[i].kind));
}

#define CRD(members_)                                                                              \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition'," members_ "}"

static const struct {
    const char *crd;
    const char *api_version; /* that is known afterwards; NULL: nothing is */
    bool is_namespaced;
} crds[] = {
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1','served':true}]}"),
     "e.com/v1", true},
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Cluster',"
         "'versions':[{'name':'v1alpha1','served':true},{'name':'v1'}]}"),
     "e.com/v1", false},
    /* The version is not served. */
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1','served':false}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'namespaced',"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':{'kind':'','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    /* Not part of a path. */
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'../pods'},'scope':'Namespaced',"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com/v1','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':[{'name':'v1/x'},{'name':5},5]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':'Car','scope':'Namespaced','versions':[{'name':'v1'}]}"),
     NULL, false},
    {CRD("'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
         "'versions':{'name':'v1'}}"),
     NULL, false},
    {CRD("'metadata':{}"), NULL, false},
    /* Of another group. */
    {"{'apiVersion':'e.com/v1','kind':'CustomResourceDefinition',"
     "'spec':{'group':'e.com','names':{'kind':'Car','plural':'cars'},'scope':'Namespaced',"
     "'versions':[{'name':'v1'}]}}",
     NULL, false},
    {"{}", NULL, false},
    {"[]", NULL, false},
};

static void a_crd_adds_its_served_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(crds); i++) {
        cleanup_kind_set struct kind_set *set = kind_set_new();
        cleanup_json json_t *crd = parse(crds[i].crd);

        print_message("%s\n", crds[i].crd);
        kind_set_add_crd(set, crd);
        if (!crds[i].api_version) {
            assert_null(kind_set_find(set, "e.com/v1", "Car"));
            assert_null(kind_set_find(set, "/v1", "Car"));
            assert_null(kind_set_find(set, "e.com/v1/v1", "Car"));
            assert_null(kind_set_find(set, "e.com/v1", ""));
            assert_null(kind_set_find(set, "e.com/v1/x", "Car"));
            continue;
        }
        assert_kind(kind_set_find(set, crds[i].api_version, "Car"), "e.com", "v1", "cars",
                    crds[i].is_namespaced);
        assert_false(kind_set_is_discovered(set, crds[i].api_version));
        assert_null(kind_set_find(set, crds[i].api_version, "car"));
        assert_null(kind_set_find(set, "e.com/v2", "Car"));
    }
}

static void a_second_crd_replaces_the_first(void **state)
{
    cleanup_kind_set struct kind_set *set = kind_set_new();
    cleanup_json json_t *first = parse(crds[0].crd);
    cleanup_json json_t *second = parse(crds[1].crd);

    (void)state;
    kind_set_add_crd(set, first);
    kind_set_add_crd(set, second);
    assert_kind(kind_set_find(set, "e.com/v1", "Car"), "e.com", "v1", "cars", false);
    assert_kind(kind_set_find(set, "e.com/v1alpha1", "Car"), "e.com", "v1alpha1", "cars", false);
}

static const struct {
    const char *list;   /* for e.com/v1 */
    const char *plural; /* of the kind Car; NULL: ERROR_INVALID; "": the kind is unknown */
} lists[] = {
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':["
     "{'name':'cars','kind':'Car','namespaced':true,'verbs':['get','list']}]}",
     "cars"},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':["
     "{'name':'cars/status','kind':'Car','namespaced':true,'verbs':['get']}]}",
     ""},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':["
     "{'name':'cars','kind':'Car','namespaced':true,'verbs':['get']},"
     "{'name':'cars/scale','kind':'Car','namespaced':true,'verbs':['get']}]}",
     "cars"},
    /* Two resources with objects of one kind; only one of them has stored objects. */
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':["
     "{'name':'assembledcars','kind':'Car','namespaced':true,'verbs':['create']},"
     "{'name':'cars','kind':'Car','namespaced':true,'verbs':['create','get']},"
     "{'name':'zcars','kind':'Car','namespaced':true,'verbs':['create']}]}",
     "cars"},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':["
     "5,{'name':7,'kind':'Car'},{'name':'a','kind':''},{'kind':'Car'},{'name':'..','kind':'Car'},"
     "{'name':'cars','kind':'Car','namespaced':true}]}",
     "cars"},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':[]}", ""},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':null}", ""},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1'}", ""},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':{}}", NULL},
    {"{'kind':'APIResourceList','groupVersion':'e.com/v2','resources':[]}", NULL},
    {"{'kind':'APIResourceList','resources':[]}", NULL},
    {"{'kind':'Status','groupVersion':'e.com/v1','resources':[]}", NULL},
    {"{}", NULL},
    {"[]", NULL},
    {"null", NULL},
};

static void discovery_adds_the_kinds_of_a_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lists); i++) {
        cleanup_kind_set struct kind_set *set = kind_set_new();
        cleanup_json json_t *list = parse(lists[i].list);
        struct error err = {0};

        print_message("%s\n", lists[i].list);
        if (!lists[i].plural) {
            assert_int_equal(kind_set_add_discovery(set, "e.com/v1", list, &err), -1);
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_non_null(strstr(err.text, "e.com/v1"));
            assert_false(kind_set_is_discovered(set, "e.com/v1"));
            continue;
        }
        assert_int_equal(kind_set_add_discovery(set, "e.com/v1", list, &err), 0);
        assert_true(kind_set_is_discovered(set, "e.com/v1"));
        if (!*lists[i].plural)
            assert_null(kind_set_find(set, "e.com/v1", "Car"));
        else
            assert_kind(kind_set_find(set, "e.com/v1", "Car"), "e.com", "v1", lists[i].plural,
                        true);
    }
}

static void discovery_replaces_and_forgetting_removes(void **state)
{
    cleanup_kind_set struct kind_set *set = kind_set_new();
    cleanup_json json_t *crd = parse(crds[1].crd);
    cleanup_json json_t *empty =
        parse("{'kind':'APIResourceList','groupVersion':'e.com/v1','resources':[]}");
    cleanup_json json_t *invalid = parse("{}");
    struct error err = {0};

    (void)state;
    kind_set_add_crd(set, crd);
    assert_int_equal(kind_set_add_discovery(set, "e.com/v1", invalid, &err), -1);
    assert_non_null(kind_set_find(set, "e.com/v1", "Car"));
    assert_int_equal(kind_set_add_discovery(set, "e.com/v1", empty, &err), 0);
    assert_null(kind_set_find(set, "e.com/v1", "Car"));
    assert_non_null(kind_set_find(set, "e.com/v1alpha1", "Car"));
    kind_set_forget(set, "e.com/v1");
    assert_false(kind_set_is_discovered(set, "e.com/v1"));
    assert_non_null(kind_set_find(set, "e.com/v1alpha1", "Car"));
    kind_set_forget(set, "e.com/v1alpha1");
    assert_null(kind_set_find(set, "e.com/v1alpha1", "Car"));
    kind_set_forget(set, "e.com/v1alpha1");
}

static void a_crd_is_recognised_by_group_and_kind(void **state)
{
    (void)state;
    assert_true(kind_is_crd("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
    assert_true(kind_is_crd("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"));
    assert_false(kind_is_crd("apiextensions.k8s.io/v1", "ConversionReview"));
    assert_false(kind_is_crd("v1", "CustomResourceDefinition"));
    assert_false(kind_is_crd("apiextensions.k8s.io.example.com/v1", "CustomResourceDefinition"));
    assert_false(kind_is_crd("", ""));
}

static void a_copy_owns_its_strings(void **state)
{
    cleanup_kind struct kind copy = kind_copy(kind_builtin("apps/v1", "Deployment"));

    (void)state;
    assert_kind(&copy, "apps", "v1", "deployments", true);
    assert_ptr_not_equal(copy.plural, kind_builtin("apps/v1", "Deployment")->plural);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_the_kinds_of_the_server),
        cmocka_unit_test(other_kinds_are_not_in_the_table),
        cmocka_unit_test(a_crd_adds_its_served_versions),
        cmocka_unit_test(a_second_crd_replaces_the_first),
        cmocka_unit_test(discovery_adds_the_kinds_of_a_version),
        cmocka_unit_test(discovery_replaces_and_forgetting_removes),
        cmocka_unit_test(a_crd_is_recognised_by_group_and_kind),
        cmocka_unit_test(a_copy_owns_its_strings),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
