/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/exports_parse.h"
#include "common/apply/tests/fake_cluster.h"

#define CANARY "s3cret-canary"
#define A "configmaps ns/a"
#define REFERRING "[{'key': 'k', 'ref': 'v1 Secret'}]"

struct bench {
    struct cluster *cluster, *second;
    struct export_rule *rules;
    struct cluster **clusters;
    size_t count;
    json_t *seen;
    struct exports *exports; /* NULL: over */
    json_t *values;          /* NULL: not done */
};

static void on_done(void *data, json_t *values)
{
    struct bench *bench = data;

    assert_null(bench->values);
    bench->values = values;
    exports_cancel(bench->exports); /* is allowed here and has no effect */
    bench->exports = NULL;
}

static int setup(void **state)
{
    struct bench *bench = xcalloc(1, sizeof(*bench));

    fake_pair_setup(&bench->cluster, &bench->second);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    struct cluster *first = bench->cluster;
    struct cluster *second = bench->second;

    exports_cancel(bench->exports);
    for (size_t i = 0; i < bench->count; i++)
        export_rule_done(&bench->rules[i]);
    free(bench->rules);
    free(bench->clusters);
    json_decref(bench->seen);
    json_decref(bench->values);
    free(bench);
    return fake_pair_teardown(first, second);
}

static int try(struct bench *bench, const char *rules, struct error *err)
{
    cleanup_json json_t *doc = parse(rules);
    json_t *seen[] = {bench->seen};
    struct exports_options options = {
        .cluster = bench->cluster,
        .count = json_array_size(doc),
        .seen = seen,
        .seen_count = bench->seen ? 1 : 0,
        .on_done = on_done,
        .data = bench,
    };

    bench->count = json_array_size(doc);
    options.rules = bench->rules = xcalloc(bench->count + 1, sizeof(*bench->rules));
    options.rule_clusters = bench->clusters = xcalloc(bench->count + 1, sizeof(struct cluster *));
    for (size_t i = 0; i < bench->count; i++) {
        bench->rules[i] = parse_export(json_array_get(doc, i));
        bench->clusters[i] = bench->rules[i].target_name ? bench->second : NULL;
    }
    return exports_start(&options, &bench->exports, err);
}

static void start(struct bench *bench, const char *rules)
{
    struct error err = {0};

    if (try(bench, rules, &err) < 0)
        fail_msg("%s", err.text);
    assert_null(bench->values);
    fake_run(bench->cluster);
}

static void must_say(const struct bench *bench, const char *text)
{
    cleanup_free char *said = NULL;

    assert_null(bench->values);
    said = exports_describe(bench->exports);
    if (!said || !strstr(said, text))
        fail_msg("'%s' is not in '%s'", text, said ? said : "(nothing)");
    if (strstr(said, CANARY))
        fail_msg("a value is in the message: %s", said);
}

static void must_be(const struct bench *bench, const char *values)
{
    cleanup_json json_t *expected = parse(values);

    assert_true(json_equal(bench->values, expected));
}

/* ---- Values ---- */

static void no_rules_give_an_empty_object(void **state)
{
    struct bench *bench = *state;

    start(bench, "[]");
    must_be(bench, "{}");
}

static void values_are_exported_when_all_are_there(void **state)
{
    struct bench *bench = *state;

    start(bench, "[{'key': 'x.y'}, {'key': 'x.z', 'from': 'v1 Secret ns/s', 'path': '.data.p'}]");
    must_say(bench, "export x.y: ConfigMap ns/a: was not read yet; "
                    "export x.z: Secret ns/s: was not read yet");
    fake_deliver(bench->cluster, A, "{'a': {'b': 1}}");
    fake_deliver(bench->cluster, "secrets ns/s", NULL); /* it comes late */
    must_say(bench, "export x.z: Secret ns/s: does not exist");
    fake_deliver(bench->cluster, "secrets ns/s", "{'data': {}}"); /* and its value later */
    must_say(bench, "export x.z: Secret ns/s: .data.p: ");
    fake_deliver(bench->cluster, A, "{'a': 2}"); /* the newest value counts */
    fake_deliver(bench->cluster, "secrets ns/s", "{'data': {'p': '" CANARY "'}}");
    must_be(bench, "{'x': {'y': 2, 'z': '" CANARY "'}}");
    assert_int_equal(bench->cluster->request_count, 0);
}

