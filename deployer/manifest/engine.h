/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for manifest items, whose whole execution is deployer/objects/run.h; and what follows
 * on it: items that are watched after their jobs (late.h). */
#pragma once

#include "deployer/engine.h"
#include "deployer/objects/run.h"

extern const struct engine_class MANIFEST_ENGINE;

struct manifest_engine {
    struct engine base;
    struct objects_engine objects;
    struct late_item *lates; /* items that are watched after their jobs, a list */
    size_t late_count;
};

/* The engine's data of a task. */
struct manifest_task {
    struct objects_task objects;
    struct late_work *late; /* what the chain of a follow-up needs; or NULL */
};

static inline struct manifest_task *manifest_task(const struct task *task)
{
    return task->data;
}

static inline struct manifest_engine *manifest_engine(const struct task *task)
{
    return (struct manifest_engine *)task->engine;
}
