/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/patience.h"

/* A SIGTERM may bring the end nearer while the loop sleeps, so it never sleeps for long. */
enum { TURN_MAX_MS = 1000 };

uint64_t patience_left_ms(const struct patience *patience, uint64_t max_ms)
{
    uint64_t now_ms = loop_now_ms(patience->loop);
    struct plan plan = decide_plan(patience->observed, now_ms);

    if (!plan.give_up_at_ms)
        return max_ms;
    if (plan.give_up_at_ms <= now_ms)
        return 0;
    return plan.give_up_at_ms - now_ms < max_ms ? plan.give_up_at_ms - now_ms : max_ms;
}

int patience_run(const struct patience *patience, const bool *is_done, uint64_t ms,
                 struct error *err)
{
    uint64_t until_ms = loop_now_ms(patience->loop) + ms;

    while (!is_done || !*is_done) {
        uint64_t now_ms = loop_now_ms(patience->loop);
        uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;

        left_ms = patience_left_ms(patience, left_ms);
        if (!left_ms)
            break;
        if (loop_run_once(patience->loop, left_ms > TURN_MAX_MS ? TURN_MAX_MS : (int)left_ms, err) <
            0)
            return -1;
    }
    return 0;
}