static void a_value_that_vanishes_is_waited_for_again(void **state)
{
    struct bench *bench = *state;

    start(bench, "[{'key': 'x'}, {'key': 'y', 'from': 'v1 Secret ns/s'}]");
    fake_deliver(bench->cluster, A, "{'a': 1}");
    fake_deliver(bench->cluster, A, NULL);
    fake_deliver(bench->cluster, "secrets ns/s", "{'a': 2}");
    must_say(bench, "export x: ConfigMap ns/a: does not exist");
    fake_deliver(bench->cluster, A, "{'a': 3}");
    must_be(bench, "{'x': 3, 'y': 2}");
}

static void a_filter_without_a_match_and_several_matches_are_named_and_waited_for(void **state)
{
    struct bench *bench = *state;

    start(bench, "[{'path': '.c[?(@.t==\\'x\\')].v'}]");
    fake_deliver(bench->cluster, A, "{'c': [{'t': 'y', 'v': '" CANARY "'}]}");
    must_say(bench, "export k: ConfigMap ns/a: .c[?(@.t==\"x\")].v: ");
    fake_deliver(bench->cluster, A, "{'c': '" CANARY "'}");
    must_say(bench, "export k: ConfigMap ns/a: .c[?(@.t==\"x\")].v: ");
    fake_deliver(bench->cluster, A,
                 "{'c': [{'t': 'x', 'v': '" CANARY "'}, {'t': 'x', 'v': '" CANARY "'}]}");
    must_say(bench, "found 2 values, but an export is one");
    fake_deliver(bench->cluster, A, "{'c': [{'t': 'x', 'v': 1}]}");
    must_be(bench, "{'k': 1}");
}

static void an_interruption_of_the_watch_is_named_and_changes_nothing(void **state)
{
    struct bench *bench = *state;

    start(bench, "[{'key': 'x'}, {'key': 'y', 'from': 'v1 Secret ns/s'}]");
    fake_deliver_error(bench->cluster, "secrets ns/s", ERROR_DENIED, "secrets is forbidden");
    must_say(bench, "export y: Secret ns/s: secrets is forbidden");
    fake_deliver(bench->cluster, A, "{'a': 1}");
    fake_deliver_error(bench->cluster, A, ERROR_TEMPORARY, "connection reset");
    fake_deliver(bench->cluster, "secrets ns/s", "{'a': 2}");
    must_be(bench, "{'x': 1, 'y': 2}");
}

static void objects_just_written_are_not_read_again(void **state)
{
    struct bench *bench = *state;

    bench->seen = parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', "
                        "'name': 'a'}, 'a': 1}");
    start(bench, "[{'key': 'x'}]");
    must_be(bench, "{'x': 1}");
    assert_int_equal(bench->cluster->watch_count, 0);
}

static void objects_just_written_without_the_value_are_watched(void **state)
{
    struct bench *bench = *state;

    bench->seen = parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', "
                        "'name': 'a'}}");
    start(bench, "[{'key': 'x'}]");
    fake_deliver(bench->cluster, A, "{'a': 1}");
    must_be(bench, "{'x': 1}");
}

