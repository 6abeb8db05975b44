/* SPDX-License-Identifier: Apache-2.0 */
/* What one layer has placed so far. The marker of an opaque directory removes what lower layers
 * have there, but nothing of its own layer, and may come before or after that layer's entries.
 * Costs about 16 bytes an entry. Internal to common/archive. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct layer_placed {
    uint64_t *keys; /* hash table of directory and name, 0: empty slot */
    size_t count, capacity;
};

void layer_placed_done(struct layer_placed *placed);

int layer_placed_add(struct layer_placed *placed, int directory_fd, const char *name,
                     struct error *err) must_check;
/* Empties a directory except for what was added; directories that lead to it stay, too. */
int layer_placed_remove_others(const struct layer_placed *placed, int directory_fd,
                               struct error *err) must_check;
