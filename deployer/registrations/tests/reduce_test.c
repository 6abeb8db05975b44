/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/reduce.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/registrations/pair.h"
#include "deployer/registrations/tests/samples.h"
#include "deployer/tests/sample.h"

static struct pair sample_pair(const json_t *environment, const json_t *registration)
{
    return (struct pair){.environment = environment,
                         .registration = registration,
                         .namespace_name = "ls-system",
                         .name = "mock-default",
                         .role = "landscaper:deployer"};
}

/* Whatever is decided about a whole object is decided about what is kept of it. */
static void reduced_objects_compare_like_whole_ones(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    cleanup_json json_t *registration = sample_doc(REGISTRATION);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *target = sample_doc(TARGET);
    cleanup_json json_t *host = sample_doc(HOST_TARGET);
    cleanup_json json_t *binding = sample_doc(BINDING);
    cleanup_json json_t *small = reduce_installation(installation);
    cleanup_json json_t *small_target = reduce_target(target);
    cleanup_json json_t *small_host = reduce_target(host);
    cleanup_json json_t *small_binding = reduce_binding(binding);
    struct pair pair = sample_pair(environment, registration);

    (void)state;
    assert_null(pair_installation_patch(&pair, small));
    assert_true(pair_target_is_current(&pair, small_target));
    assert_true(pair_owns(&pair, small_target, "inst-uid"));
    assert_true(pair_host_target_is_current(environment, small_host));
    assert_true(pair_owns_host_target(environment, small_host));
    assert_true(pair_binding_is_current(&pair, small_binding));
}

static void a_change_gives_the_same_patch(void **state)
{
    static const char *const changes[] = {
        REGISTRATION_OF("mock", "    importDataMappings: {values: {a: 1}}\n"),
        REGISTRATION_OF("mock", "    imports: {data: [{name: a, dataRef: b}]}\n"),
        REGISTRATION_OF("mock", ""),
    };
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *small = reduce_installation(installation);

    (void)state;
    for (size_t i = 0; i < array_length(changes); i++) {
        cleanup_json json_t *registration = sample_doc(changes[i]);
        struct pair pair = sample_pair(environment, registration);
        cleanup_json json_t *wanted = pair_installation_patch(&pair, installation);
        cleanup_json json_t *found = pair_installation_patch(&pair, small);

        assert_non_null(wanted);
        assert_true(json_equal(wanted, found));
    }
}

static void nothing_secret_and_nothing_large_is_kept(void **state)
{
    cleanup_json json_t *target = sample_doc(TARGET);
    cleanup_json json_t *small = reduce_target(target);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *small_installation = reduce_installation(installation);
    cleanup_json json_t *again = reduce_installation(small_installation);
    cleanup_free char *text = doc_dump(small);
    cleanup_free char *installation_text = doc_dump(small_installation);

    (void)state;
    assert_null(strstr(text, "TOKEN"));
    assert_null(strstr(installation_text, "mock-deployer-blueprint"));
    assert_string_equal(doc_text(small_installation, "spec.importDataMappings.releaseName"),
                        "mock-default");
    assert_true(json_equal(small_installation, again));
}

static void a_target_without_a_usable_kubeconfig_has_no_hash(void **state)
{
    static const char *const texts[] = {
        "{metadata: {name: a}, spec: {config: {}}}",
        "{metadata: {name: a}, spec: {config: {kubeconfig: '['}}}",
        "{metadata: {name: a}, spec: {config: {kubeconfig: 'clusters: []'}}}",
        "{metadata: {name: a}, spec: {config: {kubeconfig: 'clusters: [{cluster: {server: a}}]'}}}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        cleanup_json json_t *target = sample_doc(texts[i]);
        cleanup_json json_t *small = reduce_target(target);
        cleanup_free char *hash = reduce_target_hash(small);

        assert_null(hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduced_objects_compare_like_whole_ones),
        cmocka_unit_test(a_change_gives_the_same_patch),
        cmocka_unit_test(nothing_secret_and_nothing_large_is_kept),
        cmocka_unit_test(a_target_without_a_usable_kubeconfig_has_no_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
