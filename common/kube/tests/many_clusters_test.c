/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of many clusters may cost. Counts, never times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/kube/tests/many_clusters.h"
#include "common/net/http_nghttp2.h"

enum {
    CLUSTERS = 300,
    CLUSTER_BYTES_MAX = 40 * 1024,
    /* Memory that does not depend on the number of clusters: buffers, curl handles, the heap that
     * 256 handshakes at a time leave behind. */
    FIXED_ALLOCATED_MAX = 2 * 1024 * 1024,
    FIXED_RESIDENT_MAX = 24 * 1024 * 1024,
    EVENTS = 50,
    VISITS_PER_EVENT_MAX = 4,
    /* What the server sends at the end of a handshake (tickets, settings) may arrive during the
     * events. A client that walked all its connections for each event would visit 15,000. */
    LATE_VISITS_PER_CLUSTER_MAX = 3,
};

static int setup(void **state)
{
    static struct many_clusters all;

    many_clusters_start(&all);
    *state = &all;
    return 0;
}

static int teardown(void **state)
{
    many_clusters_stop(*state);
    return 0;
}

static void check_cost(const struct many_cost *before, const struct many_cost *after)
{
    assert_int_equal(after->descriptors - before->descriptors, CLUSTERS);
    if (!after->allocated_bytes)
        return; /* under a sanitizer */
    assert_in_range(after->allocated_bytes - before->allocated_bytes, 1,
                    CLUSTERS * CLUSTER_BYTES_MAX + FIXED_ALLOCATED_MAX);
    assert_in_range(after->resident_bytes - before->resident_bytes, 1,
                    CLUSTERS * CLUSTER_BYTES_MAX + FIXED_RESIDENT_MAX);
}

static void check_events(struct many_clusters *all)
{
    uint64_t visits = all->http->nghttp2->visit_count;

    for (unsigned i = 0; i < EVENTS; i++) {
        many_server_send_event(&all->server, i * 17);
        while (all->event_count <= i)
            many_clusters_run_once(all);
    }
    assert_in_range(all->http->nghttp2->visit_count - visits, EVENTS,
                    EVENTS * VISITS_PER_EVENT_MAX + CLUSTERS * LATE_VISITS_PER_CLUSTER_MAX);
}

/* All servers close their connections at once, as after a restart of a proxy before them. */
static void check_reconnect(struct many_clusters *all)
{
    size_t connections = 0;
    size_t resumed = 0;

    many_server_close_all(&all->server);
    while (connections < 2 * (size_t)CLUSTERS) {
        many_clusters_run_once(all);
        many_server_count(&all->server, &connections, &resumed);
    }
    /* A handshake that fails on a busy machine makes the next one a full one. */
    assert_in_range(resumed, CLUSTERS * 9 / 10, connections - CLUSTERS);
}

static void a_cluster_costs_one_descriptor_and_little_memory(void **state)
{
    struct many_clusters *all = *state;
    struct many_cost before = many_clusters_cost();
    struct many_cost after = {0};

    many_clusters_add(all, CLUSTERS);
    many_clusters_run_until_synced(all);
    after = many_clusters_cost();
    if (all->broken_count)
        fail_msg("%s", all->broken.text);
    check_cost(&before, &after);
    check_events(all);
    check_reconnect(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cluster_costs_one_descriptor_and_little_memory, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
