/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "deployer/lifecycle/manifest_name.h"

static void check(const char *kyma, const char *component, const char *module, const char *expected)
{
    cleanup_free char *name = manifest_name(kyma, component, module);

    print_message("%s\n", name);
    assert_string_equal(name, expected);
    assert_true(strlen(name) <= MANIFEST_NAME_MAX);
}

static void names_are_those_of_the_original(void **state)
{
    (void)state;
    check("default-id", "kyma-project.io/module/some-module", "module1",
          "default-id-some-module-1831772875");
    check("default-id", "simple-component", "module1", "default-id-simple-component-3590401810");
    check("fleet-0001", "kyma-project.io/module/harbour", "harbour",
          "fleet-0001-harbour-1079662839");
}

/* The original cuts the hash off, so that both would share one Manifest. */
static void long_components_keep_their_hash(void **state)
{
    static const char common[] =
        "kyma-project.io/module/a-component-with-a-rather-long-name-for-the-";
    cleanup_free char *first = xasprintf("%sfirst", common),
                      *second = xasprintf("%ssecond", common);
    cleanup_free char *one = manifest_name("fleet-0001", first, "a");
    cleanup_free char *other = manifest_name("fleet-0001", second, "a");

    (void)state;
    assert_string_not_equal(one, other);
    assert_true(strlen(one) <= MANIFEST_NAME_MAX);
    assert_memory_equal(one, "fleet-0001-a-component-with-a-rather", 36);
}

static void long_kymas_do_not_share_names(void **state)
{
    static const char common[] = "a-kyma-with-a-name-that-leaves-no-room-for-anything-else-";
    cleanup_free char *first = xasprintf("%sfirst", common),
                      *second = xasprintf("%ssecond", common);
    cleanup_free char *one = manifest_name(first, "c/harbour", "harbour");
    cleanup_free char *other = manifest_name(second, "c/harbour", "harbour");
    cleanup_free char *third = manifest_name(first, "c/crane", "crane");

    (void)state;
    assert_string_not_equal(one, other);
    assert_string_not_equal(one, third);
    assert_true(strlen(one) <= MANIFEST_NAME_MAX && strlen(third) <= MANIFEST_NAME_MAX);
}

/* Whatever is cut, the result is a name: no "--", no "-" at the end. */
static void every_length_gives_a_name(void **state)
{
    char kyma[254];

    (void)state;
    for (size_t length = 1; length < sizeof(kyma); length++) {
        cleanup_free char *name = NULL;

        memset(kyma, 'k', length);
        for (size_t i = 3; i + 1 < length; i += 4)
            kyma[i] = '-';
        kyma[length] = '\0';
        kyma[length - 1] = 'z';
        name = manifest_name(kyma, "example.com/module/x-y-z-very-long-name", "m");
        assert_true(strlen(name) <= MANIFEST_NAME_MAX);
        assert_null(strstr(name, "--"));
        assert_true(name[strlen(name) - 1] != '-');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_original),
        cmocka_unit_test(long_components_keep_their_hash),
        cmocka_unit_test(long_kymas_do_not_share_names),
        cmocka_unit_test(every_length_gives_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
