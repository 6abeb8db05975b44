/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/managed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

#include "e2e/fleet/tests/support.h"

#define DEFINITION                                                                                 \
    "{'group': 'g', 'names': {'plural': 'boats', 'kind': 'Boat'}, 'versions': [{'name': 'v1', "    \
    "'served': true, 'storage': true, 'schema': {'openAPIV3Schema': {'properties': {'spec': "      \
    "{'properties': {'name': {'type': 'string'}, 'list': {'type': 'array'}, 'tags': "              \
    "{'x-kubernetes-list-type': 'set'}, 'crew': {'x-kubernetes-list-type': 'map', "                \
    "'x-kubernetes-list-map-keys': ['name'], 'items': {'properties': {'name': {}, 'role': {}, "    \
    "'age': {}}}}, 'whole': {'x-kubernetes-map-type': 'atomic'}}}}}}}]}"

struct boats {
    struct resources *resources;
    struct shape shape;
};

static struct boats make_boats(void)
{
    struct boats boats = {.resources = resources_new()};
    cleanup_json json_t *definition = parse(DEFINITION);
    const struct resource *resource = resources_custom(boats.resources, definition);

    boats.shape = shape_root(resource, &resource->versions[0]);
    return boats;
}

static struct managed_by by(const char *manager)
{
    return (struct managed_by){
        .manager = manager, .api_version = "g/v1", .subresource = "", .now_s = 1700000000};
}

/* Applies a spec; returns the object, or NULL if there were conflicts. Releases live. */
static json_t *apply(const struct boats *boats, json_t *live, const char *manager, const char *spec,
                     bool is_forced, size_t *ret_conflicts)
{
    cleanup_conflicts struct managed_conflicts conflicts = {0};
    cleanup_json json_t *config =
        json_pack("{s:{s:s}, s:o}", "metadata", "name", "b", "spec", parse(spec));
    struct managed_by writer = by(manager);
    json_t *result = managed_apply(&boats->shape, live, config, &writer, is_forced, &conflicts);

    *ret_conflicts = conflicts.count;
    if (result)
        json_decref(live);
    return result;
}

static void check_spec(const json_t *object, const char *expected)
{
    cleanup_json json_t *wanted = parse(expected);
    cleanup_free char *left = doc_dump_sorted(doc_member(object, "spec"));
    cleanup_free char *right = doc_dump_sorted(wanted);

    assert_string_equal(left, right);
}

static const char *owner_at(const json_t *object, size_t index)
{
    const json_t *entries = doc_get(object, "metadata.managedFields");

    return doc_text_or(json_array_get(entries, index), "manager", "");
}

static const struct {
    const char *what;
    const char *first, *second, *third; /* applied by a, b, a; second or third may be NULL */
    const char *expected;               /* NULL: the last apply conflicts */
} rows[] = {
    {"a field that left the configuration is removed", "{'name': 'x', 'list': [1]}", NULL,
     "{'list': [1]}", "{'list': [1]}"},
    {"a field of somebody else stays", "{'name': 'x'}", "{'list': [1]}", "{'name': 'y'}",
     "{'name': 'y', 'list': [1]}"},
    {"a shared field stays while one owner is left", "{'name': 'x', 'list': [1]}", "{'name': 'x'}",
     "{'list': [1]}", "{'name': 'x', 'list': [1]}"},
    {"another value conflicts", "{'name': 'x'}", "{'name': 'y'}", NULL, NULL},
    {"a list without type is replaced as a whole", "{'list': [1]}", "{'list': [2]}", NULL, NULL},
    {"items of a set are owned one by one", "{'tags': ['a', 'b']}", "{'tags': ['c']}",
     "{'tags': ['a']}", "{'tags': ['a', 'c']}"},
    {"items are merged by key", "{'crew': [{'name': 'x', 'role': 'cook'}]}",
     "{'crew': [{'name': 'y'}]}", "{'crew': [{'name': 'x', 'role': 'mate'}]}",
     "{'crew': [{'name': 'x', 'role': 'mate'}, {'name': 'y'}]}"},
    {"an item that somebody else uses loses only our fields",
     "{'crew': [{'name': 'x', 'role': 'cook'}]}", "{'crew': [{'name': 'x', 'age': 3}]}",
     "{'name': 'n'}", "{'name': 'n', 'crew': [{'name': 'x', 'age': 3}]}"},
    {"an atomic object conflicts as a whole", "{'whole': {'a': 1}}", "{'whole': {'a': 1, 'b': 2}}",
     NULL, NULL},
};

static void applies_merge_and_prune(void **state)
{
    struct boats boats = make_boats();

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        size_t conflicts = 0;
        json_t *object = apply(&boats, NULL, "a", rows[i].first, false, &conflicts);
        json_t *next = object;

        if (rows[i].second)
            next = apply(&boats, object, "b", rows[i].second, false, &conflicts);
        if (next && rows[i].third)
            next = apply(&boats, next, "a", rows[i].third, false, &conflicts);
        if (!rows[i].expected) {
            if (next || conflicts != 1)
                fail_msg("%s: %zu conflicts", rows[i].what, conflicts);
            json_decref(object);
            continue;
        }
        print_message("%s\n", rows[i].what);
        check_spec(next, rows[i].expected);
        json_decref(next);
    }
    resources_free(boats.resources);
}

static void force_takes_a_field_over(void **state)
{
    struct boats boats = make_boats();
    size_t conflicts = 0;
    json_t *object = apply(&boats, NULL, "a", "{'name': 'x'}", false, &conflicts);

    (void)state;
    object = apply(&boats, object, "b", "{'name': 'y'}", true, &conflicts);
    check_spec(object, "{'name': 'y'}");
    assert_int_equal(json_array_size(doc_get(object, "metadata.managedFields")), 1);
    assert_string_equal(owner_at(object, 0), "b");
    json_decref(object);
    resources_free(boats.resources);
}

static void an_update_takes_what_it_changes(void **state)
{
    struct boats boats = make_boats();
    size_t conflicts = 0;
    json_t *before = apply(&boats, NULL, "a", "{'name': 'x', 'list': [1]}", false, &conflicts);
    json_t *after = json_deep_copy(before);
    struct managed_by writer = by("user");

    (void)state;
    doc_set_text(after, "spec.name", "y");
    managed_update(&boats.shape, before, after, &writer);
    assert_int_equal(json_array_size(doc_get(after, "metadata.managedFields")), 2);
    assert_string_equal(owner_at(after, 1), "user");
    json_decref(before);
    before = json_deep_copy(after);
    managed_update(&boats.shape, before, after, &writer); /* nothing changed */
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    resources_free(boats.resources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applies_merge_and_prune),
        cmocka_unit_test(force_takes_a_field_over),
        cmocka_unit_test(an_update_takes_what_it_changes),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
