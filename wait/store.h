/* SPDX-License-Identifier: Apache-2.0 */
/* Stores state and exports of main. Both are attempted even if the other one fails. */
#pragma once

#include "wait/deadline.h"
#include "wait/sink.h"
#include "wait/volume.h"

struct store {
    struct sink *sink;
    const struct volume *volume;
    const struct deadline *deadline;
    const struct origin *origin;
    const struct last_generation *last;
};

/* Failures are reported in the outcome. */
void store_state(const struct store *store, struct state_outcome *ret_outcome);
void store_exports(const struct store *store, struct export_outcome *ret_outcome);

/* The sequence of this run: given if not 0, else the larger of last + 1 and the pod's creation
 * time, so that a pod created later has a higher one. */
int64_t store_sequence(int64_t given, int64_t last, int64_t pod_created_unix_seconds);
