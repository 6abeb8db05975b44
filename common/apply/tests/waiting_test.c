/* SPDX-License-Identifier: Apache-2.0 */
/* Removal, checks and exports with real watches: what they cost, and what they take for gone. */
#include "common/apply/checks.h"
#include "common/apply/exports.h"
#include "common/apply/removal.h"
#include "common/apply/tests/api_bench.h"
#include "common/apply/tests/exports_parse.h"

#define MAPS "/api/v1/namespaces/ns/configmaps"
#define OURS "{\"metadata\": {\"labels\": {\"owner\": \"me\"}}}"

struct run {
    struct api_bench *bench;
    struct inventory entries;
    struct removal *removal;
    struct checks *checks;
    struct exports *exports;
    bool is_done;
    size_t removed_count;
    json_t *values;
};

static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct run *run = data;

    (void)ref;
    assert_int_equal(verdict, REMOVAL_DELETE);
    run->removed_count++;
}

static void on_done(void *data)
{
    ((struct run *)data)->is_done = true;
}

static void on_failed(void *data, const struct error *err)
{
    (void)data;
    fail_msg("%s", err->text);
}

static void on_values(void *data, json_t *values)
{
    ((struct run *)data)->values = values;
    on_done(data);
}

static void add(struct run *run, const char *entry)
{
    struct inventory_entry added = {.policy = POLICY_MANAGE, .ref = parse_ref(entry)};

    (void)inventory_add(&run->entries, added);
}

static void start_removal(struct run *run)
{
    struct error err = {0};
    const struct removal_options options = {
        .cluster = run->bench->cluster,
        .groups = REMOVAL_DEFAULT_GROUPS,
        .group_count = array_length(REMOVAL_DEFAULT_GROUPS),
        .entries = &run->entries,
        .owner = {.label_key = "owner", .label_value = "me"},
        .field_manager = "manager",
        .on_removed = on_removed,
        .on_done = on_done,
        .data = run,
    };

    assert_int_equal(removal_start(&options, &run->removal, &err), 0);
}

static void run_until_logged(struct api_bench *bench, const char *text)
{
    while (api_bench_count(bench, text) == 0)
        api_bench_run_once(bench);
    api_bench_run_idle(bench);
}

/* ---- Removal ---- */

static void one_object_costs_one_watch_and_one_delete(void **state)
{
    struct run run = {.bench = *state};

    (void)api_bench_put(run.bench, MAPS "/a", OURS);
    add(&run, "v1 ConfigMap ns/a");
    start_removal(&run);
    api_bench_run(run.bench, &run.is_done);
    assert_string_equal(api_bench_log(run.bench),
                        "LIST " MAPS "[a]; DELETE " MAPS "/a; WATCH " MAPS "[a]");
    assert_null(api_bench_get(run.bench, MAPS "/a"));
    assert_int_equal(run.removed_count, 1);
    inventory_done(&run.entries);
}

static void many_objects_of_a_kind_share_one_watch(void **state)
{
    struct run run = {.bench = *state};

    for (int i = 0; i < 40; i++) {
        cleanup_free char *path = xasprintf(MAPS "/o%d", i);
        cleanup_free char *entry = xasprintf("v1 ConfigMap ns/o%d", i);

        (void)api_bench_put(run.bench, path, OURS);
        add(&run, entry);
    }
    start_removal(&run);
    api_bench_run(run.bench, &run.is_done);
    assert_int_equal(run.removed_count, 40);
    assert_int_equal(api_bench_count(run.bench, "DELETE "), 40);
    assert_int_equal(run.bench->server.request_count, 42); /* and a list and a watch */
    inventory_done(&run.entries);
}

static void a_finalizer_is_waited_for_and_objects_of_others_stay(void **state)
{
    struct run run = {.bench = *state};
    cleanup_free char *said = NULL;

    (void)api_bench_put(run.bench, MAPS "/a",
                        "{\"metadata\": {\"labels\": {\"owner\": \"me\"}, \"finalizers\": "
                        "[\"example.org/wait\"]}}");
    add(&run, "v1 ConfigMap ns/a");
    start_removal(&run);
    run_until_logged(run.bench, "DELETE ");
    said = removal_describe(run.removal);
    assert_string_equal(said, "ConfigMap ns/a: waits for finalizers (example.org/wait)");
    assert_false(run.is_done);
    api_bench_remove(run.bench, MAPS "/a");
    api_bench_run(run.bench, &run.is_done);
    assert_int_equal(api_bench_count(run.bench, "DELETE "), 1);
    inventory_done(&run.entries);
}

static void a_proxy_that_answers_everything_with_404_makes_nothing_look_gone(void **state)
{
    struct run run = {.bench = *state};

    (void)api_bench_rule(run.bench, "", -1, "404 Not Found", "no such backend");
    add(&run, "v1 ConfigMap ns/a");
    add(&run, "boats.org/v1 Ferry ns/f");
    start_removal(&run);
    for (int i = 0; i < 60; i++) {
        clock_fake_advance(&run.bench->clock, 1000);
        api_bench_run_idle(run.bench);
    }
    assert_int_equal(run.removed_count, 0);
    assert_false(run.is_done);
    assert_true(api_bench_count(run.bench, "/apis/boats.org/v1") > 0 ||
                api_bench_count(run.bench, "GET /apis ") > 0);
    removal_cancel(run.removal);
    inventory_done(&run.entries);
}

