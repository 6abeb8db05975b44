/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/plan.h"
#include "common/apply/tests/api_bench.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define MAP(name_)                                                                                 \
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': '" name_ "', "                 \
    "'namespace': 'a'}}"
#define CRD                                                                                        \
    "{'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', "               \
    "'metadata': {'name': 'boats.x.org'}, 'spec': {'group': 'x.org', 'scope': 'Namespaced', "      \
    "'names': {'kind': 'Boat', 'plural': 'boats'}, 'versions': [{'name': 'v1', 'served': true}]}}"
#define BOAT                                                                                       \
    "{'apiVersion': 'x.org/v1', 'kind': 'Boat', 'metadata': {'name': 'b', 'namespace': 'a'}}"
#define ROLE(rest_)                                                                                \
    "{'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'metadata': {'name': "  \
    "'r'" rest_ "}}"

static void note_problem(void *data, const char *field, const char *message)
{
    char *text = data;
    size_t used = strlen(text);

    (void)snprintf(text + used, 2000 - used, "%s%s: %s", used ? "\n" : "", field, message);
}

/* A table of what is wrong without asking a server. */
static const struct {
    const char *manifests[3];
    const char *problems;
} inputs[] = {
    {{MAP("x"), MAP("y")}, ""},
    {{"{'kind': 'List', 'items': []}"}, ""},
    {{"{'kind': 'List', 'items': [" MAP("x") ", " MAP("y") "]}", MAP("z")}, ""},
    {{"{'kind': 'ConfigMapList', 'items': [" MAP("x") "]}"}, ""},
    {{"{'items': [" MAP("x") "]}"}, ""},
    {{"{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}, 'items': null}"}, ""},
    {{"5"}, "m[0]: expected an object, got a number"},
    {{"{}"},
     "m[0].apiVersion: expected a string, got nothing\n"
     "m[0].kind: expected a string, got nothing\n"
     "m[0].metadata.name: expected a string, got nothing"},
    {{"{'apiVersion': '', 'kind': 7, 'metadata': {'name': ''}}"},
     "m[0].apiVersion: expected a string, got an empty one\n"
     "m[0].kind: expected a string, got a number\n"
     "m[0].metadata.name: expected a string, got an empty one"},
    {{"{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'generateName': 'x-'}}"},
     "m[0].metadata.name: a name is required; generateName is not supported, because the object "
     "could not be "
     "found again"},
    {{MAP("a/b"), MAP(".."), MAP("a%2f")},
     "m[0].metadata.name: invalid name \"a/b\"\nm[1].metadata.name: invalid name \"..\"\n"
     "m[2].metadata.name: invalid name \"a%2f\""},
    {{"{'apiVersion': 'v1', 'kind': 'X', 'metadata': {'name': 'x', 'namespace': 3}}"},
     "m[0].metadata.namespace: expected a string, got a number"},
    {{"{'kind': 'List', 'items': [5, {'kind': 'List', 'items': []}]}"},
     "m[0].items[0]: expected an object, got a number\n"
     "m[0].items[1]: an object with items inside a list is not supported; put its items into the "
     "outer list"},
    {{"{'kind': 'List', 'items': {}}"}, "m[0].items: expected a list, got an object"},
    {{"{'kind': 'Cart', 'items': []}"},
     "m[0].items: only lists may have items, and kind Cart does not end in List"},
    {{MAP("x"), "{'kind': 'List', 'items': [" MAP("y") ", " MAP("x") "]}"},
     "m[1].items[1]: ConfigMap a/x is already in m[0]"},
    /* Another version is the same object, another group is not. */
    {{"{'apiVersion': 'g/v1', 'kind': 'X', 'metadata': {'name': 'x'}}",
      "{'apiVersion': 'g/v2', 'kind': 'X', 'metadata': {'name': 'x'}}",
      "{'apiVersion': 'h/v1', 'kind': 'X', 'metadata': {'name': 'x'}}"},
     "m[1]: X x is already in m[0]"},
};

struct planned {
    bool is_done;
    int count;
    struct plan *plan;
    struct error err;
};

static void note_plan(void *data, struct plan *plan, const struct error *err)
{
    struct planned *planned = data;

    planned->is_done = true;
    planned->count++;
    planned->plan = plan;
    planned->err = *err;
    assert_int_equal(plan != NULL, err->kind == ERROR_NONE);
}

