/* SPDX-License-Identifier: Apache-2.0 */
/* many_clusters_bench [CLUSTERS [EVENTS]]: prints as JSON what that many clusters with three
 * watches each cost the client. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/kube/tests/many_clusters.h"

static double cpu_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t events = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    struct many_clusters all;
    struct many_cost before;
    struct many_cost after;
    double start_ms = 0;
    double synced_ms = 0;
    double events_ms = 0;

    many_clusters_start(&all);
    before = many_clusters_cost();
    start_ms = cpu_ms();
    many_clusters_add(&all, count);
    many_clusters_run_until_synced(&all);
    synced_ms = cpu_ms();
    after = many_clusters_cost();
    for (size_t i = 0; i < events; i++) {
        many_server_send_event(&all.server, (unsigned)(i * 7919 % (count * MANY_WATCHES)));
        while (all.event_count <= i)
            many_clusters_run_once(&all);
    }
    events_ms = cpu_ms();
    (void)printf("{\"clusters\": %zu, \"allocated_bytes\": %.0f, \"resident_bytes\": %.0f, "
                 "\"descriptors\": %.3f, \"cpu_start_ms\": %.3f, \"cpu_event_ms\": %.4f, "
                 "\"broken\": %zu}\n",
                 count, (double)(after.allocated_bytes - before.allocated_bytes) / (double)count,
                 (double)(after.resident_bytes - before.resident_bytes) / (double)count,
                 (double)(after.descriptors - before.descriptors) / (double)count,
                 (synced_ms - start_ms) / (double)count,
                 events ? (events_ms - synced_ms) / (double)events : 0, all.broken_count);
    if (all.broken_count)
        (void)fprintf(stderr, "%s\n", all.broken.text);
    many_clusters_stop(&all);
    return 0;
}
