/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/removal_bench.h"

static const char *const verdicts[] = {
    [REMOVAL_DELETE] = "deleted",  [REMOVAL_REPLACED] = "replaced", [REMOVAL_MOVED] = "moved",
    [REMOVAL_FOREIGN] = "foreign", [REMOVAL_KEPT] = "kept",
};

static bool may_send(const void *data)
{
    return data != NULL;
}

static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct removal_bench *bench = data;
    size_t length = strlen(bench->removed);

    assert_false(bench->is_done);
    (void)snprintf(bench->removed + length, sizeof(bench->removed) - length, "%s%s%s%s %s",
                   length ? "; " : "", ref->namespace_name ? ref->namespace_name : "",
                   ref->namespace_name ? "/" : "", ref->name, verdicts[verdict]);
    if (bench->cancel_at > 0 && --bench->cancel_at == 0)
        removal_cancel(steal(&bench->removal));
}

static void on_done(void *data)
{
    struct removal_bench *bench = data;

    assert_false(bench->is_done);
    bench->is_done = true;
    removal_cancel(bench->removal); /* is allowed here and has no effect */
    bench->removal = NULL;
}

void bench_add(struct removal_bench *bench, const char *entry)
{
    struct inventory_entry added = {.policy = POLICY_MANAGE};

    if (strncmp(entry, "keep ", 5) == 0) {
        added.policy = POLICY_KEEP;
        entry += 5;
    } else if (strncmp(entry, "ignore ", 7) == 0) {
        added.policy = POLICY_IGNORE;
        entry += 7;
    }
    added.ref = parse_ref(entry);
    (void)inventory_add(&bench->entries, added);
}

int bench_try(struct removal_bench *bench, const char *groups, struct error *err)
{
    struct removal_options options = {
        .cluster = bench->cluster,
        .entries = &bench->entries,
        .owner = {.label_key = "owner", .label_value = "me"},
        .field_manager = "manager",
        .may_send = may_send,
        .on_removed = on_removed,
        .on_done = on_done,
        .data = bench,
    };

    bench->groups = parse_groups(groups);
    options.groups = bench->groups.groups;
    options.group_count = bench->groups.count;
    bench->clusters = xcalloc(bench->groups.count + 1, sizeof(struct cluster *));
    for (size_t i = 0; i < bench->groups.count; i++)
        bench->clusters[i] = bench->groups.groups[i].target_name ? bench->second : NULL;
    options.group_clusters = bench->clusters;
    return removal_start(&options, &bench->removal, err);
}

void bench_start(struct removal_bench *bench, const char *groups)
{
    struct error err = {0};

    if (bench_try(bench, groups, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(bench->removed, "");
    assert_int_equal(bench->cluster->watch_count, 0);
    fake_run(bench->cluster);
}

void bench_absent(struct cluster *cluster, const char *plural, const char *namespace_name,
                  const char *name)
{
    cleanup_free char *prefix = namespace_name ? xasprintf("%s/", namespace_name) : xstrdup("");
    cleanup_free char *interest = xasprintf("%s %s%s", plural, prefix, name);
    cleanup_free char *list = xasprintf("LIST %s %s? metadata.name=%s", plural, prefix, name);

    fake_deliver(cluster, interest, NULL);
    fake_answer(cluster, list, EMPTY_LIST);
}

void bench_must_say(const struct removal_bench *bench, const char *text)
{
    cleanup_free char *said = removal_describe(bench->removal);

    if (!text)
        assert_null(said);
    else if (!said || !strstr(said, text))
        fail_msg("'%s' is not in '%s'", text, said ? said : "(nothing)");
}

int bench_setup(void **state)
{
    struct removal_bench *bench = xcalloc(1, sizeof(*bench));

    fake_pair_setup(&bench->cluster, &bench->second);
    *state = bench;
    return 0;
}

int bench_teardown(void **state)
{
    struct removal_bench *bench = *state;
    struct cluster *first = bench->cluster;
    struct cluster *second = bench->second;

    removal_cancel(bench->removal);
    inventory_done(&bench->entries);
    test_groups_done(&bench->groups);
    free(bench->clusters);
    free(bench);
    return fake_pair_teardown(first, second);
}
