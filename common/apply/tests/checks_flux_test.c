/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_flux.h"
#include "common/apply/tests/checks_bench.h"

/* A Kustomization that is ready by its own status. */
#define KUSTOMIZATION(source_, revision_)                                                          \
    "{'apiVersion': 'kustomize.toolkit.fluxcd.io/v1', 'kind': 'Kustomization', 'metadata': "       \
    "{'name': 'k', 'namespace': 'ns', 'generation': 1}, 'spec': {'sourceRef': {'kind': "           \
    "'GitRepository', 'name': '" source_ "'}}, 'status': {'observedGeneration': 1, 'conditions': " \
    "[{'type': 'Ready', 'status': 'True'}], 'lastAppliedRevision': '" revision_ "'}}"
#define REPOSITORY(revision_) "{'status': {'artifact': {'revision': '" revision_ "'}}}"
#define K "kustomizations ns/k"

static void add_kustomization(struct checks_bench *bench, const char *seen)
{
    bench->rules = READINESS_STRICT;
    bench_add(bench, "kustomize.toolkit.fluxcd.io/v1 Kustomization ns/k", "kustomizations", seen);
}

static void the_source_of_a_kustomization_is_found(void **state)
{
    static const struct {
        const char *object, *expected; /* NULL: it has none */
    } cases[] = {
        {KUSTOMIZATION("s", "1"), "source.toolkit.fluxcd.io/v1 GitRepository ns/s"},
        {"{'apiVersion': 'kustomize.toolkit.fluxcd.io/v1beta2', 'kind': 'Kustomization', "
         "'metadata': {'namespace': 'ns'}, 'spec': {'sourceRef': {'apiVersion': "
         "'source.toolkit.fluxcd.io/v1beta2', 'kind': 'Bucket', 'name': 'b', 'namespace': 'x'}}}",
         "source.toolkit.fluxcd.io/v1beta2 Bucket x/b"},
        {"{'apiVersion': 'kustomize.toolkit.fluxcd.io/v1', 'kind': 'Kustomization', 'spec': "
         "{'sourceRef': {'kind': 'Bucket'}}}",
         NULL},
        {"{'apiVersion': 'kustomize.toolkit.fluxcd.io/v1', 'kind': 'Kustomization', 'spec': "
         "{'sourceRef': {'name': 'b'}}}",
         NULL},
        {"{'apiVersion': 'kustomize.toolkit.fluxcd.io/v1', 'kind': 'Other', 'spec': {'sourceRef': "
         "{'kind': 'Bucket', 'name': 'b'}}}",
         NULL},
        {"{'apiVersion': 'kustomize.config.k8s.io/v1', 'kind': 'Kustomization', 'spec': "
         "{'sourceRef': {'kind': 'Bucket', 'name': 'b'}}}",
         NULL},
        {"{}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = parse(cases[i].object);
        struct object_ref ref = {0};

        assert_int_equal(check_flux_find_source(object, &ref), cases[i].expected != NULL);
        assert_int_equal(check_flux_find_source(object, NULL), cases[i].expected != NULL);
        if (cases[i].expected) {
            struct object_ref expected = parse_ref(cases[i].expected);

            assert_string_equal(ref.api_version, expected.api_version);
            assert_true(object_ref_is_same_name(&ref, &expected));
            object_ref_done(&expected);
        }
        object_ref_done(&ref);
    }
}

static void a_kustomization_must_have_applied_the_last_revision_of_its_source(void **state)
{
    struct checks_bench *bench = *state;

    /* What the write returned was ready with the revision before. */
    add_kustomization(bench, KUSTOMIZATION("s", "1"));
    bench_start(bench, "[]");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "1"));
    bench_must_say(bench, "Kustomization ns/k: its source GitRepository ns/s has no artifact yet");
    fake_deliver(bench->cluster, "gitrepositories ns/s", REPOSITORY("2"));
    bench_must_say(bench,
                   "Kustomization ns/k: has not applied the last revision of GitRepository ns/s");
    fake_deliver_error(bench->cluster, "gitrepositories ns/s", ERROR_TEMPORARY, "away");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "2"));
    assert_true(bench->is_ready);
    assert_int_equal(bench->cluster->watch_count, 2);
}

