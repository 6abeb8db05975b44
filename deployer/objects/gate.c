/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/gate.h"

static struct gate_count *count_of(struct gate *gate, const void *cluster)
{
    for (size_t i = 0; i < gate->count_used; i++) {
        if (gate->counts[i].cluster == cluster)
            return &gate->counts[i];
    }
    return NULL;
}

static bool has_room(struct gate *gate, const void *cluster)
{
    const struct gate_count *count = count_of(gate, cluster);

    return gate->inside < GATE_TOTAL_MAX && (!count || count->inside < GATE_CLUSTER_MAX);
}

static void wait_in_queue(struct gate *gate, struct gate_place *place)
{
    place->is_waiting = true;
    place->next = NULL;
    place->previous = gate->last;
    if (gate->last)
        gate->last->next = place;
    else
        gate->first = place;
    gate->last = place;
}

static void leave_queue(struct gate *gate, struct gate_place *place)
{
    if (place->previous)
        place->previous->next = place->next;
    else
        gate->first = place->next;
    if (place->next)
        place->next->previous = place->previous;
    else
        gate->last = place->previous;
    place->next = place->previous = NULL;
    place->is_waiting = false;
}

static void go_inside(struct gate *gate, struct gate_place *place)
{
    struct gate_count *count = count_of(gate, place->cluster);

    if (!count) {
        count = &gate->counts[gate->count_used++];
        *count = (struct gate_count){.cluster = place->cluster};
    }
    count->inside++;
    gate->inside++;
    place->is_inside = true;
}

bool gate_enter(struct gate *gate, struct gate_place *place, const void *cluster, void *data)
{
    if (place->is_inside || place->is_waiting)
        return place->is_inside;
    place->cluster = cluster;
    place->data = data;
    if (has_room(gate, cluster))
        go_inside(gate, place);
    else
        wait_in_queue(gate, place);
    return place->is_inside;
}

static void admit_waiting(struct gate *gate)
{
    for (struct gate_place *place = gate->first; place; place = place->next) {
        if (!has_room(gate, place->cluster))
            continue;
        leave_queue(gate, place);
        go_inside(gate, place);
        gate->on_room(place->data);
        return; /* only one has left */
    }
}

void gate_leave(struct gate *gate, struct gate_place *place)
{
    struct gate_count *count = NULL;

    if (place->is_waiting)
        leave_queue(gate, place);
    if (!place->is_inside)
        return;
    place->is_inside = false;
    gate->inside--;
    count = count_of(gate, place->cluster);
    if (count && --count->inside == 0)
        *count = gate->counts[--gate->count_used];
    admit_waiting(gate);
}
