/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec now = {0};

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* CLOCK_MONOTONIC stands still while the machine is suspended, but a lease does not: another
 * process takes it over meanwhile. */
static uint64_t system_monotonic_ms(struct clock *clock)
{
    (void)clock;
    return (uint64_t)read_ms(CLOCK_BOOTTIME);
}

static int64_t system_unix_ms(struct clock *clock)
{
    (void)clock;
    return read_ms(CLOCK_REALTIME);
}

struct clock *clock_system(void)
{
    static struct clock system = {.monotonic_ms = system_monotonic_ms, .unix_ms = system_unix_ms};

    return &system;
}

/* clock is the first member of clock_fake. */
static uint64_t fake_monotonic_ms(struct clock *clock)
{
    return ((struct clock_fake *)clock)->monotonic_now_ms;
}

static int64_t fake_unix_ms(struct clock *clock)
{
    return ((struct clock_fake *)clock)->unix_now_ms;
}

void clock_fake_init(struct clock_fake *fake, int64_t unix_ms)
{
    *fake = (struct clock_fake){
        .clock = {.monotonic_ms = fake_monotonic_ms, .unix_ms = fake_unix_ms},
        .monotonic_now_ms = 1,
        .unix_now_ms = unix_ms,
    };
}

void clock_fake_advance(struct clock_fake *fake, uint64_t ms)
{
    fake->monotonic_now_ms += ms;
    fake->unix_now_ms += (int64_t)ms;
}
