/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/managers.h"
#include "common/apply/tests/parse.h"

#define OBJECT(entries_)                                                                           \
    "{'apiVersion': 'v1', 'metadata': {'resourceVersion': '7', 'managedFields': [" entries_ "]}}"
#define ENTRY(manager_, operation_, version_, fields_)                                             \
    "{'manager': '" manager_ "', 'operation': '" operation_ "', 'apiVersion': '" version_          \
    "', 'fieldsV1': " fields_ "}"
#define APPLIED ENTRY("me", "Apply", "v1", "{'f:data': {'f:a': {}}}")
#define OTHERS ENTRY("kubectl", "Update", "v1", "{'f:data': {'f:z': {}}}")
#define STATUS                                                                                     \
    "{'manager': 'me', 'operation': 'Update', 'apiVersion': 'v1', 'subresource': 'status', "       \
    "'fieldsV1': {'f:status': {}}}"

static const char *const FORMER[] = {"old-name", "older-name", NULL};

static const struct {
    const char *object;
    const char *const *former;
    const char *entries; /* afterwards; NULL: nothing to do */
} cases[] = {
    {"{}", FORMER, NULL},
    {OBJECT(""), FORMER, NULL},
    {OBJECT(APPLIED), FORMER, NULL},
    {OBJECT(APPLIED "," OTHERS "," STATUS), FORMER, NULL},
    /* Of another version. */
    {OBJECT(APPLIED "," ENTRY("me", "Update", "v2", "{'f:data': {}}")), FORMER, NULL},
    {OBJECT(APPLIED "," ENTRY("old-name", "Update", "v1", "{'f:data': {}}")), NULL, NULL},
    /* Never applied: the next apply makes the entry. */
    {OBJECT(ENTRY("me", "Update", "v1", "{'f:data': {}}")), FORMER, NULL},
    {OBJECT(OTHERS "," ENTRY("me", "Update", "v1",
                             "{'f:data': {'f:a': {}, 'f:b': {}}, 'f:x': {}}") "," APPLIED),
     NULL,
     "[" OTHERS
     "," ENTRY("me", "Apply", "v1", "{'f:data': {'f:a': {}, 'f:b': {}}, 'f:x': {}}") "]"},
    {OBJECT(ENTRY("old-name", "Update", "v1", "{'f:data': {'f:o': {}}}") "," APPLIED "," ENTRY(
         "older-name", "Update", "v1", "{'f:spec': {}}") "," STATUS),
     FORMER,
     "[" ENTRY("me", "Apply", "v1", "{'f:data': {'f:a': {}, 'f:o': {}}, 'f:spec': {}}") "," STATUS
                                                                                        "]"},
};

static void what_former_managers_wrote_becomes_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = parse(cases[i].object);
        cleanup_json json_t *patch = managers_take_over(object, "me", cases[i].former);
        cleanup_json json_t *entries = cases[i].entries ? parse(cases[i].entries) : NULL;

        if (!entries) {
            assert_null(patch);
            continue;
        }
        assert_non_null(patch);
        assert_int_equal(json_array_size(patch), 2);
        assert_string_equal(doc_text(json_array_get(patch, 0), "path"), "/metadata/managedFields");
        assert_true(json_equal(json_object_get(json_array_get(patch, 0), "value"), entries));
        assert_string_equal(doc_text(json_array_get(patch, 1), "path"),
                            "/metadata/resourceVersion");
        assert_string_equal(doc_text(json_array_get(patch, 1), "value"), "7");
    }
}

static void the_sole_manager_has_created_it(void **state)
{
    static const struct {
        const char *object;
        bool is_sole;
    } soles[] = {
        {OBJECT(APPLIED), true},
        {OBJECT(""), false},
        {OBJECT(APPLIED "," OTHERS), false},
        {OBJECT(OTHERS), false},
        {OBJECT(ENTRY("me", "Update", "v1", "{}")), false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(soles); i++) {
        cleanup_json json_t *object = parse(soles[i].object);

        assert_int_equal(managers_is_sole(object, "me"), soles[i].is_sole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_former_managers_wrote_becomes_ours),
        cmocka_unit_test(the_sole_manager_has_created_it),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
