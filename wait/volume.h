/* SPDX-License-Identifier: Apache-2.0 */
/* The shared volume, held by descriptor from the start. Main owns what is below and can replace it
 * at any time, so nothing below is ever opened by its full path. */
#pragma once

#include "common/base/error.h"

/* One place on the volume: a descriptor that main can't move, and the way from there. */
struct volume_place {
    char *root_path; /* of root_fd, for the sandbox and for people */
    int root_fd;
    char *path; /* relative, clean */
};

struct volume {
    struct volume_place state, exports; /* mostly with the same root */
};

/* Both paths are absolute. The root is the deepest directory that holds both; where they have none
 * in common but "/", each gets its own. */
int volume_open(const char *state_path, const char *exports_path, struct volume *ret_volume,
                struct error *err) must_check;
void volume_done(struct volume *volume); /* zeroed is not fine: VOLUME_INIT is */

#define VOLUME_INIT                                                                                \
    {                                                                                              \
        .state = {.root_fd = -1}, .exports = {.root_fd = -1 }                                      \
    }

static inline void volume_donep(struct volume *volume)
{
    volume_done(volume);
}
#define cleanup_volume __attribute__((cleanup(volume_donep)))
