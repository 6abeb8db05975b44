/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers for property tests: the same sequence in every run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t seed;
};

/* A number from 0 to limit - 1. */
static inline size_t random_below(struct random *random, size_t limit)
{
    random->seed = random->seed * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(random->seed >> 33) % limit;
}
