/* SPDX-License-Identifier: Apache-2.0 */
/* What the garbage collector may touch. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/controller/index.h"

enum gc_pod {
    GC_POD_KEEP,
    GC_POD_ASK,    /* ask for its item; if that is gone, so should the pod be */
    GC_POD_REMOVE, /* over, and nobody will look at it again */
};

/* is_ours: the pod of an item that we don't know is surely not that of another Landscaper. */
enum gc_pod gc_judge_pod(const struct record *record, const struct pod_entry *entry, bool is_ours,
                         bool is_pod_kept);

/* Inputs of a run of an item that has nothing to run, made before that time. */
bool gc_is_old_input(const json_t *object, const struct record *record, int64_t before_unix_ms);