static size_t parse_inputs(const char *const *texts, size_t max, struct plan_input *inputs_of)
{
    static const char *const sources[] = {"m[0]", "m[1]", "m[2]", "m[3]", "m[4]", "m[5]"};
    size_t count = 0;

    for (; count < max && texts[count]; count++)
        inputs_of[count] =
            (struct plan_input){.manifest = parse(texts[count]), .source = sources[count]};
    return count;
}

static void free_inputs(struct plan_input *inputs_of, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_decref(doc_writable(inputs_of[i].manifest));
}

static struct planned make_plan(struct api_bench *bench, const struct plan_input *of, size_t count)
{
    struct planned planned = {0};
    struct planning *planning = NULL;
    struct error err = {0};

    assert_int_equal(plan_start(bench->cluster, of, count, note_plan, &planned, &planning, &err),
                     0);
    assert_int_equal(planning == NULL, planned.is_done);
    api_bench_run(bench, &planned.is_done);
    assert_int_equal(planned.count, 1);
    return planned;
}

static void what_is_wrong_is_found_without_a_server(void **state)
{
    struct api_bench *bench = *state;

    for (size_t i = 0; i < array_length(inputs); i++) {
        struct plan_input of[3] = {{0}};
        size_t count = parse_inputs(inputs[i].manifests, 3, of);
        char text[2000] = "";
        size_t found = plan_check(of, count, note_problem, text);

        assert_string_equal(text, inputs[i].problems);
        assert_int_equal(found > 0, text[0] != '\0');
        if (found) {
            struct planned planned = make_plan(bench, of, count);

            assert_int_equal(planned.err.kind, ERROR_INVALID);
            assert_non_null(strstr(planned.err.text, "m["));
        }
        free_inputs(of, count);
    }
    assert_string_equal(api_bench_log(bench), "");
}

static void objects_are_in_the_order_of_their_groups(void **state)
{
    static const char *const texts[] = {
        "{'kind': 'List', 'items': [" MAP("x") ", " ROLE("") "]}",
        BOAT,
        CRD,
        MAP("y"),
        MAP("no"),
        NULL,
    };
    static const struct {
        const char *text, *source, *plural;
        enum plan_group group;
    } wanted[] = {
        {"CustomResourceDefinition boats.x.org", "m[2]", "customresourcedefinitions", PLAN_CRDS},
        {"ClusterRole r", "m[0].items[1]", "clusterroles", PLAN_CLUSTER_SCOPED},
        {"ConfigMap a/x", "m[0].items[0]", "configmaps", PLAN_NAMESPACED},
        {"Boat a/b", "m[1]", "boats", PLAN_NAMESPACED},
        {"ConfigMap a/y", "m[3]", "configmaps", PLAN_NAMESPACED},
    };
    struct api_bench *bench = *state;
    struct plan_input of[5] = {{0}};
    size_t count = parse_inputs(texts, 5, of);
    cleanup_json json_t *annotations = parse("{'k': 'v'}");
    struct planned planned = {0};

    of[0].annotate_before_create = annotations;
    of[0].policy = POLICY_KEEP;
    of[4].policy = POLICY_IGNORE;
    planned = make_plan(bench, of, count);
    free_inputs(of, count);
    assert_int_equal(planned.plan->count, array_length(wanted));
    for (size_t i = 0; i < array_length(wanted); i++) {
        const struct plan_object *object = &planned.plan->objects[i];
        cleanup_free char *text = object_ref_text(&object->ref);

        assert_string_equal(text, wanted[i].text);
        assert_string_equal(object->source, wanted[i].source);
        assert_string_equal(object->kind.plural, wanted[i].plural);
        assert_int_equal(object->group, wanted[i].group);
    }
    assert_int_equal(planned.plan->objects[1].policy, POLICY_KEEP);
    assert_ptr_equal(planned.plan->objects[2].annotate_before_create, annotations);
    assert_null(planned.plan->objects[3].annotate_before_create);
    assert_int_equal(planned.plan->ignored_count, 1);
    assert_string_equal(planned.plan->ignored[0].name, "no");
    plan_free(planned.plan);
    plan_free(NULL);
    assert_string_equal(api_bench_log(bench), "");
}

static void an_empty_plan_is_fine(void **state)
{
    struct planned planned = make_plan(*state, NULL, 0);

    assert_int_equal(planned.plan->count, 0);
    plan_free(planned.plan);
}

