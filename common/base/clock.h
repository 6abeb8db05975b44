/* SPDX-License-Identifier: Apache-2.0 */
/* The clock is a parameter: programs pass the system clock, tests pass one that they advance. */
#pragma once

#include <stdint.h>

struct clock {
    uint64_t (*monotonic_ms)(struct clock *clock); /* for timeouts; counts suspended time */
    int64_t (*unix_ms)(struct clock *clock);       /* may jump; only for timestamps */
};

/* The system clock. Static; not to be freed. */
struct clock *clock_system(void);

struct clock_fake {
    struct clock clock; /* pass &fake.clock */
    uint64_t monotonic_now_ms;
    int64_t unix_now_ms;
};

/* Starts at this wall-clock time, with the monotonic clock at 1. */
void clock_fake_init(struct clock_fake *fake, int64_t unix_ms);
void clock_fake_advance(struct clock_fake *fake, uint64_t ms);

static inline uint64_t clock_monotonic_ms(struct clock *clock)
{
    return clock->monotonic_ms(clock);
}

static inline int64_t clock_unix_ms(struct clock *clock)
{
    return clock->unix_ms(clock);
}
