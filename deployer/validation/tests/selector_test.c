/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"
#include "deployer/validation/selector.h"

/* The target: name t, namespace ns, label env=prod, size=10, empty="", annotation who=me. */
static const struct {
    const char *selector;
    bool is_match;
} cases[] = {
    {"[]", true},
    {"null", true},
    {"[{}]", true},
    {"[{targets: [{name: t, namespace: ns}]}]", true},
    {"[{targets: [{name: t}]}]", true},
    {"[{targets: [{name: t, namespace: other}]}]", false},
    {"[{targets: [{name: other}]}]", false},
    {"[{targets: [{name: other}, {name: t}]}]", true},
    {"[{targets: []}]", true},
    {"[{annotations: [{key: who, operator: '=', values: [me]}]}]", true},
    {"[{annotations: [{key: who, operator: '==', values: [me]}]}]", true},
    {"[{annotations: [{key: who, operator: '=', values: [you]}]}]", false},
    {"[{annotations: [{key: nope, operator: '!'}]}]", true},
    {"[{annotations: [{key: who, operator: '!'}]}]", false},
    {"[{annotations: [{key: who, operator: exists}, {key: nope, operator: exists}]}]", false},
    {"[{labels: [{key: env, operator: exists}]}]", true},
    {"[{labels: [{key: empty, operator: exists}]}]", true},
    {"[{labels: [{key: empty, operator: '=', values: ['']}]}]", true},
    {"[{labels: [{key: env, operator: '!=', values: [prod]}]}]", false},
    {"[{labels: [{key: env, operator: '!=', values: [dev]}]}]", true},
    {"[{labels: [{key: nope, operator: '!=', values: [dev]}]}]", true},
    {"[{labels: [{key: env, operator: in, values: [dev, prod]}]}]", true},
    {"[{labels: [{key: env, operator: in, values: [dev]}]}]", false},
    {"[{labels: [{key: nope, operator: in, values: [dev]}]}]", false},
    {"[{labels: [{key: env, operator: notin, values: [dev]}]}]", true},
    {"[{labels: [{key: env, operator: notin, values: [dev, prod]}]}]", false},
    {"[{labels: [{key: nope, operator: notin, values: [dev]}]}]", true},
    {"[{labels: [{key: size, operator: gt, values: ['9']}]}]", true},
    {"[{labels: [{key: size, operator: gt, values: ['10']}]}]", false},
    {"[{labels: [{key: size, operator: lt, values: ['11']}]}]", true},
    {"[{labels: [{key: env, operator: gt, values: ['1']}]}]", false},
    {"[{labels: [{key: nope, operator: lt, values: ['1']}]}]", false},
    /* Groups are AND-ed, elements OR-ed. */
    {"[{targets: [{name: t}], labels: [{key: env, operator: '=', values: [dev]}]}]", false},
    {"[{targets: [{name: x}]}, {labels: [{key: env, operator: '=', values: [prod]}]}]", true},
    {"{labels: [{key: env, operator: '=', values: [prod]}]}", true},
    {"{labels: [{key: env, operator: '=', values: [dev]}]}", false},
};

static const char target_yaml[] =
    "{metadata: {name: t, namespace: ns, labels: {env: prod, size: '10', empty: ''}, annotations: "
    "{who: me}}}";

static void targets_match_by_name_label_and_annotation(void **state)
{
    cleanup_json json_t *target = sample_doc(target_yaml);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *doc = sample_doc(cases[i].selector);
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_selector struct selector *selector = selector_parse(doc, "s", &mistakes);

        assert_int_equal(mistakes.count, 0);
        if (selector_matches(selector, target) != cases[i].is_match)
            fail_msg("%s", cases[i].selector);
        assert_true(selector_matches(selector, NULL));
    }
}

static const struct {
    const char *selector, *expected;
} wrong[] = {
    {"5", "s: expected an object, got a number"},
    {"[5]", "s[0]: expected an object, got a number"},
    {"[{targets: x}]", "s[0].targets: expected a list, got a string"},
    {"[{targets: [x]}]", "s[0].targets[0]: expected an object, got a string"},
    {"[{targets: [{}]}]", "s[0].targets[0].name: Required value: name of a target"},
    {"[{labels: {a: b}}]", "s[0].labels: expected a list, got an object"},
    {"[{labels: [x]}]", "s[0].labels[0]: expected an object, got a string"},
    {"[{labels: [{operator: exists}]}]",
     "s[0].labels[0].key: Required value: key of the label or annotation"},
    {"[{labels: [{key: a b, operator: exists}]}]",
     "s[0].labels[0].key: Invalid value: \"a b\": must be a valid label key"},
    {"[{labels: [{key: a, operator: In, values: [b]}]}]",
     "s[0].labels[0].operator: Invalid value: \"In\": must be =, ==, !=, in, notin, exists, !, gt "
     "or lt; did you mean \"in\"?"},
    {"[{labels: [{key: a, operator: '='}]}]",
     "s[0].labels[0].operator: Invalid value: \"=\": needs "
     "exactly one in 'values', got 0"},
    {"[{labels: [{key: a, operator: in, values: []}]}]",
     "s[0].labels[0].operator: Invalid value: \"in\": needs at least one in 'values', got 0"},
    {"[{labels: [{key: a, operator: exists, values: [b]}]}]",
     "s[0].labels[0].operator: Invalid value: \"exists\": needs nothing in 'values', got 1"},
    {"[{labels: [{key: a, operator: gt, values: [b]}]}]",
     "s[0].labels[0].values[0]: Invalid value: \"b\": must be an integer"},
    {"[{annotations: [{key: a, operator: '=', values: ['b c']}]}]",
     "s[0].annotations[0].values[0]: Invalid value: \"b c\": must be a valid label value"},
    {"[{labels: [{key: a, operator: exists, values: 5}]}]",
     "s[0].labels[0].values: expected a list of strings, got a number"},
    {"[{labels: [{key: a, operator: '=', values: [1]}]}]",
     "[s[0].labels[0].values[0]: expected a string, got a number, s[0].labels[0].operator: Invalid "
     "value: \"=\": needs exactly one in 'values', got 0]"},
};

static void an_invalid_selector_is_reported_and_matches_nothing(void **state)
{
    cleanup_json json_t *target = sample_doc(target_yaml);

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_json json_t *doc = sample_doc(wrong[i].selector);
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_selector struct selector *selector = selector_parse(doc, "s", &mistakes);
        cleanup_free char *text = mistakes_text(&mistakes);

        assert_string_equal(text, wrong[i].expected);
        if (selector_matches(selector, target))
            fail_msg("%s matches", wrong[i].selector);
    }
}

static void only_a_selector_without_elements_is_empty(void **state)
{
    static const struct {
        const char *selector;
        bool is_empty;
    } forms[] = {
        {"null", true}, {"[]", true}, {"[{}]", false}, {"{}", false}, {"{labels: []}", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(forms); i++) {
        cleanup_json json_t *doc = sample_doc(forms[i].selector);
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_selector struct selector *selector = selector_parse(doc, "s", &mistakes);

        if (selector_is_empty(selector) != forms[i].is_empty)
            fail_msg("%s", forms[i].selector);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_match_by_name_label_and_annotation),
        cmocka_unit_test(only_a_selector_without_elements_is_empty),
        cmocka_unit_test(an_invalid_selector_is_reported_and_matches_nothing),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
