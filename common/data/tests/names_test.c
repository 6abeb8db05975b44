/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/names.h"

#define X10 "xxxxxxxxxx"
#define X60 X10 X10 X10 X10 X10 X10

static bool is_dns_label(const char *name)
{
    return strlen(name) <= NAME_MAX_LABEL && !strchr(name, '.') && name_is_dns_subdomain(name);
}

static const struct {
    const char *text;
    bool is_subdomain, is_value, is_key;
} rules[] = {
    {"", false, true, false},
    {"a", true, true, true},
    {"0", true, true, true},
    {"a-b", true, true, true},
    {"-a", false, false, false},
    {"a-", false, false, false},
    {"A", false, true, true},
    {"a.b", true, true, true},
    {"a..b", false, true, true},
    {".a", false, false, false},
    {"a.", false, false, false},
    {"a.-b", false, true, true},
    {"a_b", false, true, true},
    {"_a", false, false, false},
    {"a b", false, false, false},
    {"a\n", false, false, false},
    {"\xc3\xa4", false, false, false},
    {"a/b", false, false, true},
    {"a.b/C_d", false, false, true},
    {"A.b/c", false, false, false},
    {"a/", false, false, false},
    {"/a", false, false, false},
    {"a/b/c", false, false, false},
    {X60 "xxx", true, true, true},
    {X60 "xxxx", true, false, false},
    {X60 "." X60 "." X60 "." X60 ".xxxxxxxxx", true, false, false},
    {X60 "." X60 "." X60 "." X60 ".xxxxxxxxxx", false, false, false},
    {X60 "." X60 "." X60 "." X60 ".xxxxxxxxx/a", false, false, true},
    {X60 "." X60 "." X60 "." X60 ".xxxxxxxxxx/a", false, false, false},
};

static void knows_the_rules_of_kubernetes(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(rules); i++) {
        if (name_is_dns_subdomain(rules[i].text) != rules[i].is_subdomain ||
            name_is_label_value(rules[i].text) != rules[i].is_value ||
            name_is_label_key(rules[i].text) != rules[i].is_key)
            fail_msg("'%s'", rules[i].text);
    }
}

static void the_hash_separates_namespace_and_name(void **state)
{
    char first[NAME_HASH_SIZE] = {0};
    char second[NAME_HASH_SIZE] = {0};
    char none[NAME_HASH_SIZE] = {0};

    (void)state;
    name_hash("a-b", "c", first);
    name_hash("a", "b-c", second);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), 16);
    assert_int_equal(strspn(first, "0123456789abcdef"), 16);
    name_hash(NULL, "c", none);
    name_hash("", "c", second);
    assert_string_equal(none, second);
    /* Existing installations depend on the names: sha256("a-b/c"). */
    assert_string_equal(first, "4e84717d75bd540d");
}

static const struct {
    const char *name, *suffix;
    size_t max;
    const char *readable; /* what comes before "-<hash>" */
} made[] = {
    {"item", "", 63, "item"},
    {"item", NULL, 63, "item"},
    {"item", "-export", 63, "item"},
    {"my.item.v1", "", 63, "my-item-v1"},
    {"Item_1", "", 63, "item-1"},
    {"--item--", "", 63, "item"},
    {"...", "", 63, NULL},
    {"", "", 63, NULL},
    {"\xc3\xa4\xc3\xb6", "", 63, NULL},
    {X60 X60, "", 63, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
    {X60 X60, "-export", 63, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
    {"abcdefgh-ijkl", "", 26, "abcdefgh"},
    {"abcdefgh-ijkl", "", 18, "a"},
    {"abcdefgh-ijkl", "", 17, NULL},
    {"abcdefgh-ijkl", "", 16, NULL},
    {"item", "", 0, "item"},
    {"item", "", 1000, "item"},
};

static void makes_a_readable_start_and_a_hash(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(made); i++) {
        const char *suffix = made[i].suffix ? made[i].suffix : "";
        cleanup_free char *name = name_make("ns", made[i].name, made[i].suffix, made[i].max);
        cleanup_free char *expected = NULL;
        char hash[NAME_HASH_SIZE] = {0};

        name_hash("ns", made[i].name, hash);
        if (made[i].readable)
            expected = xasprintf("%s-%s%s", made[i].readable, hash, suffix);
        else
            expected = xasprintf("%s%s", hash, suffix);
        assert_string_equal(name, expected);
        assert_true(is_dns_label(name));
        assert_true(made[i].max == 0 || strlen(name) <= made[i].max);
    }
}

static void a_name_is_a_label_whatever_the_limit_and_the_suffix(void **state)
{
    static const char *const suffixes[] = {"", "-export", "-", "--", "_X.", "-" X60, X60 X60};
    static const char *const names[] = {"", "-", "a", "a.b", "a-b-c-d-e-f-g", X60 X60, "\xff"};

    (void)state;
    for (size_t max = 1; max < 70; max++) {
        for (size_t i = 0; i < array_length(names); i++) {
            for (size_t j = 0; j < array_length(suffixes); j++) {
                cleanup_free char *name = name_make("ns", names[i], suffixes[j], max);

                assert_true(is_dns_label(name));
                assert_true(strlen(name) <= max);
            }
        }
    }
}

static void a_suffix_that_does_not_fit_still_changes_the_name(void **state)
{
    cleanup_free char *first = name_make("ns", "a", "-one", 18);
    cleanup_free char *second = name_make("ns", "a", "-two", 18);
    cleanup_free char *none = name_make("ns", "a", "", 18);

    (void)state;
    assert_string_not_equal(first, second);
    assert_string_not_equal(first, none);
}

static void valid_label_values_are_unchanged(void **state)
{
    static const char *const legal[] = {"", "a", "A.b_c-D", X60 "xxx"};

    (void)state;
    for (size_t i = 0; i < array_length(legal); i++) {
        cleanup_free char *value = name_label_value(legal[i]);

        assert_string_equal(value, legal[i]);
    }
}

static void invalid_label_values_are_hashed(void **state)
{
    static const struct {
        const char *text, *readable;
    } hashed[] = {
        {X60 "xxxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_"},
        {"a b", "a-b_"},
        {"-a", "a_"},
        {"a/b.", "a-b_"},
        {"\xc3\xa4", "0_"},
        {" ", "0_"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(hashed); i++) {
        cleanup_free char *value = name_label_value(hashed[i].text);

        assert_true(name_is_label_value(value));
        /* Otherwise an item with exactly that name would have the same label. */
        assert_false(name_is_dns_subdomain(value));
        assert_int_equal(strlen(value), strlen(hashed[i].readable) + 16);
        assert_memory_equal(value, hashed[i].readable, strlen(hashed[i].readable));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_rules_of_kubernetes),
        cmocka_unit_test(the_hash_separates_namespace_and_name),
        cmocka_unit_test(makes_a_readable_start_and_a_hash),
        cmocka_unit_test(a_name_is_a_label_whatever_the_limit_and_the_suffix),
        cmocka_unit_test(a_suffix_that_does_not_fit_still_changes_the_name),
        cmocka_unit_test(valid_label_values_are_unchanged),
        cmocka_unit_test(invalid_label_values_are_hashed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
