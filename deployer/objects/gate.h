/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds how many operations are under way, for each cluster and in total, so that a cluster that
 * does not respond cannot take all the room. Who finds no room waits in a queue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GATE_TOTAL_MAX = 128, GATE_CLUSTER_MAX = 16 };

/* A place in the gate or in its queue. Zeroed memory is outside of both. */
struct gate_place {
    struct gate_place *next, *previous; /* in the queue */
    const void *cluster;
    void *data;
    bool is_inside, is_waiting;
};

struct gate_count {
    const void *cluster;
    size_t inside;
};

/* Zeroed memory with on_room set is an empty gate. */
struct gate {
    struct gate_count counts[GATE_TOTAL_MAX]; /* of clusters with something inside */
    size_t count_used, inside;
    struct gate_place *first, *last;
    void (*on_room)(void *data); /* a place that waited is inside now */
};

/* Whether there is room: then the place is inside. Otherwise it waits in the queue. */
bool gate_enter(struct gate *gate, struct gate_place *place, const void *cluster, void *data);
/* Leaves the gate or the queue; fine if it is in neither. */
void gate_leave(struct gate *gate, struct gate_place *place);
