/* SPDX-License-Identifier: Apache-2.0 */
/* The latest changes of a cluster, from which watches resume. Older changes are dropped, as the
 * watch cache of the API server drops them; a watch from before them is answered with 410. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "e2e/fleet/record.h"
#include "e2e/fleet/resource.h"

enum change_type { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
    enum change_type type;
    const struct resource *resource;
    struct record *record;   /* of a deleted object: its last version, with the version of the
                              * deletion */
    struct record *previous; /* NULL for CHANGE_ADDED */
};

struct history {
    struct change *ring;
    size_t first, count, capacity, max;
    uint64_t dropped_version; /* of the newest change that was dropped */
};

void history_init(struct history *history, size_t max);
void history_done(struct history *history, struct text_pool *pool);
/* Takes references of its own. */
void history_add(struct history *history, struct text_pool *pool, const struct change *change);
/* Drops everything: version is then the oldest one from which a watch can resume. */
void history_forget(struct history *history, struct text_pool *pool, uint64_t version);

/* Whether a watch can resume from this version. */
bool history_reaches(const struct history *history, uint64_t version);
/* The changes by index, oldest first; NULL behind the last. Borrowed. */
const struct change *history_at(const struct history *history, size_t index);
/* The index of the first change that is newer than version. */
size_t history_after(const struct history *history, uint64_t version);
