/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that wait for their next decision. Those of items that have an execution go first, so
 * that a result does not wait behind a thousand starts; finished items that an engine looks after
 * go last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct task;

enum queue_lane { QUEUE_BEGUN, QUEUE_NEW, QUEUE_FOLLOW_UP, QUEUE_LANES };

struct task_queue {
    struct {
        struct task *first, *last;
    } lanes[QUEUE_LANES];
    size_t length;
};

/* A task's place in the queue. */
struct queue_place {
    struct task *next, *previous;
    enum queue_lane lane;
    bool is_taken;
};

void queue_add(struct task_queue *queue, struct task *task, enum queue_lane lane);
void queue_remove(struct task_queue *queue, struct task *task); /* one that is not in it is fine */
struct task *queue_take(struct task_queue *queue);              /* NULL: there is none */
