/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/watch_position.h"
#include "common/kube/watch_target.h"

#define SERVER "https://s"

static const struct kube_watch_options OPTIONS = {
    .resource = {"apps", "v1", "deployments"}, .label_selector = "a=b", .stream_s = 7};

static struct watch_target *get(const struct kube_watch_options *options)
{
    struct watch_target *target = NULL;
    struct error err = {0};

    assert_int_equal(watch_target_get(options, SERVER, &target, &err), 0);
    return target;
}

static void equal_watches_share_their_options(void **state)
{
    struct kube_watch_pool pool = {0};
    cleanup_free char *group = xstrdup("apps");
    struct kube_watch_options options = OPTIONS;
    struct watch_target *first = NULL, *second = NULL;
    int owner = 0;

    (void)state;
    options.pool = &pool;
    first = get(&options);
    /* What is a watch's own, and where texts are, does not matter. */
    options.resource.group = group;
    options.data = &owner;
    options.is_without_bookmarks = true;
    second = get(&options);
    assert_ptr_equal(first, second);
    assert_null(second->options.data);
    assert_ptr_not_equal(second->options.resource.group, group);
    watch_target_put(first);
    assert_string_equal(second->options.resource.group, "apps");
    assert_int_equal(pool.targets.count, 1);
    watch_target_put(second);
    assert_int_equal(pool.targets.count, 0);
    kube_watch_pool_done(&pool);
}

static void watches_that_differ_share_nothing(void **state)
{
    static const char *const skipped[] = {"spec", NULL};
    struct kube_watch_pool pool = {0};
    struct kube_watch_options all[10];
    struct watch_target *targets[array_length(all)];

    (void)state;
    for (size_t i = 0; i < array_length(all); i++) {
        all[i] = OPTIONS;
        all[i].pool = &pool;
    }
    all[1].resource.version = "v2";
    all[2].resource.plural = "statefulsets";
    all[3].namespace_name = "n";
    all[4].label_selector = NULL;
    all[5].field_selector = "metadata.name=a";
    all[6].stream_s = 8;
    all[7].is_metadata_only = true;
    all[8].skipped_members = skipped;
    all[9].pool = NULL;
    for (size_t i = 0; i < array_length(all); i++)
        targets[i] = get(&all[i]);
    for (size_t i = 0; i < array_length(all); i++) {
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(targets[i], targets[j]);
    }
    assert_int_equal(pool.targets.count, array_length(all) - 1);
    for (size_t i = 0; i < array_length(all); i++)
        watch_target_put(targets[i]);
    assert_int_equal(pool.targets.count, 0);
    kube_watch_pool_done(&pool);
}

static void names_that_cannot_be_part_of_a_url_are_invalid(void **state)
{
    struct kube_watch_options options = OPTIONS;
    struct watch_target *target = NULL;
    struct error err = {0};

    (void)state;
    options.namespace_name = "..";
    assert_int_equal(watch_target_get(&options, SERVER, &target, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void a_version_is_sent_back_as_it_was_received(void **state)
{
    static const struct {
        const char *version;
        uint64_t newest;
        bool is_allocated;
    } cases[] = {
        {"1", 1, false},
        {"18446744073709551615", UINT64_MAX, false},
        {"18446744073709551616", 0, true},
        {"007", 7, true},
        {"0", 0, true},
        {"opaque", 0, true},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct watch_position position = {0};
        char text[WATCH_POSITION_TEXT_SIZE];

        assert_false(watch_position_is_set(&position));
        assert_null(watch_position_get(&position, text));
        watch_position_remember(&position, "other");
        watch_position_remember(&position, cases[i].version);
        watch_position_remember(&position, "");
        assert_true(watch_position_is_set(&position));
        assert_string_equal(watch_position_get(&position, text), cases[i].version);
        assert_int_equal(position.text != NULL, cases[i].is_allocated);
        assert_true(position.newest == cases[i].newest);
        watch_position_forget(&position);
        assert_false(watch_position_is_set(&position));
        assert_true(position.newest == cases[i].newest);
        watch_position_done(&position);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_watches_share_their_options),
        cmocka_unit_test(watches_that_differ_share_nothing),
        cmocka_unit_test(names_that_cannot_be_part_of_a_url_are_invalid),
        cmocka_unit_test(a_version_is_sent_back_as_it_was_received),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
