/* SPDX-License-Identifier: Apache-2.0 */
/* One line that is written over and over, for a person at a terminal; nothing anywhere else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

struct progress {
    int fd; /* -1: nobody is looking */
    struct clock *clock;
    uint64_t shown_at_ms;
    bool is_shown;
};

/* fd is shown to if it is a terminal. */
void progress_init(struct progress *progress, int fd, struct clock *clock);
void progress_components(struct progress *progress, size_t done, size_t known, uint64_t bytes);
/* total is 0 where it is not known. */
void progress_bytes(struct progress *progress, const char *what, uint64_t bytes, uint64_t total);
/* Clears the line, so that a log line can follow. */
void progress_clear(struct progress *progress);
