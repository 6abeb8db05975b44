/* SPDX-License-Identifier: Apache-2.0 */
/* How long it is worth trying: as long as it takes, until SIGTERM puts an end to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "wait/decide.h"

struct patience {
    struct loop *loop;
    const struct observed *observed; /* may change whenever the loop runs */
    uint64_t request_ms;             /* for one request; then it is tried again */
};

/* What is left, at most max_ms; 0: it is over. */
uint64_t patience_left_ms(const struct patience *patience, uint64_t max_ms);
/* Runs the loop until *is_done (NULL: never), for ms, or until patience is over. */
int patience_run(const struct patience *patience, const bool *is_done, uint64_t ms,
                 struct error *err) must_check;