static void namespaces_have_to_fit_the_kind(void **state)
{
    static const char *const texts[] = {
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}}",
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'x', 'namespace': ''}}",
        NULL,
    };
    static const char *const dropped[] = {ROLE(", 'namespace': 'a'"), NULL};
    static const char *const twins[] = {ROLE(", 'namespace': 'a'"), ROLE(", 'namespace': 'b'"),
                                        NULL};
    struct api_bench *bench = *state;
    struct plan_input of[2] = {{0}};
    size_t count = parse_inputs(texts, 2, of);
    struct planned planned = make_plan(bench, of, count);

    free_inputs(of, count);
    assert_int_equal(planned.err.kind, ERROR_INVALID);
    assert_string_equal(planned.err.text,
                        "m[0].metadata.namespace: required, because objects of kind ConfigMap "
                        "belong to a namespace; no default is used; m[1].metadata.namespace: "
                        "required, because objects of kind Secret belong to a namespace; no "
                        "default is used");
    count = parse_inputs(dropped, 2, of);
    planned = make_plan(bench, of, count);
    assert_null(planned.plan->objects[0].ref.namespace_name);
    assert_null(doc_get(planned.plan->objects[0].manifest, "metadata.namespace"));
    assert_non_null(doc_get(of[0].manifest, "metadata.namespace"));
    free_inputs(of, count);
    plan_free(planned.plan);
    count = parse_inputs(twins, 2, of);
    planned = make_plan(bench, of, count);
    free_inputs(of, count);
    assert_int_equal(planned.err.kind, ERROR_INVALID);
    assert_string_equal(planned.err.text, "m[1]: ClusterRole r is already in m[0]");
}

static void unknown_kinds_are_named_together(void **state)
{
    static const char *const texts[] = {
        BOAT, "{'apiVersion': 'y.org/v1', 'kind': 'Car', 'metadata': {'name': 'c'}}", MAP("x"),
        NULL};
    static const char *const odd[] = {
        "{'apiVersion': 'a/b/c', 'kind': 'Car', 'metadata': {'name': 'c'}}", BOAT, NULL};
    struct api_bench *bench = *state;
    struct plan_input of[3] = {{0}};
    size_t count = parse_inputs(texts, 3, of);
    struct planned planned = {0};

    (void)json_object_set_new(bench->objects, "/apis",
                              parse("{'kind': 'APIGroupDiscoveryList', 'items': []}"));
    planned = make_plan(bench, of, count);
    free_inputs(of, count);
    assert_int_equal(planned.err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(planned.err.text, "m[0]: the cluster has no kind Boat in x.org/v1"));
    assert_non_null(strstr(planned.err.text, "; m[1]: the cluster has no kind Car in y.org/v1"));
    /* What can never work is more important. */
    count = parse_inputs(odd, 3, of);
    planned = make_plan(bench, of, count);
    free_inputs(of, count);
    assert_int_equal(planned.err.kind, ERROR_INVALID);
    assert_non_null(strstr(planned.err.text, "m[0]: apiVersion \"a/b/c\": invalid API version"));
    assert_null(strstr(planned.err.text, "Boat"));
}

static void an_error_of_discovery_ends_it(void **state)
{
    static const char *const texts[] = {BOAT, MAP("x"), NULL};
    struct api_bench *bench = *state;
    struct plan_input of[2] = {{0}};
    size_t count = parse_inputs(texts, 2, of);
    struct planned planned = {0};

    (void)api_bench_rule(bench, "GET /apis", 1, "401 Unauthorized", "who?");
    planned = make_plan(bench, of, count);
    free_inputs(of, count);
    assert_int_equal(planned.err.kind, ERROR_DENIED);
    assert_int_equal(planned.err.http_status, 401);
}

static void it_can_be_cancelled(void **state)
{
    static const char *const texts[] = {BOAT, NULL};
    struct api_bench *bench = *state;
    struct plan_input of[2] = {{0}};
    size_t count = parse_inputs(texts, 2, of);
    struct planned planned = {0};
    struct planning *planning = NULL;
    struct error err = {0};

    assert_int_equal(plan_start(bench->cluster, of, count, note_plan, &planned, &planning, &err),
                     0);
    free_inputs(of, count);
    assert_non_null(planning);
    planning_cancel(planning);
    planning_cancel(NULL);
    api_bench_run_idle(bench);
    assert_int_equal(planned.count, 0);
}

