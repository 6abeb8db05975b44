/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out what main left: state first, exports second, each tried whatever the other did. */
#pragma once

#include "wait/patience.h"
#include "wait/sink.h"
#include "wait/volume.h"

struct store {
    struct sink *sink;
    const struct volume *volume;
    const struct patience *patience;
    const struct origin *origin;
    const struct last_generation *last;
};

/* Both report failure in the outcome. */
void store_state(const struct store *store, struct state_outcome *ret_outcome);
void store_exports(const struct store *store, struct export_outcome *ret_outcome);

/* The sequence of a run: what it was told, else past the last one and, so that of two pods the one
 * made later always wins, no less than the second in which the pod was made. */
int64_t store_sequence(int64_t told, int64_t last, int64_t pod_created_unix_seconds);
