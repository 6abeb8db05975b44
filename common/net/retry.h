/* SPDX-License-Identifier: Apache-2.0 */
/* When to try again: exponential back-off with full jitter between half and all of the step, a
 * server's Retry-After honoured. Pure arithmetic; the caller owns the timer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct retry {
    uint32_t first_ms; /* delay before the second try */
    uint32_t max_ms;   /* steps double up to this */
    uint32_t attempts; /* tries that failed so far */
    uint64_t seed;     /* of the jitter; tests fix it, programs take retry_init()'s */
};

void retry_init(struct retry *retry, uint32_t first_ms, uint32_t max_ms);
void retry_reset(struct retry *retry); /* after a success */
/* Counts a failure and says how long to wait: at least err->retry_after_ms. */
uint32_t retry_next_ms(struct retry *retry, const struct error *err);
/* Whether trying again can help: ERROR_TEMPORARY only. */
bool retry_is_useful(const struct error *err);
