/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/removal_preview.h"
#include "common/apply/tests/apply_run.h"
#include "common/base/memory.h"

struct seen {
    struct removal_forecast *forecasts;
    bool is_done;
};

static void on_done(void *data, struct removal_forecast *forecasts)
{
    struct seen *seen = data;

    seen->forecasts = forecasts;
    seen->is_done = true;
}

static struct removal_preview_options
options_for(struct api_bench *bench, const struct inventory *entries, struct seen *seen)
{
    return (struct removal_preview_options){.cluster = bench->cluster,
                                            .groups = REMOVAL_DEFAULT_GROUPS,
                                            .group_count = array_length(REMOVAL_DEFAULT_GROUPS),
                                            .entries = entries,
                                            .owner = OUR_OWNER,
                                            .on_done = on_done,
                                            .data = seen};
}

static void add(struct inventory *inventory, const char *kind, const char *name, const char *uid,
                enum apply_policy policy)
{
    struct inventory_entry entry = {.policy = policy, .is_namespaced = true};

    entry.ref.api_version = xstrdup("v1");
    entry.ref.kind = xstrdup(kind);
    entry.ref.namespace_name = xstrdup("a");
    entry.ref.name = xstrdup(name);
    entry.ref.uid = xstrdup_or_null(uid);
    (void)inventory_add(inventory, entry);
}

/* An object with the marks of an owner. Returns its uid, borrowed. */
static const char *put(struct api_bench *bench, const char *path, const struct apply_owner *owner)
{
    cleanup_free char *json = xasprintf("{\"metadata\": {\"labels\": {\"%s\": \"%s\"}}}",
                                        owner->label_key, owner->label_value);
    const json_t *object = api_bench_put(bench, path, json);

    return json_string_value(json_object_get(json_object_get(object, "metadata"), "uid"));
}

static void a_preview_judges_like_a_removal_and_only_reads(void **state)
{
    struct api_bench *bench = *state;
    cleanup_inventory struct inventory entries = {0};
    struct seen seen = {0};
    struct removal_preview_options options = options_for(bench, &entries, &seen);
    uint64_t version = 0;

    add(&entries, "ConfigMap", "ours", put(bench, MAPS "/ours", &OUR_OWNER), POLICY_MANAGE);
    add(&entries, "ConfigMap", "kept", put(bench, MAPS "/kept", &OUR_OWNER), POLICY_KEEP);
    add(&entries, "ConfigMap", "moved", put(bench, MAPS "/moved", &OTHER_OWNER), POLICY_MANAGE);
    (void)put(bench, MAPS "/replaced", &OUR_OWNER);
    add(&entries, "ConfigMap", "replaced", "another", POLICY_MANAGE);
    add(&entries, "ConfigMap", "gone", "uid-gone", POLICY_MANAGE);
    add(&entries, "ConfigMap", "denied", "uid-denied", POLICY_MANAGE);
    (void)api_bench_rule(bench, "GET " MAPS "/denied", -1, "403 Forbidden", "not for you");
    version = bench->version;
    (void)removal_preview_start(&options);
    api_bench_run(bench, &seen.is_done);
    assert_int_equal(seen.forecasts[0].verdict, REMOVAL_DELETE);
    assert_true(seen.forecasts[0].is_taken && seen.forecasts[0].live);
    assert_int_equal(seen.forecasts[1].verdict, REMOVAL_KEPT);
    assert_int_equal(seen.forecasts[2].verdict, REMOVAL_MOVED);
    assert_int_equal(seen.forecasts[3].verdict, REMOVAL_REPLACED);
    assert_null(seen.forecasts[4].live);
    assert_int_equal(seen.forecasts[4].error.kind, ERROR_NONE);
    assert_int_equal(seen.forecasts[5].error.kind, ERROR_DENIED);
    assert_non_null(strstr(seen.forecasts[5].error.text, "ConfigMap a/denied: cannot be read"));
    assert_int_equal(bench->version, version);
    assert_int_equal(api_bench_count(bench, "GET"), entries.count);
    removal_forecasts_free(seen.forecasts, entries.count);
}

static void what_no_group_takes_stays(void **state)
{
    static const struct removal_group groups[] = {{.type = REMOVAL_CRDS}};
    struct api_bench *bench = *state;
    cleanup_inventory struct inventory entries = {0};
    struct seen seen = {0};
    struct removal_preview_options options = options_for(bench, &entries, &seen);

    options.groups = groups;
    options.group_count = array_length(groups);
    add(&entries, "ConfigMap", "ours", put(bench, MAPS "/ours", &OUR_OWNER), POLICY_MANAGE);
    (void)removal_preview_start(&options);
    api_bench_run(bench, &seen.is_done);
    assert_int_equal(seen.forecasts[0].verdict, REMOVAL_DELETE);
    assert_false(seen.forecasts[0].is_taken);
    removal_forecasts_free(seen.forecasts, entries.count);
}

static void a_preview_can_be_cancelled(void **state)
{
    struct api_bench *bench = *state;
    cleanup_inventory struct inventory entries = {0};
    struct seen seen = {0};
    struct removal_preview_options options = options_for(bench, &entries, &seen);
    struct removal_preview *preview = NULL;

    add(&entries, "ConfigMap", "ours", NULL, POLICY_MANAGE);
    preview = removal_preview_start(&options);
    api_bench_run_once(bench);
    removal_preview_cancel(preview);
    removal_preview_cancel(NULL);
    assert_false(seen.is_done);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, api_bench_setup, api_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_preview_judges_like_a_removal_and_only_reads),
        test(what_no_group_takes_stays),
        test(a_preview_can_be_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
