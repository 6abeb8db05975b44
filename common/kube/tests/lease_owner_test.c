/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/lease_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "common/kube/config_internal.h"
#include "common/kube/tests/kube_bench.h"

static void the_owner_is_the_account_of_the_pod(void **state)
{
    struct kube_bench *bench = *state;
    cleanup_json json_t *owner = NULL;
    cleanup_json json_t *expected = json_pack("{s:s,s:s,s:s,s:s}", "apiVersion", "v1", "kind",
                                              "ServiceAccount", "name", "deployer", "uid", "u-1");

    (void)kube_bench_move_to_pod(bench, "a");
    owner = lease_owner_new(bench->kube, "a");
    assert_true(json_equal(owner, expected));
}

/* The garbage collector deletes a Lease whose owner it does not find in the namespace. */
static void an_account_that_the_garbage_collector_would_not_find_is_no_owner(void **state)
{
    struct kube_bench *bench = *state;
    struct kube_config *config = kube_bench_move_to_pod(bench, "a");

    assert_null(lease_owner_new(bench->kube, "b"));
    config->is_in_cluster = false;
    assert_null(lease_owner_new(bench->kube, "a"));
    config->is_in_cluster = true;
    config->token[strcspn(config->token, ".")] = '\0'; /* not a JWT */
    assert_null(lease_owner_new(bench->kube, "a"));
    free(config->token);
    config->token = NULL;
    assert_null(lease_owner_new(bench->kube, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_owner_is_the_account_of_the_pod, kube_bench_setup,
                                        kube_bench_teardown),
        cmocka_unit_test_setup_teardown(
            an_account_that_the_garbage_collector_would_not_find_is_no_owner, kube_bench_setup,
            kube_bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
