/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_pods.h"
#include "common/apply/tests/checks_bench.h"

#define FAILED(selector_)                                                                          \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd', 'namespace': "      \
    "'ns'}, 'spec': {'selector': " selector_ "}, 'status': {'conditions': [{'type': "              \
    "'Progressing', 'status': 'False', 'reason': 'ProgressDeadlineExceeded'}]}}"
#define POD(name_, created_, states_)                                                              \
    "{'metadata': {'name': '" name_ "', 'namespace': 'ns', 'creationTimestamp': '" created_        \
    "'}, 'status': {'containerStatuses': [" states_ "]}}"
#define WAITS(reason_)                                                                             \
    "{'name': 'c', 'state': {'waiting': {'reason': '" reason_ "', 'message': 'canary'}}}"
#define RUNS "{'name': 'c', 'state': {'running': {}}}"
#define PODS "pods ns/?a=b,c=d"
#define BY_LABELS "{'matchLabels': {'a': 'b', 'c': 'd'}}"
#define FAILURE "Deployment ns/d: condition Progressing is False (ProgressDeadlineExceeded)"

static void fail_deployment(struct checks_bench *bench, const char *live)
{
    bench->rules = READINESS_STRICT;
    bench_add(bench, "apps/v1 Deployment ns/d", "deployments", NULL);
    bench_start(bench, "[]");
    fake_deliver(bench->cluster, "deployments ns/d", live);
}

static void the_failure_names_the_newest_pod_with_a_problem(void **state)
{
    struct checks_bench *bench = *state;

    fail_deployment(bench, FAILED(BY_LABELS));
    fake_deliver(bench->cluster, PODS, POD("fine", "2026-01-09T00:00:00Z", RUNS));
    fake_deliver(bench->cluster, PODS,
                 POD("former", "2026-01-01T00:00:00Z", WAITS("CrashLoopBackOff")));
    fake_deliver(bench->cluster, PODS,
                 POD("newer", "2026-01-02T00:00:00Z", RUNS "," WAITS("ImagePullBackOff")));
    fake_deliver(bench->cluster, PODS, POD("older", "2026-01-01T00:00:01Z", WAITS("ErrImagePull")));
    fake_deliver_gone(bench->cluster, PODS,
                      POD("gone", "2026-01-08T00:00:00Z", WAITS("ErrImagePull")));
    /* Nothing of the workload matters any more. */
    fake_deliver(bench->cluster, "deployments ns/d", FAILED(BY_LABELS));
    assert_string_equal(bench->failure, "");
    fake_deliver(bench->cluster, PODS, NULL);
    assert_string_equal(bench->failure, FAILURE "; pod newer: container c: ImagePullBackOff");
}

static void pods_that_cannot_be_read_do_not_delay_the_failure(void **state)
{
    struct checks_bench *bench = *state;

    fail_deployment(bench, FAILED(BY_LABELS));
    fake_deliver_error(bench->cluster, PODS, ERROR_DENIED, "forbidden");
    assert_string_equal(bench->failure, FAILURE);
}

static void pods_that_are_not_answered_delay_it_for_a_limited_time(void **state)
{
    struct checks_bench *bench = *state;

    fail_deployment(bench, FAILED(BY_LABELS));
    fake_advance(bench->cluster, CHECK_PODS_MS - 1);
    assert_string_equal(bench->failure, "");
    fake_advance(bench->cluster, 1);
    assert_string_equal(bench->failure, FAILURE);
}

static void a_selector_that_is_not_a_set_of_labels_is_not_used(void **state)
{
    static const char *const selectors[] = {
        "{}",
        "{'matchLabels': {}}",
        "{'matchLabels': {'a': 'b'}, 'matchExpressions': [{'key': 'k', 'operator': 'Exists'}]}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(selectors); i++) {
        cleanup_free char *live = xasprintf(FAILED("%s"), selectors[i]);
        void *prepared = NULL;
        struct checks_bench *bench = NULL;

        (void)bench_setup(&prepared);
        bench = prepared;
        fail_deployment(bench, live);
        assert_string_equal(bench->failure, FAILURE);
        (void)bench_teardown(&prepared);
    }
}

static void checks_can_be_cancelled_while_pods_are_read(void **state)
{
    struct checks_bench *bench = *state;

    fail_deployment(bench, FAILED(BY_LABELS));
    assert_true(fake_is_watched(bench->cluster, PODS));
    checks_cancel(bench->checks);
    bench->checks = NULL;
    assert_false(fake_is_watched(bench->cluster, PODS));
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(the_failure_names_the_newest_pod_with_a_problem),
        test(pods_that_cannot_be_read_do_not_delay_the_failure),
        test(pods_that_are_not_answered_delay_it_for_a_limited_time),
        cmocka_unit_test(a_selector_that_is_not_a_set_of_labels_is_not_used),
        test(checks_can_be_cancelled_while_pods_are_read),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
