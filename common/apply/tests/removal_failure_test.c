/* SPDX-License-Identifier: Apache-2.0 */
/* What fails, and what could not be read. */
#include "common/apply/tests/removal_bench.h"

#define NAMESPACED "[{'type': 'namespaced'}]"
#define A "configmaps ns/a"
#define LISTED "LIST configmaps ns/? metadata.name=a"

static void an_object_that_was_never_seen_is_gone_only_if_a_list_shows_it(void **state)
{
    static const char *const foreign[] = {
        "{'login': 'please'}",
        "{'items': []}",
        "{'metadata': {'resourceVersion': '1'}, 'items': {}}",
        "{'metadata': {'resourceVersion': '1'}, 'items': [" LIVE("b", "") "]}",
    };
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, NULL);
    fake_refuse(bench->cluster, LISTED, ERROR_NOT_FOUND, 404, "no such backend");
    bench_must_say(bench, "ConfigMap ns/a: no such backend");
    fake_advance(bench->cluster, 1000);
    for (size_t i = 0; i < array_length(foreign); i++) {
        fake_answer(bench->cluster, LISTED, foreign[i]);
        bench_must_say(bench, "ConfigMap ns/a: response did not come from the API server");
        fake_advance(bench->cluster, 30000);
    }
    fake_answer(bench->cluster, LISTED,
                "{'metadata': {'resourceVersion': '1'}, 'items': [" LIVE("a", "") "]}");
    bench_must_say(bench, "ConfigMap ns/a: exists");
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

static void an_object_that_appears_during_the_list_is_judged(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, NULL);
    fake_refuse(bench->cluster, LISTED, ERROR_TEMPORARY, 503, "away");
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_advance(bench->cluster, 1000);
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

static void without_permission_to_list_the_watch_alone_decides(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_add(bench, "v1 ConfigMap ns/b=c u-b"); /* cannot be selected by a list */
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, "configmaps ns/b=c", NULL);
    assert_string_equal(bench->removed, "ns/b=c deleted");
    fake_deliver(bench->cluster, A, NULL);
    fake_refuse(bench->cluster, LISTED, ERROR_DENIED, 403, "forbidden");
    assert_true(bench->is_done);
}

static void a_refused_deletion_is_named_and_repeated_with_back_off(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_INVALID, 400,
                "admission webhook denied the request: protected");
    bench_must_say(bench, "ConfigMap ns/a: admission webhook denied the request: protected");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_INVALID);
    /* Other events do not make it hurry. */
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    assert_int_equal(bench->cluster->request_count, 1);
    fake_advance(bench->cluster, 1000);
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_DENIED, 403, "forbidden");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_DENIED);
    fake_advance(bench->cluster, 900);
    assert_int_equal(bench->cluster->request_count, 2);
    fake_advance(bench->cluster, 1100);
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_NONE);
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

static void after_a_conflict_the_next_event_decides_at_once(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_CONFLICT, 409, "changed");
    assert_int_equal(fake_open_requests(bench->cluster), 0);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_CONFLICT, 409, "changed");
    fake_deliver(bench->cluster, A,
                 "{'metadata': {'name': 'a', 'uid': 'u-a', 'labels': {'owner': 'other'}}}");
    assert_string_equal(bench->removed, "ns/a moved");
    assert_true(bench->is_done);
}

static void what_could_not_be_read_never_counts_as_gone(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench->cluster->lookup_error = ERROR_TEMPORARY;
    bench_start(bench, NAMESPACED);
    bench_must_say(bench, "ConfigMap ns/a: the cluster has no kind");
    bench->cluster->lookup_error = ERROR_NONE;
    fake_advance(bench->cluster, 1000);
    fake_deliver_error(bench->cluster, A, ERROR_DENIED, "configmaps is forbidden");
    bench_must_say(bench, "ConfigMap ns/a: configmaps is forbidden; whether the object exists "
                          "cannot be seen: the user needs permission to get, list, watch and "
                          "delete configmaps in namespace \"ns\"");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_DENIED);
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    bench_must_say(bench, "ConfigMap ns/a: exists");
    assert_int_equal(removal_error(bench->removal)->kind, ERROR_NONE);
    /* A 404 may have come from a proxy. */
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_NOT_FOUND, 404, "not found");
    fake_deliver_error(bench->cluster, A, ERROR_NOT_FOUND, "404 page not found");
    assert_false(bench->is_done);
    fake_advance(bench->cluster, 1000); /* also: the kind is unknown when the DELETE is due again */
    assert_false(bench->is_done);
    assert_string_equal(bench->removed, "");
}

static void a_kind_that_the_server_does_not_know_any_more_is_gone_with_its_objects(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "example.org/v1 Unknown ns/x u-x");
    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    assert_string_equal(bench->removed, "ns/x deleted");
    bench->cluster->is_lookup_slow = true;
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    fake_refuse(bench->cluster, "DELETE configmaps ns/a u-a", ERROR_TEMPORARY, 503, "away");
    fake_deliver_error(bench->cluster, A, ERROR_NOT_FOUND, "404 page not found");
    fake_advance(bench->cluster, 1000);
    assert_int_equal(fake_open_requests(bench->cluster), 0); /* without a kind nothing is sent */
    fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_NOT_FOUND);
    assert_string_equal(bench->removed, "ns/x deleted; ns/a deleted");
    assert_true(bench->is_done);
}

static void a_request_that_cannot_be_started_is_repeated(void **state)
{
    struct removal_bench *bench = *state;

    bench_add(bench, "v1 ConfigMap ns/a u-a");
    bench_start(bench, NAMESPACED);
    bench->cluster->start_error = ERROR_INVALID;
    fake_deliver(bench->cluster, A, LIVE("a", ""));
    bench_must_say(bench, "ConfigMap ns/a: request refused");
    bench->cluster->start_error = ERROR_NONE;
    fake_advance(bench->cluster, 1000);
    fake_answer(bench->cluster, "DELETE configmaps ns/a u-a", NULL);
    fake_deliver(bench->cluster, A, NULL);
    assert_true(bench->is_done);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(an_object_that_was_never_seen_is_gone_only_if_a_list_shows_it),
        test(an_object_that_appears_during_the_list_is_judged),
        test(without_permission_to_list_the_watch_alone_decides),
        test(a_refused_deletion_is_named_and_repeated_with_back_off),
        test(after_a_conflict_the_next_event_decides_at_once),
        test(what_could_not_be_read_never_counts_as_gone),
        test(a_kind_that_the_server_does_not_know_any_more_is_gone_with_its_objects),
        test(a_request_that_cannot_be_started_is_repeated),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
