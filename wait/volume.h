/* SPDX-License-Identifier: Apache-2.0 */
/* The shared volume, opened once at the start. Main owns everything below and can replace it at any
 * time, so nothing below is ever opened by its absolute path. */
#pragma once

#include "common/base/error.h"

/* A path on the volume, relative to a directory that main can't replace. */
struct volume_place {
    char *root_path; /* of root_fd, for the sandbox and for messages */
    int root_fd;
    char *path; /* relative, clean */
};

struct volume {
    struct volume_place state, exports; /* usually with the same root */
};

/* Both paths must be absolute. The root is the deepest directory that contains both; if that is
 * "/", each gets a root of its own. */
int volume_open(const char *state_path, const char *exports_path, struct volume *ret_volume,
                struct error *err) must_check;
void volume_done(struct volume *volume); /* of VOLUME_INIT or an open volume, never of zeroes */

#define VOLUME_INIT                                                                                \
    {                                                                                              \
        .state = {.root_fd = -1}, .exports = {.root_fd = -1 }                                      \
    }

static inline void volume_donep(struct volume *volume)
{
    volume_done(volume);
}
#define cleanup_volume __attribute__((cleanup(volume_donep)))
