/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/item/bundle.h"
#include "deployer/tests/sample.h"

static void objects_are_found_by_kind_namespace_and_name(void **state)
{
    static const char text[] =
        "kind: DeployItem\nmetadata: {name: a, namespace: one}\n---\n"
        "---\n"
        "kind: Target\nmetadata: {name: t}\n---\n"
        "{\"kind\": \"List\", \"items\": [{\"kind\": \"Secret\", \"metadata\": {\"name\": \"s\", "
        "\"namespace\": \"one\"}}, {\"kind\": \"DeployItem\", \"metadata\": {\"name\": \"b\"}}]}\n";
    cleanup_bundle struct bundle bundle = {0};
    struct error err = {0};

    (void)state;
    bundle_init(&bundle);
    assert_int_equal(bundle_add_text(&bundle, "x", text, strlen(text), &err), 0);
    assert_int_equal(json_array_size(bundle.objects), 4);
    assert_non_null(bundle_find(&bundle, "Target", "any", "t"));
    assert_non_null(bundle_find(&bundle, "Secret", "one", "s"));
    assert_null(bundle_find(&bundle, "Secret", "two", "s"));
    assert_non_null(bundle_find(&bundle, "Secret", NULL, NULL));
    assert_string_equal(doc_text(bundle_at(&bundle, "DeployItem", 1), "metadata.name"), "b");
    assert_null(bundle_at(&bundle, "DeployItem", 2));
    assert_null(bundle_at(&bundle, "Context", 0));
}

static void string_data_becomes_data(void **state)
{
    static const char text[] =
        "kind: Secret\nmetadata: {name: s}\ndata: {a: b2xk, b: Yg==}\nstringData: {a: new}\n";
    cleanup_bundle struct bundle bundle = {0};
    struct error err = {0};
    const json_t *secret = NULL;

    (void)state;
    bundle_init(&bundle);
    assert_int_equal(bundle_add_text(&bundle, "x", text, strlen(text), &err), 0);
    secret = bundle_find(&bundle, "Secret", NULL, "s");
    assert_string_equal(doc_text(secret, "data.a"), "bmV3");
    assert_string_equal(doc_text(secret, "data.b"), "Yg==");
    assert_null(doc_member(secret, "stringData"));
}

static const struct {
    const char *text, *error;
} wrong[] = {
    {"5\n", "\"x\", document 1: expected an object"},
    {"kind: A\n---\nname: b\n", "\"x\", document 2: kind is missing"},
    {"kind: List\nitems: [{kind: List, items: []}]\n",
     "\"x\", document 1: items[0]: a List must not contain a List"},
    {"kind: List\nitems: [5]\n", "\"x\", document 1: items[0]: expected an object"},
    {"kind: Secret\nmetadata: {name: s}\nstringData: {a: 5}\n",
     "\"x\", document 1: secret \"s\": stringData.a: expected a string"},
};

static void invalid_objects_are_reported_with_file_and_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_bundle struct bundle bundle = {0};
        struct error err = {0};

        bundle_init(&bundle);
        assert_int_equal(bundle_add_text(&bundle, "x", wrong[i].text, strlen(wrong[i].text), &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(err.text, wrong[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_found_by_kind_namespace_and_name),
        cmocka_unit_test(string_data_becomes_data),
        cmocka_unit_test(invalid_objects_are_reported_with_file_and_number),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