static void a_proxy_that_answers_one_read_with_404_makes_nothing_look_gone(void **state)
{
    struct run run = {.bench = *state};
    struct custom_check check = {.name = xstrdup("n"), .object_count = 1};
    const struct checks_options options = {.cluster = run.bench->cluster,
                                           .custom = &check,
                                           .custom_count = 1,
                                           .on_ready = on_done,
                                           .on_failed = on_failed,
                                           .data = &run};
    struct error err = {0};

    /* A watch that the removal joins: it has to read the object. */
    check.objects = xcalloc(1, sizeof(*check.objects));
    check.objects[0] = parse_ref("v1 ConfigMap ns/a");
    check.requirements = xcalloc(1, sizeof(*check.requirements));
    check.requirements[0] =
        (struct check_requirement){.path_text = xstrdup(".none"), .path = parse_path(".none")};
    check.requirement_count = 1;
    (void)api_bench_put(run.bench, MAPS "/a", OURS);
    assert_int_equal(checks_start(&options, &run.checks, &err), 0);
    run_until_logged(run.bench, "watch=true");
    (void)api_bench_log(run.bench);
    (void)api_bench_rule(run.bench, "GET " MAPS "/a", 1, "404 Not Found", "no such backend");
    add(&run, "v1 ConfigMap ns/a");
    start_removal(&run);
    api_bench_run(run.bench, &run.is_done);
    assert_string_equal(api_bench_log(run.bench),
                        "GET " MAPS "/a; LIST " MAPS "[a]; DELETE " MAPS "/a");
    assert_null(api_bench_get(run.bench, MAPS "/a"));
    checks_cancel(run.checks);
    custom_check_done(&check);
    inventory_done(&run.entries);
}

static void a_kind_that_discovery_does_not_have_is_gone(void **state)
{
    struct run run = {.bench = *state};

    (void)json_object_set_new(
        run.bench->objects, "/apis",
        parse("{'kind': 'APIGroupDiscoveryList', 'items': [{'metadata': {'name': 'other.org'}, "
              "'versions': []}]}"));
    add(&run, "boats.org/v1 Ferry ns/f");
    start_removal(&run);
    api_bench_run(run.bench, &run.is_done);
    assert_int_equal(run.removed_count, 1);
    inventory_done(&run.entries);
}

/* ---- Checks and exports ---- */

static void waiting_sends_nothing_beyond_its_watch(void **state)
{
    struct run run = {.bench = *state};
    cleanup_json json_t *doc = parse("{'objects': ['v1 ConfigMap ns/a'], 'labels': 'v1 ConfigMap "
                                     "l=m', 'requirements': [{'path': '.ready', 'op': '==', "
                                     "'values': [true]}]}");
    struct custom_check check = parse_check(doc);
    const struct checks_options options = {.cluster = run.bench->cluster,
                                           .custom = &check,
                                           .custom_count = 1,
                                           .on_ready = on_done,
                                           .on_failed = on_failed,
                                           .data = &run};
    struct error err = {0};

    assert_int_equal(checks_start(&options, &run.checks, &err), 0);
    run_until_logged(run.bench, MAPS "?watch");
    (void)api_bench_put(run.bench, MAPS "/a", "{\"ready\": false}");
    (void)api_bench_put(run.bench, MAPS "/b",
                        "{\"ready\": true, \"metadata\": {\"labels\": {\"l\": \"m\"}}}");
    api_bench_run_idle(run.bench);
    (void)api_bench_log(run.bench);
    assert_false(run.is_done);
    (void)api_bench_put(run.bench, MAPS "/a", "{\"ready\": true}");
    api_bench_run(run.bench, &run.is_done);
    assert_string_equal(api_bench_log(run.bench), "");
    custom_check_done(&check);
}

static void an_export_through_a_reference_costs_two_watches(void **state)
{
    struct run run = {.bench = *state};
    cleanup_json json_t *doc = parse("{'key': 'k', 'path': '.ref', 'ref': 'v1 Secret', 'refPath': "
                                     "'.data.x'}");
    cleanup_json json_t *expected = parse("{'k': 'eA=='}");
    struct export_rule rule = parse_export(doc);
    const struct exports_options options = {.cluster = run.bench->cluster,
                                            .rules = &rule,
                                            .count = 1,
                                            .on_done = on_values,
                                            .data = &run};
    struct error err = {0};

    (void)api_bench_put(run.bench, MAPS "/a", "{\"ref\": {\"name\": \"s\"}}");
    assert_int_equal(exports_start(&options, &run.exports, &err), 0);
    run_until_logged(run.bench, "secrets?watch");
    (void)api_bench_put(run.bench, "/api/v1/namespaces/ns/secrets/s",
                        "{\"data\": {\"x\": \"eA==\"}}");
    api_bench_run(run.bench, &run.is_done);
    assert_true(json_equal(run.values, expected));
    assert_int_equal(run.bench->server.request_count, 4);
    json_decref(run.values);
    export_rule_done(&rule);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(one_object_costs_one_watch_and_one_delete),
        test(many_objects_of_a_kind_share_one_watch),
        test(a_finalizer_is_waited_for_and_objects_of_others_stay),
        cmocka_unit_test_setup_teardown(
            a_proxy_that_answers_everything_with_404_makes_nothing_look_gone, api_bench_setup_fake,
            api_bench_teardown),
        test(a_proxy_that_answers_one_read_with_404_makes_nothing_look_gone),
        test(a_kind_that_discovery_does_not_have_is_gone),
        test(waiting_sends_nothing_beyond_its_watch),
        test(an_export_through_a_reference_costs_two_watches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