static void many_problems_fit_into_one_error(void **state)
{
    cleanup_json json_t *list = parse("{'kind': 'List', 'items': []}");
    cleanup_json json_t *huge = parse(MAP("x"));
    struct plan_input of = {.manifest = list, .source = "m[0]"};
    struct planned planned = {0};
    char name[3000];

    for (int i = 0; i < 100; i++)
        (void)json_array_append_new(json_object_get(list, "items"), json_integer(i));
    planned = make_plan(*state, &of, 1);
    assert_int_equal(planned.err.kind, ERROR_INVALID);
    assert_non_null(strstr(planned.err.text, "m[0].items[0]: expected an object, got a number; m"));
    assert_non_null(strstr(planned.err.text, " more"));
    memset(name, '/', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    doc_set_text(huge, "metadata.name", name);
    of.manifest = huge;
    planned = make_plan(*state, &of, 1);
    assert_memory_equal(planned.err.text, "m[0].metadata.name: invalid name '//", 30);
}

static void the_number_of_objects_is_limited(void **state)
{
    cleanup_json json_t *list = parse("{'kind': 'List', 'items': []}");
    struct plan_input of = {.manifest = list, .source = "m"};
    char text[2000] = "";

    (void)state;
    for (int i = 0; i <= PLAN_OBJECTS_MAX; i++) {
        cleanup_free char *name = xasprintf("n%d", i);
        json_t *map = parse(MAP("x"));

        doc_set_text(map, "metadata.name", name);
        (void)json_array_append_new(json_object_get(list, "items"), map);
    }
    assert_int_equal(plan_check(&of, 1, note_problem, text), 1);
    assert_string_equal(text, "m.items[10000]: more than 10000 objects");
}

static void the_plan_is_recorded_before_it_is_applied(void **state)
{
    static const char *const texts[] = {
        CRD,
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', 'namespace': 'a', "
        "'finalizers': ['f/1'], 'ownerReferences': [{'uid': 'o'}]}}",
        MAP("known"),
        MAP("ignored"),
        NULL,
    };
    struct plan_input of[4] = {{0}};
    size_t count = parse_inputs(texts, 4, of);
    cleanup_json json_t *patch = parse("{'data': {'a': 'b'}}");
    cleanup_inventory struct inventory before = {0};
    cleanup_inventory struct inventory recorded = {0};
    struct planned planned = {0};
    const struct inventory_entry *entry = NULL;
    struct object_ref ref = {.api_version = (char[]){"v1"},
                             .kind = (char[]){"ConfigMap"},
                             .namespace_name = (char[]){"a"},
                             .name = (char[]){"known"},
                             .uid = (char[]){"u1"}};

    (void)inventory_add(&before, (struct inventory_entry){.ref = object_ref_copy(&ref)});
    ref.name = (char[]){"ignored"};
    ref.uid = (char[]){"u2"};
    (void)inventory_add(&before, (struct inventory_entry){.ref = object_ref_copy(&ref)});
    ref.name = (char[]){"left"};
    ref.uid = (char[]){"u3"};
    (void)inventory_add(&before, (struct inventory_entry){.ref = object_ref_copy(&ref)});
    of[1].policy = POLICY_KEEP;
    of[1].patch_before_delete = patch;
    of[1].annotate_before_delete = patch;
    of[3].policy = POLICY_IGNORE;
    planned = make_plan(*state, of, count);
    free_inputs(of, count);
    recorded = plan_record(planned.plan, &before);
    assert_int_equal(recorded.count, 4);
    entry = inventory_find(&recorded, &planned.plan->objects[0].ref);
    assert_true(entry->is_crd);
    assert_null(entry->ref.uid);
    entry = inventory_find(&recorded, &planned.plan->objects[1].ref);
    assert_true(entry->is_namespaced && !entry->is_crd);
    assert_int_equal(entry->policy, POLICY_KEEP);
    assert_ptr_equal(entry->patch_before_delete, patch);
    assert_ptr_equal(entry->annotate_before_delete, patch);
    assert_int_equal(json_array_size(entry->own_finalizers), 1);
    assert_int_equal(json_array_size(entry->own_owners), 1);
    entry = inventory_find(&recorded, &planned.plan->objects[2].ref);
    assert_string_equal(entry->ref.uid, "u1");
    assert_non_null(inventory_find(&recorded, &ref));
    assert_null(inventory_find(&recorded, &planned.plan->ignored[0]));
    plan_free(planned.plan);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(what_is_wrong_is_found_without_a_server),
        test(objects_are_in_the_order_of_their_groups),
        test(an_empty_plan_is_fine),
        test(namespaces_have_to_fit_the_kind),
        test(unknown_kinds_are_named_together),
        test(an_error_of_discovery_ends_it),
        test(it_can_be_cancelled),
        test(many_problems_fit_into_one_error),
        test(the_number_of_objects_is_limited),
        test(the_plan_is_recorded_before_it_is_applied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
