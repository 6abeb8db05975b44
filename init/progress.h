/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on a terminal, rewritten in place. Shows nothing if it is not a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

struct progress {
    int fd; /* -1: not a terminal */
    struct clock *clock;
    uint64_t shown_at_ms;
    bool is_shown;
};

/* fd and clock are borrowed. */
void progress_init(struct progress *progress, int fd, struct clock *clock);
void progress_components(struct progress *progress, size_t done, size_t known, uint64_t bytes);
/* total is 0 if it is not known. */
void progress_bytes(struct progress *progress, const char *what, uint64_t bytes, uint64_t total);
/* Clears the line. Must be called before anything is logged. */
void progress_clear(struct progress *progress);
