/* SPDX-License-Identifier: Apache-2.0 */
/* Time is a parameter: programs pass the machine's clock, tests pass one that they move by hand. */
#pragma once

#include <stdint.h>

struct clock {
    uint64_t (*monotonic_ms)(struct clock *clock); /* never goes back: for timeouts */
    int64_t (*unix_ms)(struct clock *clock);       /* can jump: only for what people read */
};

/* The machine's own clock; shared, constant. */
struct clock *clock_system(void);

struct clock_fake {
    struct clock clock; /* pass &fake.clock */
    uint64_t monotonic_now_ms;
    int64_t unix_now_ms;
};

/* Starts at the given wall time, with the monotonic clock at 1. */
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