static void objects_just_written_are_not_those_of_another_cluster(void **state)
{
    struct bench *bench = *state;

    bench->seen = parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', "
                        "'name': 'a'}, 'a': {'name': 'a'}, 'b': 1}");
    start(bench, "[{'key': 'x', 'target': 't'}, "
                 "{'key': 'y', 'target': 't', 'from': 'v1 Secret ns/s', 'ref': 'v1 ConfigMap'}]");
    fake_deliver(bench->second, "secrets ns/s", "{'a': {'name': 'b'}}");
    fake_deliver(bench->second, "configmaps ns/b", "{'b': 3}");
    fake_deliver(bench->second, A, "{'a': 2}");
    fake_run(bench->cluster);
    must_be(bench, "{'x': 2, 'y': 3}");
    assert_int_equal(bench->cluster->watch_count, 0);
}

/* ---- References ---- */

static void a_value_is_read_from_the_object_that_is_referred_to(void **state)
{
    struct bench *bench = *state;

    start(bench, REFERRING);
    fake_deliver(bench->cluster, A, "{'a': {'name': 's'}}");
    must_say(bench, "export k: Secret ns/s (which ConfigMap ns/a refers to): was not read yet");
    fake_deliver(bench->cluster, "secrets ns/s", NULL);
    must_say(bench, "export k: Secret ns/s (which ConfigMap ns/a refers to): does not exist");
    fake_deliver_error(bench->cluster, "secrets ns/s", ERROR_DENIED, "secrets is forbidden");
    must_say(bench, "export k: Secret ns/s (which ConfigMap ns/a refers to): secrets is forbidden");
    fake_deliver(bench->cluster, "secrets ns/s", "{}");
    must_say(bench, "export k: Secret ns/s (which ConfigMap ns/a refers to): .b: ");
    fake_deliver(bench->cluster, A, "{'a': {'name': 's'}}");
    assert_int_equal(bench->cluster->watch_count, 2); /* the same object is not watched again */
    fake_deliver(bench->cluster, "secrets ns/s", "{'b': 1}");
    must_be(bench, "{'k': 1}");
}

static void a_reference_may_change_and_vanish(void **state)
{
    struct bench *bench = *state;

    start(bench,
          "[{'key': 'k', 'ref': 'v1 Secret'}, {'key': 'other', 'from': 'v1 ConfigMap ns/o'}]");
    fake_deliver(bench->cluster, A, "{'a': {'name': 's'}}");
    fake_deliver(bench->cluster, "secrets ns/s", "{'b': 1}");
    fake_deliver(bench->cluster, A, "{'a': {'name': 't', 'namespace': 'x'}}");
    assert_false(fake_is_watched(bench->cluster, "secrets ns/s"));
    fake_deliver(bench->cluster, "configmaps ns/o", "{'a': 0}");
    must_say(bench, "export k: Secret x/t (which ConfigMap ns/a refers to): was not read yet");
    fake_deliver(bench->cluster, A, NULL);
    assert_false(fake_is_watched(bench->cluster, "secrets x/t"));
    must_say(bench, "export k: ConfigMap ns/a: does not exist");
    fake_deliver(bench->cluster, A, "{'a': '" CANARY "'}");
    must_say(bench, "export k: ConfigMap ns/a: .a: expected an object with name and namespace, got "
                    "a string");
    fake_deliver(bench->cluster, A, "{'a': {'name': 's'}}");
    fake_deliver(bench->cluster, "secrets ns/s", "{'b': 2}");
    must_be(bench, "{'k': 2, 'other': 0}");
}

static void a_reference_that_may_be_secret_is_not_shown(void **state)
{
    struct bench *bench = *state;

    start(bench, "[{'key': 'k', 'from': 'v1 Secret ns/s', 'ref': 'v1 ConfigMap'}]");
    fake_deliver(bench->cluster, "secrets ns/s", "{'a': {'name': '" CANARY "'}}");
    must_say(bench, "export k: ConfigMap (which Secret ns/s refers to): was not read yet");
    fake_deliver(bench->cluster, "configmaps ns/" CANARY, NULL);
    must_say(bench, "export k: ConfigMap (which Secret ns/s refers to): does not exist");
    fake_deliver_error(bench->cluster, "configmaps ns/" CANARY, ERROR_DENIED,
                       "configmap " CANARY " is forbidden");
    must_say(bench, "export k: ConfigMap (which Secret ns/s refers to): denied");
    fake_deliver(bench->cluster, "configmaps ns/" CANARY, "{}");
    must_say(bench, "export k: ConfigMap (which Secret ns/s refers to): .b: ");
}

