/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/pod/pull_secrets.h"
#include "deployer/tests/sample.h"

static const struct {
    const char *context, *of_item, *gathered;
} lists[] = {
    {NULL, NULL, "[]"},
    {"{metadata: {name: c}}", "[]", "[]"},
    {"{registryPullSecrets: [{name: b}, {name: a}, {name: b}]}",
     "[{namespace: ns, name: a}, {namespace: other, name: a}, {namespace: other, name: a}]",
     "[{namespace: ns, name: b}, {namespace: ns, name: a}, {namespace: other, name: a}]"},
    /* The missing Secret is reported when it is read. */
    {"{registryPullSecrets: [{}, 1]}", NULL, "[{namespace: ns, name: ''}]"},
    {"{registryPullSecrets: nonsense}", NULL, "[]"},
};

static void each_secret_is_listed_once_and_those_of_the_context_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(lists); i++) {
        cleanup_json json_t *context = lists[i].context ? sample_doc(lists[i].context) : NULL;
        cleanup_json json_t *of_item = lists[i].of_item ? sample_doc(lists[i].of_item) : NULL;
        cleanup_json json_t *wanted = sample_doc(lists[i].gathered);
        cleanup_json json_t *secrets = NULL;
        struct error err = {0};

        assert_int_equal(pull_secrets_gather(context, "ns", of_item, &secrets, &err), 0);
        assert_true(json_equal(secrets, wanted));
    }
}

static json_t *named(size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("s%zu", i);

        (void)json_array_append_new(list, json_pack("{s:s,s:s}", "namespace", "ns", "name", name));
    }
    return list;
}

static void more_than_the_limit_of_both_lists_are_refused(void **state)
{
    cleanup_json json_t *context = json_pack("{s:{s:s},s:o}", "metadata", "name", "shared",
                                             "registryPullSecrets", named(PULL_SECRETS_MAX));
    cleanup_json json_t *same = named(PULL_SECRETS_MAX);
    cleanup_json json_t *more = named(PULL_SECRETS_MAX + 1);
    cleanup_json json_t *secrets = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(pull_secrets_gather(context, "ns", same, &secrets, &err), 0);
    assert_int_equal(json_array_size(secrets), PULL_SECRETS_MAX);
    assert_int_equal(pull_secrets_gather(context, "ns", more, &secrets, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text,
                        "registryPullSecrets of context \"shared\" and of the item refer to 101 "
                        "different Secrets, but the maximum is 100: put the credentials of "
                        "several registries into one Secret");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_secret_is_listed_once_and_those_of_the_context_first),
        cmocka_unit_test(more_than_the_limit_of_both_lists_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
