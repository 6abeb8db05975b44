/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/protocol/queue.h"

#include "deployer/protocol/task.h"

void queue_add(struct task_queue *queue, struct task *task, enum queue_lane lane)
{
    struct task *last = queue->lanes[lane].last;

    task->place = (struct queue_place){.previous = last, .lane = lane, .is_taken = true};
    *(last ? &last->place.next : &queue->lanes[lane].first) = task;
    queue->lanes[lane].last = task;
    queue->length++;
}

void queue_remove(struct task_queue *queue, struct task *task)
{
    const struct queue_place place = task->place;

    if (!place.is_taken)
        return;
    *(place.previous ? &place.previous->place.next : &queue->lanes[place.lane].first) = place.next;
    *(place.next ? &place.next->place.previous : &queue->lanes[place.lane].last) = place.previous;
    queue->length--;
    task->place = (struct queue_place){0};
}

struct task *queue_take(struct task_queue *queue)
{
    struct task *task = NULL;

    for (size_t lane = 0; !task && lane < QUEUE_LANES; lane++)
        task = queue->lanes[lane].first;
    if (task)
        queue_remove(queue, task);
    return task;
}
