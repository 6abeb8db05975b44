/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/component/component_name.h"
#include "common/component/typed.h"
#include "common/data/doc.h"

static const struct {
    const char *text;
    bool is_valid;
} component_names[] = {
    {"example.com/a", true},
    {"a-1.b.example.com/x/y_z/w.v", true},
    {"github.com/acme/my-app", true},
    {"example.com", false},
    {"example.com/", false},
    {"/a", false},
    {"example/a", false},
    {"example.c/a", false},
    {"example.c0m/a", false},
    {"Example.com/a", false},
    {"example.com/A", false},
    {"example.com/1a", false},
    {"example.com//a", false},
    {"example.com/../a", false},
    {"example.com/a/..", false},
    {"example.com/.", false},
    {"example..com/a", false},
    {"example.com/a b", false},
    {"example.com/a?b", false},
    {"", false},
};

static void component_names_are_a_domain_and_a_path(void **state)
{
    char longest[COMPONENT_NAME_MAX_BYTES + 2];

    (void)state;
    for (size_t i = 0; i < array_length(component_names); i++) {
        print_message("%s\n", component_names[i].text);
        assert_int_equal(component_name_is_valid(component_names[i].text),
                         component_names[i].is_valid);
    }
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "example.com/", 12);
    longest[COMPONENT_NAME_MAX_BYTES + 1] = '\0';
    assert_false(component_name_is_valid(longest));
    longest[COMPONENT_NAME_MAX_BYTES] = '\0';
    assert_true(component_name_is_valid(longest));
}

static const struct {
    const char *text;
    bool is_valid;
} versions[] = {
    {"1", true},          {"1.2", true},         {"1.2.3", true},       {"v1.0.0", true},
    {"1.2.3-rc.1", true}, {"1.2.3+ci.42", true}, {"1-a+b", true},       {"0.0.0-dev", true},
    {"", false},          {"v", false},          {"latest", false},     {"1.2.3.4", false},
    {"1.", false},        {".1", false},         {"1..2", false},       {"1.2.3-", false},
    {"1.2.3+", false},    {"1.2.3-a..b", false}, {"1.2.3/../x", false}, {"1.2.3 ", false},
    {"1.2.3-a_b", false}, {"x1", false},
};

static void versions_are_relaxed_semver(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(versions); i++) {
        print_message("%s\n", versions[i].text);
        assert_int_equal(version_is_valid(versions[i].text), versions[i].is_valid);
    }
}

static void a_plus_becomes_build_in_the_tag(void **state)
{
    cleanup_free char *tag = version_tag("1.2.3+ci.42");
    cleanup_free char *same = version_tag("v1.0.0");

    (void)state;
    assert_string_equal(tag, "1.2.3.build-ci.42");
    assert_string_equal(same, "v1.0.0");
}

static void element_names_are_lower_case(void **state)
{
    static const char *const good[] = {"ab", "a0", "a-b_c+d"};
    static const char *const bad[] = {"", "a", "-a", "a-", "a b", "A1", "a/b", "..", "a.b"};

    (void)state;
    for (size_t i = 0; i < array_length(good); i++)
        assert_true(element_name_is_valid(good[i]));
    for (size_t i = 0; i < array_length(bad); i++)
        assert_false(element_name_is_valid(bad[i]));
}

static void types_are_compared_without_their_version(void **state)
{
    static const char *const kinds[] = {"localBlob", "other", NULL};
    static const struct {
        const char *type;
        bool is_kind;
    } cases[] = {{"localBlob", true},
                 {"localBlob/v1", true},
                 {"localBlob/v2", false},
                 {"localBlobs", false},
                 {"LocalBlob", false},
                 {"other/v1", true},
                 {"", false}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = json_pack("{s:s}", "type", cases[i].type);

        assert_int_equal(typed_is(object, kinds), cases[i].is_kind);
    }
    assert_false(typed_is(NULL, kinds));
}

static void member_names_match_in_any_case_but_exactly_first(void **state)
{
    cleanup_json json_t *object =
        json_pack("{s:s, s:s, s:s}", "filename", "a", "fileName", "b", "empty", "");

    (void)state;
    assert_string_equal(typed_text(object, "fileName"), "b");
    assert_string_equal(typed_text(object, "filename"), "a");
    assert_non_null(typed_text(object, "FILENAME"));
    assert_null(typed_text(object, "empty"));
    assert_null(typed_text(object, "none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(component_names_are_a_domain_and_a_path),
        cmocka_unit_test(versions_are_relaxed_semver),
        cmocka_unit_test(a_plus_becomes_build_in_the_tag),
        cmocka_unit_test(element_names_are_lower_case),
        cmocka_unit_test(types_are_compared_without_their_version),
        cmocka_unit_test(member_names_match_in_any_case_but_exactly_first),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
