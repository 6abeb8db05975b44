/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential back-off with jitter between half of the step and the whole step. Retry-After of the
 * server is honoured. Only arithmetic; the caller owns the timer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct retry {
    uint32_t first_ms; /* delay before the second attempt */
    uint32_t max_ms;   /* steps double up to this */
    uint32_t attempts; /* failed attempts so far */
    uint64_t seed;     /* of the jitter; random after retry_init(), tests may set it */
};

void retry_init(struct retry *retry, uint32_t first_ms, uint32_t max_ms);
void retry_reset(struct retry *retry); /* after a success */
/* Counts a failure and returns the delay, which is at least err->retry_after_ms. */
uint32_t retry_next_ms(struct retry *retry, const struct error *err);
/* Whether a retry can help: only for ERROR_TEMPORARY. */
bool retry_is_useful(const struct error *err);
