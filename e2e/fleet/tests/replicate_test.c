/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/replicate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka needs the headers above. */
#include <cmocka.h>

#include "e2e/fleet/tests/support.h"

enum { CLUSTERS = 12 };

struct world {
    struct support support; /* its cluster is the control plane */
    struct cluster clusters[CLUSTERS];
};

static void world_init(struct world *world)
{
    support_init(&world->support, false);
    for (uint32_t i = 1; i < CLUSTERS; i++)
        cluster_init(&world->clusters[i], &world->support.shared, i, 100);
}

static void world_done(struct world *world)
{
    for (uint32_t i = 1; i < CLUSTERS; i++)
        cluster_done(&world->clusters[i]);
    support_done(&world->support);
}

static void put(struct cluster *cluster, const char *name, const char *uid, const char *text)
{
    cleanup_json json_t *object =
        json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s}}", "metadata", "name", name, "namespace", "n",
                  "uid", uid, "creationTimestamp", "2026-01-01T00:00:00Z", "data", "key", text);

    (void)store_put(&cluster->store, cluster_builtin(cluster, "", "configmaps"), object);
}

static json_t *get(struct cluster *cluster, const char *name)
{
    const struct record *record =
        store_get(&cluster->store, cluster_builtin(cluster, "", "configmaps"), "n", name);

    return record ? record_json(record, "v1", "ConfigMap") : NULL;
}

static int copy_one(struct world *world, uint32_t to, const char *resources)
{
    const struct replica replica = {.from = &world->clusters[1],
                                    .to = &world->clusters[to],
                                    .control_plane = &world->support.cluster,
                                    .prefix = "fleet-",
                                    .namespace_name = "n",
                                    .resources = resources};
    struct error err = {0};

    return replicate(&replica, &err);
}

static void a_copy_has_the_name_of_its_cluster(void **state)
{
    struct world world;
    cleanup_json json_t *copy = NULL, *original = NULL;

    (void)state;
    world_init(&world);
    put(&world.clusters[1], "settings", "00000000-0000-4000-8000-000000000001",
        "n/fleet-1-anchor, not fleet-11, fleet-1");
    assert_int_equal(copy_one(&world, 7, ""), 0);
    copy = get(&world.clusters[7], "settings");
    original = get(&world.clusters[1], "settings");
    assert_string_equal(doc_text_or(copy, "data.key", ""),
                        "n/fleet-7-anchor, not fleet-11, fleet-7");
    assert_string_equal(doc_text_or(original, "data.key", ""),
                        "n/fleet-1-anchor, not fleet-11, fleet-1");
    assert_string_equal(doc_text_or(copy, "metadata.uid", ""),
                        doc_text_or(original, "metadata.uid", ""));
    world_done(&world);
}

static void objects_of_the_control_plane_are_copied_with_new_uids(void **state)
{
    static const char uid[] = "00000000-0000-4000-8000-000000000001";
    struct world world;
    struct cluster *control_plane = &world.support.cluster;
    cleanup_json json_t *owner = NULL, *owned = NULL;

    (void)state;
    world_init(&world);
    put(control_plane, "fleet-1", uid, "fleet-1");
    put(control_plane, "fleet-1-anchor", "00000000-0000-4000-8000-000000000002", uid);
    put(control_plane, "fleet-11", "00000000-0000-4000-8000-000000000003", "fleet-11");
    put(control_plane, "fleet-11-anchor", "00000000-0000-4000-8000-000000000004", "fleet-11");
    assert_int_equal(copy_one(&world, 2, "configmaps"), 0);
    owner = get(control_plane, "fleet-2");
    owned = get(control_plane, "fleet-2-anchor");
    assert_string_equal(doc_text_or(owner, "data.key", ""), "fleet-2");
    assert_string_not_equal(doc_text_or(owner, "metadata.uid", ""), uid);
    assert_string_equal(doc_text_or(owned, "data.key", ""), doc_text_or(owner, "metadata.uid", ""));
    assert_int_equal(
        store_count(&control_plane->store, cluster_builtin(control_plane, "", "configmaps")), 6);
    world_done(&world);
}

static void an_unknown_resource_is_an_error(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    assert_int_equal(copy_one(&world, 2, "configmaps,kymas.example.com"), -1);
    world_done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_name_of_its_cluster),
        cmocka_unit_test(objects_of_the_control_plane_are_copied_with_new_uids),
        cmocka_unit_test(an_unknown_resource_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
