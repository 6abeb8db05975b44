/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/retry.h"

#include <sys/random.h>

#include "common/base/clock.h"

void retry_init(struct retry *retry, uint32_t first_ms, uint32_t max_ms)
{
    *retry = (struct retry){.first_ms = first_ms, .max_ms = max_ms};
    /* Jitter needs no strong randomness; two processes only have to differ. */
    if (getrandom(&retry->seed, sizeof(retry->seed), GRND_NONBLOCK) != sizeof(retry->seed))
        retry->seed = clock_monotonic_ms(clock_system()) ^ (uint64_t)(uintptr_t)retry;
}

void retry_reset(struct retry *retry)
{
    retry->attempts = 0;
}

/* splitmix64: any seed is fine, including 0. */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t mixed = (*seed += 0x9e3779b97f4a7c15U);

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

uint32_t retry_next_ms(struct retry *retry, const struct error *err)
{
    uint64_t step_ms = retry->first_ms;
    uint32_t delay_ms = 0;

    for (uint32_t i = 0; i < retry->attempts && step_ms < retry->max_ms; i++)
        step_ms *= 2;
    if (step_ms > retry->max_ms)
        step_ms = retry->max_ms;
    if (retry->attempts < UINT32_MAX)
        retry->attempts++;
    delay_ms = (uint32_t)(step_ms - next_random(&retry->seed) % (step_ms / 2 + 1));
    return delay_ms < err->retry_after_ms ? err->retry_after_ms : delay_ms;
}

bool retry_is_useful(const struct error *err)
{
    return err->kind == ERROR_TEMPORARY;
}
