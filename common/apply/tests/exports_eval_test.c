/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/exports_eval.h"
#include "common/apply/tests/exports_parse.h"

#define CANARY "s3cret-canary"

static void must_not_leak(const char *text)
{
    if (strstr(text, CANARY))
        fail_msg("a value is in the message: %s", text);
}

static void keys_are_names_separated_by_dots(void **state)
{
    static const struct {
        const char *key;
        bool is_valid;
    } cases[] = {
        {"a", true},
        {"a.b.c", true},
        {".a", true},
        {"a\\.b", true},
        {"a\\", true},
        {"", false},
        {".", false},
        {"a.", false},
        {"a\xff", false},
        {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24.25.26.27.28.29.30.31.32",
         true},
        {"1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24.25.26.27.28.29.30.31.32."
         "33",
         false},
        {"a..b", false},
        {"..a", false},
        {"a.b.", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};

        if (export_key_check(cases[i].key, &err) != (cases[i].is_valid ? 0 : -1))
            fail_msg("%s", cases[i].key);
        assert_int_equal(err.kind, cases[i].is_valid ? ERROR_NONE : ERROR_INVALID);
    }
}

static void values_go_below_their_keys_and_later_ones_win(void **state)
{
    static const struct {
        const char *keys[3], *values[3], *expected;
    } cases[] = {
        {{"a"}, {"1"}, "{'a': 1}"},
        {{".a"}, {"1"}, "{'a': 1}"},
        {{"a"}, {"null"}, "{'a': null}"},
        {{"a.b.c"}, {"[1]"}, "{'a': {'b': {'c': [1]}}}"},
        {{"a\\.b.c"}, {"1"}, "{'a.b': {'c': 1}}"},
        {{"a.b", "a.c"}, {"1", "2"}, "{'a': {'b': 1, 'c': 2}}"},
        {{"a", "a.c"}, {"{'b': 1}", "2"}, "{'a': {'b': 1, 'c': 2}}"},
        {{"a.c", "a"}, {"2", "{'b': 1}"}, "{'a': {'b': 1, 'c': 2}}"},
        {{"a", "a"}, {"1", "2"}, "{'a': 2}"},
        {{"a", "a.b"}, {"1", "2"}, "{'a': {'b': 2}}"},
        {{"a.b", "a"}, {"2", "1"}, "{'a': 1}"},
        {{"a", "a"}, {"{'x': {'y': 1}}", "{'x': {'z': 2}}"}, "{'a': {'x': {'y': 1, 'z': 2}}}"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *values = json_object();
        cleanup_json json_t *expected = parse(cases[i].expected);

        for (size_t j = 0; j < array_length(cases[i].keys) && cases[i].keys[j]; j++) {
            cleanup_json json_t *value = parse(cases[i].values[j]);

            export_place(values, cases[i].keys[j], value);
        }
        if (!json_equal(values, expected))
            fail_msg("case %zu", i);
    }
}

static void an_export_is_exactly_one_value(void **state)
{
    static const struct {
        const char *path, *object, *value, *error; /* start of the error */
    } cases[] = {
        {".a", "{'a': {'b': [1]}}", "{'b': [1]}", NULL},
        {".a", "{'a': null}", "null", NULL},
        {".a[*]", "{'a': [1]}", "1", NULL},
        {".a", "{}", NULL, ".a: "},
        {".a[?(@.t=='x')]", "{'a': [{'t': '" CANARY "'}]}", NULL, ".a[?(@.t=='x')]: "},
        {".a[0]", "{'a': []}", NULL, ".a[0]: "},
        {".a[?(@.t=='x')]", "{'a': '" CANARY "'}", NULL, ".a[?(@.t=='x')]: "},
        {".a[*]", "{'a': ['" CANARY "', 2]}", NULL,
         ".a[*]: found 2 values, but an export is one: use an index or a narrower filter"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_jsonpath struct jsonpath *path = parse_path(cases[i].path);
        cleanup_json json_t *object = parse(cases[i].object);
        cleanup_json json_t *value = NULL;
        cleanup_json json_t *expected = cases[i].value ? parse(cases[i].value) : NULL;
        struct error err = {0};
        int result = export_find(path, cases[i].path, object, &value, &err);

        assert_int_equal(result, cases[i].error ? -1 : 0);
        if (cases[i].error)
            assert_int_equal(strncmp(err.text, cases[i].error, strlen(cases[i].error)), 0);
        else
            assert_true(json_equal(value, expected));
        must_not_leak(err.text);
        if (result < 0) /* without its text */
            assert_int_equal(export_find(path, NULL, object, &value, &err), -1);
    }
}

static void a_reference_has_a_name_and_perhaps_a_namespace(void **state)
{
    static const struct {
        const char *from, *value, *expected, *error;
    } cases[] = {
        {"v1 ConfigMap ns/a", "{'name': 'x'}", "Secret ns/x", NULL},
        {"v1 ConfigMap ns/a", "{'name': 'x', 'namespace': 'other'}", "Secret other/x", NULL},
        {"v1 ConfigMap ns/a", "{'name': 'x', 'namespace': ''}", "Secret x", NULL},
        {"v1 ConfigMap ns/a", "{'name': 'x', 'namespace': null}", "Secret ns/x", NULL},
        {"v1 Namespace a", "{'name': 'x', 'more': 1}", "Secret x", NULL},
        {"v1 ConfigMap ns/a", "'" CANARY "'", NULL,
         ".a: expected an object with name and namespace, got a string"},
        {"v1 ConfigMap ns/a", "['" CANARY "']", NULL,
         ".a: expected an object with name and namespace, got a list"},
        {"v1 ConfigMap ns/a", "{'value': '" CANARY "'}", NULL, ".a: name: "},
        {"v1 ConfigMap ns/a", "{'name': ['" CANARY "']}", NULL,
         ".a: name: expected a string, got a list"},
        {"v1 ConfigMap ns/a", "{'name': 'x', 'namespace': ['" CANARY "']}", NULL,
         ".a: namespace: expected a string, got a list"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *doc = parse("{'ref': 'v1 Secret'}");
        cleanup_json json_t *boxed = NULL;
        cleanup_free char *box = xasprintf("[%s]", cases[i].value);
        struct object_ref ref = {0};
        struct export_rule rule;
        struct error err = {0};

        doc_set_text(doc, "from", cases[i].from);
        rule = parse_export(doc);
        boxed = parse(box);
        if (export_parse_reference(&rule, json_array_get(boxed, 0), &ref, &err) < 0) {
            assert_non_null(cases[i].error);
            assert_int_equal(strncmp(err.text, cases[i].error, strlen(cases[i].error)), 0);
        } else {
            cleanup_free char *text = object_ref_text(&ref);

            assert_string_equal(text, cases[i].expected);
            assert_string_equal(ref.api_version, "v1");
        }
        must_not_leak(err.text);
        object_ref_done(&ref);
        export_rule_done(&rule);
    }
}

static void references_in_secrets_and_odd_names_are_not_shown(void **state)
{
    static const struct {
        const char *from, *namespace_name, *name;
        bool is_public;
    } cases[] = {
        {"v1 ConfigMap ns/a", "ns", "x", true},         {"v1 ConfigMap ns/a", NULL, "x.y", true},
        {"v1 Secret ns/a", "ns", "x", false},           {"v1 ConfigMap ns/a", "ns", "UmVk=", false},
        {"v1 ConfigMap ns/a", "two words", "x", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct export_rule rule = {.from = parse_ref(cases[i].from)};
        struct object_ref reference = {.namespace_name = xstrdup_or_null(cases[i].namespace_name),
                                       .name = xstrdup(cases[i].name)};

        assert_int_equal(export_is_public(&rule, &reference), cases[i].is_public);
        object_ref_done(&reference);
        export_rule_done(&rule);
    }
}

static void only_objects_without_a_status_are_taken_from_the_last_write(void **state)
{
    static const struct {
        const char *ref;
        int expected; /* -1: none */
    } cases[] = {
        {"v1 ConfigMap ns/a", 1},     {"v1 ConfigMap ns/b", 2},
        {"v1 ConfigMap ns/with", -1}, {"v1 ConfigMap other/a", -1},
        {"v2 ConfigMap ns/a", -1},    {"v1 Secret ns/a", -1},
        {"v1 ConfigMap ns/z", -1},    {"example.org/v1 ConfigMap ns/a", -1},
    };
    json_t *seen[] = {
        NULL,
        parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', 'name': "
              "'a'}}"),
        parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', 'name': "
              "'b'}, 'status': {}}"),
        parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', 'name': "
              "'with'}, 'status': {'x': 1}}"),
    };
    const struct exports_options options = {.seen = seen, .seen_count = array_length(seen)};
    const struct exports_options none = {.seen_count = array_length(seen)};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct object_ref ref = parse_ref(cases[i].ref);

        if (export_find_seen(&options, &ref) !=
            (cases[i].expected < 0 ? NULL : seen[cases[i].expected]))
            fail_msg("%s", cases[i].ref);
        assert_null(export_find_seen(&none, &ref));
        object_ref_done(&ref);
    }
    for (size_t i = 0; i < array_length(seen); i++)
        json_decref(seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_names_separated_by_dots),
        cmocka_unit_test(values_go_below_their_keys_and_later_ones_win),
        cmocka_unit_test(an_export_is_exactly_one_value),
        cmocka_unit_test(a_reference_has_a_name_and_perhaps_a_namespace),
        cmocka_unit_test(references_in_secrets_and_odd_names_are_not_shown),
        cmocka_unit_test(only_objects_without_a_status_are_taken_from_the_last_write),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
