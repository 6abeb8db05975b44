/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

#include "e2e/fleet/tests/support.h"

static struct record *put(struct support *support, const char *namespace_name, const char *name,
                          const char *value)
{
    const struct resource *resource = cluster_builtin(&support->cluster, "", "configmaps");
    cleanup_json json_t *object =
        json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s}}", "metadata", "name", name, "namespace",
                  namespace_name, "uid", "00000000-0000-4000-8000-000000000000",
                  "creationTimestamp", "2026-01-01T00:00:00Z", "data", "key", value);

    return store_put(&support->cluster.store, resource, object);
}

static void objects_are_ordered_by_namespace_and_name(void **state)
{
    static const char *const expected[] = {"a/y", "a/z", "b/x", "c/x"};
    struct support support;
    struct store *store = &support.cluster.store;
    const struct resource *resource = NULL;

    (void)state;
    support_init(&support, false);
    resource = cluster_builtin(&support.cluster, "", "configmaps");
    put(&support, "c", "x", "1");
    put(&support, "a", "z", "1");
    put(&support, "b", "x", "1");
    put(&support, "a", "y", "1");
    for (size_t i = 0; i < array_length(expected); i++) {
        const struct record *record = store_at(store, resource, NULL, i);
        char name[32];

        (void)snprintf(name, sizeof(name), "%s/%s", record->namespace_name->bytes,
                       record->name->bytes);
        assert_string_equal(name, expected[i]);
    }
    assert_null(store_at(store, resource, NULL, 4));
    assert_int_equal(store_first(store, resource, "b"), 2);
    assert_null(store_at(store, resource, "b", 3));
    assert_int_equal(store_after(store, resource, "a", "y"), 1);
    assert_int_equal(store_after(store, resource, "a", "yy"), 1);
    assert_int_equal(store_count(store, resource), 4);
    support_done(&support);
}

static void equal_objects_share_their_texts(void **state)
{
    struct support support;
    size_t before = 0, after = 0, bytes = 0;

    (void)state;
    support_init(&support, false);
    put(&support, "a", "first", "value");
    text_pool_size(support.shared.pool, &before, &bytes);
    for (int i = 0; i < 50; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        put(&support, "a", name, "value");
    }
    text_pool_size(support.shared.pool, &after, &bytes);
    assert_int_equal(after - before, 100); /* the name, and the name as JSON */
    support_done(&support);
}

static void every_change_has_a_version_of_its_own(void **state)
{
    struct support support;
    const struct resource *resource = NULL;
    struct record *removed = NULL;
    uint64_t first = 0;

    (void)state;
    support_init(&support, false);
    resource = cluster_builtin(&support.cluster, "", "configmaps");
    first = put(&support, "a", "x", "1")->resource_version;
    assert_int_equal(put(&support, "a", "x", "2")->resource_version, first + 1);
    removed = store_remove(&support.cluster.store, resource, "a", "x");
    assert_int_equal(removed->resource_version, first + 2);
    record_release(support.shared.pool, removed);
    assert_null(store_get(&support.cluster.store, resource, "a", "x"));
    assert_null(store_remove(&support.cluster.store, resource, "a", "x"));
    support_done(&support);
}

static void the_history_keeps_the_latest_changes(void **state)
{
    struct support support;
    const struct history *history = &support.cluster.store.history;
    uint64_t first = 0;
    size_t index = 0;

    (void)state;
    support_init(&support, false); /* keeps 100 changes */
    first = put(&support, "a", "x", "1")->resource_version;
    for (int i = 0; i < 100; i++)
        put(&support, "a", "x", i % 2 ? "1" : "2");
    assert_true(history_reaches(history, first));
    assert_false(history_reaches(history, first - 1));
    assert_int_equal(history->count, 100);
    index = history_after(history, first + 40);
    assert_int_equal(history_at(history, index)->record->resource_version, first + 41);
    assert_int_equal(history_at(history, index)->previous->resource_version, first + 40);
    assert_null(history_at(history, history_after(history, first + 100)));
    support_done(&support);
}

static void a_forgotten_history_expires_older_versions(void **state)
{
    struct support support;
    struct store *store = &support.cluster.store;
    uint64_t version = 0;

    (void)state;
    support_init(&support, false);
    version = put(&support, "a", "x", "1")->resource_version;
    history_forget(&store->history, store->pool, version + 1);
    assert_false(history_reaches(&store->history, version));
    assert_int_equal(store->history.count, 0);
    put(&support, "a", "x", "2");
    assert_int_equal(store->history.count, 1);
    support_done(&support);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_ordered_by_namespace_and_name),
        cmocka_unit_test(equal_objects_share_their_texts),
        cmocka_unit_test(every_change_has_a_version_of_its_own),
        cmocka_unit_test(the_history_keeps_the_latest_changes),
        cmocka_unit_test(a_forgotten_history_expires_older_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
