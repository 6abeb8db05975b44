/* SPDX-License-Identifier: Apache-2.0 */
/* How long requests are retried: without limit, until SIGTERM sets a deadline. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "wait/decide.h"

struct deadline {
    struct loop *loop;
    const struct observed *observed; /* may change whenever the loop runs */
    uint64_t request_ms;             /* timeout of one request; it is retried afterwards */
};

/* The time left, at most max_ms; 0: the deadline has passed. */
uint64_t deadline_left_ms(const struct deadline *deadline, uint64_t max_ms);
/* Runs the loop until *is_done is true (NULL: never), ms have passed or the deadline has passed. */
int deadline_run(const struct deadline *deadline, const bool *is_done, uint64_t ms,
                 struct error *err) must_check;
