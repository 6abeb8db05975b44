/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/deadline.h"

/* SIGTERM may set the deadline while the loop sleeps, so a single sleep is short. */
enum { TURN_MAX_MS = 1000 };

uint64_t deadline_left_ms(const struct deadline *deadline, uint64_t max_ms)
{
    uint64_t now_ms = loop_now_ms(deadline->loop);
    struct plan plan = decide_plan(deadline->observed, now_ms);

    if (!plan.give_up_at_ms)
        return max_ms;
    if (plan.give_up_at_ms <= now_ms)
        return 0;
    return plan.give_up_at_ms - now_ms < max_ms ? plan.give_up_at_ms - now_ms : max_ms;
}

int deadline_run(const struct deadline *deadline, const bool *is_done, uint64_t ms,
                 struct error *err)
{
    uint64_t until_ms = loop_now_ms(deadline->loop) + ms;

    while (!is_done || !*is_done) {
        uint64_t now_ms = loop_now_ms(deadline->loop);
        uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;

        left_ms = deadline_left_ms(deadline, left_ms);
        if (!left_ms)
            break;
        if (loop_run_once(deadline->loop, left_ms > TURN_MAX_MS ? TURN_MAX_MS : (int)left_ms, err) <
            0)
            return -1;
    }
    return 0;
}