static void a_kustomization_is_compared_when_its_source_changes(void **state)
{
    struct checks_bench *bench = *state;

    add_kustomization(bench, NULL);
    bench_start(bench, "[]");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "1"));
    fake_deliver(bench->cluster, "gitrepositories ns/s", NULL);
    bench_must_say(bench, "its source GitRepository ns/s has no artifact yet");
    fake_deliver_error(bench->cluster, "gitrepositories ns/s", ERROR_DENIED, "forbidden");
    bench_must_say(bench, "its source GitRepository ns/s has no artifact yet: forbidden");
    fake_deliver(bench->cluster, "gitrepositories ns/s", REPOSITORY("1"));
    assert_true(bench->is_ready);
}

static void another_source_may_be_named(void **state)
{
    struct checks_bench *bench = *state;

    add_kustomization(bench, NULL);
    bench_start(bench, "[]");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "1"));
    fake_deliver(bench->cluster, "gitrepositories ns/s", REPOSITORY("2"));
    fake_deliver(bench->cluster, K, KUSTOMIZATION("t", "2"));
    assert_false(fake_is_watched(bench->cluster, "gitrepositories ns/s"));
    bench_must_say(bench, "its source GitRepository ns/t has no artifact yet");
    fake_deliver(bench->cluster, K, NULL);
    assert_false(fake_is_watched(bench->cluster, "gitrepositories ns/t"));
    bench_must_say(bench, "Kustomization ns/k: does not exist");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("t", "2"));
    fake_deliver(bench->cluster, "gitrepositories ns/t", REPOSITORY("2"));
    assert_true(bench->is_ready);
}

static void a_source_that_the_cluster_does_not_serve_makes_no_rule(void **state)
{
    struct checks_bench *bench = *state;

    add_kustomization(bench, NULL);
    bench_start(bench, "[]");
    bench->cluster->lookup_error = ERROR_NOT_FOUND;
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "1"));
    assert_true(bench->is_ready);
}

static void the_rule_is_part_of_strict_default_checks_only(void **state)
{
    struct checks_bench *bench = *state;

    bench->rules = READINESS_DEFAULT;
    bench_add(bench, "kustomize.toolkit.fluxcd.io/v1 Kustomization ns/k", "kustomizations",
              KUSTOMIZATION("s", "1"));
    bench_start(bench, "[]");
    assert_true(bench->is_ready);
}

static void the_rule_applies_to_custom_checks_with_default_rules(void **state)
{
    struct checks_bench *bench = *state;

    bench->rules = READINESS_STRICT;
    bench_start(bench, "[{'target': 't', 'default': true, 'objects': "
                       "['kustomize.toolkit.fluxcd.io/v1 Kustomization ns/k']}]");
    fake_deliver(bench->second, K, KUSTOMIZATION("s", "1"));
    fake_deliver(bench->second, "gitrepositories ns/s", REPOSITORY("1"));
    fake_run(bench->cluster);
    assert_true(bench->is_ready);
}

static void requirements_alone_have_no_such_rule(void **state)
{
    struct checks_bench *bench = *state;

    bench->rules = READINESS_STRICT;
    bench_start(bench, "[{'requirements': [], 'objects': "
                       "['kustomize.toolkit.fluxcd.io/v1 Kustomization ns/k']}]");
    fake_deliver(bench->cluster, K, KUSTOMIZATION("s", "1"));
    assert_true(bench->is_ready);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_of_a_kustomization_is_found),
        test(a_kustomization_must_have_applied_the_last_revision_of_its_source),
        test(a_kustomization_is_compared_when_its_source_changes),
        test(another_source_may_be_named),
        test(a_source_that_the_cluster_does_not_serve_makes_no_rule),
        test(the_rule_is_part_of_strict_default_checks_only),
        test(the_rule_applies_to_custom_checks_with_default_rules),
        test(requirements_alone_have_no_such_rule),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
