/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/checks_bench.h"

void bench_on_ready(void *data)
{
    struct checks_bench *bench = data;

    bench->is_ready = true;
    checks_cancel(bench->checks); /* is allowed here and has no effect */
    bench->checks = NULL;
}

void bench_on_failed(void *data, const struct error *err)
{
    struct checks_bench *bench = data;

    assert_int_equal(err->kind, ERROR_INVALID);
    (void)snprintf(bench->failure, sizeof(bench->failure), "%s", err->text);
    bench->checks = NULL;
}

int bench_setup(void **state)
{
    struct checks_bench *bench = xcalloc(1, sizeof(*bench));

    fake_pair_setup(&bench->cluster, &bench->second);
    *state = bench;
    return 0;
}

int bench_teardown(void **state)
{
    struct checks_bench *bench = *state;
    struct cluster *first = bench->cluster;
    struct cluster *second = bench->second;

    checks_cancel(bench->checks);
    for (size_t i = 0; i < bench->count; i++) {
        object_ref_done(&bench->refs[i]);
        kind_done(&bench->kinds[i]);
        json_decref(bench->seen[i]);
    }
    for (size_t i = 0; i < bench->custom_count; i++)
        custom_check_done(&bench->custom[i]);
    free(bench->custom);
    free(bench->clusters);
    free(bench);
    return fake_pair_teardown(first, second);
}

void bench_add(struct checks_bench *bench, const char *ref, const char *plural, const char *seen)
{
    bench->refs[bench->count] = parse_ref(ref);
    bench->kinds[bench->count] = (struct kind){xstrdup(""), xstrdup("v1"), xstrdup(plural), true};
    bench->seen[bench->count] = seen ? parse(seen) : NULL;
    bench->count++;
}

int bench_try(struct checks_bench *bench, const char *custom, struct error *err)
{
    cleanup_json json_t *doc = parse(custom);
    const struct checks_options options = {
        .cluster = bench->cluster,
        .objects = bench->refs,
        .kinds = bench->kinds,
        .seen = bench->seen,
        .object_count = bench->count,
        .rules = bench->rules,
        .custom = bench->custom = xcalloc(json_array_size(doc) + 1, sizeof(*bench->custom)),
        .custom_clusters = bench->clusters =
            xcalloc(json_array_size(doc) + 1, sizeof(struct cluster *)),
        .custom_count = json_array_size(doc),
        .on_ready = bench_on_ready,
        .on_failed = bench_on_failed,
        .data = bench,
    };

    bench->custom_count = json_array_size(doc);
    for (size_t i = 0; i < bench->custom_count; i++) {
        bench->custom[i] = parse_check(json_array_get(doc, i));
        bench->clusters[i] = bench->custom[i].target_name ? bench->second : NULL;
    }
    return checks_start(&options, &bench->checks, err);
}

void bench_start(struct checks_bench *bench, const char *custom)
{
    struct error err = {0};

    if (bench_try(bench, custom, &err) < 0)
        fail_msg("%s", err.text);
    assert_false(bench->is_ready);
    assert_string_equal(bench->failure, "");
    fake_run(bench->cluster);
}

void bench_must_say(const struct checks_bench *bench, const char *text)
{
    cleanup_free char *said = NULL;

    assert_false(bench->is_ready);
    said = checks_describe(bench->checks);
    if (!said || !strstr(said, text))
        fail_msg("'%s' is not in '%s'", text, said ? said : "(nothing)");
}