static void references_between_objects_just_written_cost_no_request(void **state)
{
    struct bench *bench = *state;

    bench->seen = parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', "
                        "'name': 'a'}, 'a': {'name': 'a'}, 'b': 1}");
    start(bench, "[{'key': 'k', 'ref': 'v1 ConfigMap'}]");
    must_be(bench, "{'k': 1}");
    assert_int_equal(bench->cluster->watch_count, 0);
}

static void a_reference_from_an_object_just_written_is_followed(void **state)
{
    struct bench *bench = *state;

    bench->seen = parse("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'namespace': 'ns', "
                        "'name': 'a'}, 'a': {'name': 's'}}");
    start(bench, REFERRING);
    assert_int_equal(bench->cluster->watch_count, 1);
    fake_deliver(bench->cluster, "secrets ns/s", "{'b': 1}");
    must_be(bench, "{'k': 1}");
}

/* ---- Errors ---- */

static void bad_rules_are_refused(void **state)
{
    static const struct {
        const char *rules, *expected;
    } cases[] = {
        {"[{'key': 'a..b'}]",
         "invalid key \"a..b\" of an export: expected names separated by dots"},
        {"[{'key': 'x', 'target': 't'}]", "export x: target t was not resolved"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        void *prepared = NULL;
        struct bench *bench = NULL;
        struct cluster *second = NULL;
        struct error err = {0};

        (void)setup(&prepared);
        bench = prepared;
        second = steal(&bench->second);
        assert_int_equal(try(bench, cases[i].rules, &err), -1);
        assert_string_equal(err.text, cases[i].expected);
        bench->second = second;
        (void)teardown(&prepared);
    }
}

static void they_can_be_cancelled_at_every_point(void **state)
{
    (void)state;
    exports_cancel(NULL);
    for (int steps = 0; steps < 6; steps++) {
        void *prepared = NULL;
        struct bench *bench = NULL;
        struct error err = {0};

        (void)setup(&prepared);
        bench = prepared;
        bench->cluster->is_lookup_slow = true;
        assert_int_equal(try(bench, REFERRING, &err), 0);
        if (steps > 0)
            fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_TEMPORARY);
        if (steps > 1)
            fake_advance(bench->cluster, 1000);
        if (steps > 2)
            fake_answer_lookup(bench->cluster, "ConfigMap", ERROR_NONE);
        if (steps > 3)
            fake_deliver(bench->cluster, A, "{'a': {'name': 's'}}");
        if (steps > 4)
            fake_answer_lookup(bench->cluster, "Secret", ERROR_NONE);
        (void)teardown(&prepared); /* cancels, and fails if anything is left */
    }
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        test(no_rules_give_an_empty_object),
        test(values_are_exported_when_all_are_there),
        test(a_value_that_vanishes_is_waited_for_again),
        test(a_filter_without_a_match_and_several_matches_are_named_and_waited_for),
        test(an_interruption_of_the_watch_is_named_and_changes_nothing),
        test(objects_just_written_are_not_read_again),
        test(objects_just_written_without_the_value_are_watched),
        test(objects_just_written_are_not_those_of_another_cluster),
        test(a_value_is_read_from_the_object_that_is_referred_to),
        test(a_reference_may_change_and_vanish),
        test(a_reference_that_may_be_secret_is_not_shown),
        test(references_between_objects_just_written_cost_no_request),
        test(a_reference_from_an_object_just_written_is_followed),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(they_can_be_cancelled_at_every_point),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
