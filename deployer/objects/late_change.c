/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/late_change.h"

#include <string.h>

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The earlier of two times, where -1 is never. */
static int64_t first_of(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return earlier(a, b);
}

static void wait_until(struct late_decision *d, enum late_verdict verdict, int64_t unix_ms)
{
    d->verdict = verdict;
    d->wake_unix_ms = first_of(d->wake_unix_ms, unix_ms);
}

static void trigger(struct late_decision *d, const struct late_view *view, unsigned streak,
                    int64_t now)
{
    d->verdict = LATE_TRIGGERED;
    d->is_trigger = true;
    memcpy(d->memory.change, view->change, sizeof(d->memory.change));
    d->memory.triggered_unix_ms = now;
    d->memory.streak = streak;
    d->memory.is_pending = true;
}

/* When the state counts as stable. */
static int64_t stable_unix_ms(const struct late_rules *rules, const struct late_view *view)
{
    int64_t quiet = view->last_unix_ms + rules->quiet_ms;

    if (!view->is_known || !*view->change)
        return quiet;
    return earlier(quiet, view->since_unix_ms + LATE_UNSTABLE_PERIODS * rules->quiet_ms);
}

/* The change came so soon that the last trigger, or its job, may be the cause. */
static bool is_in_succession(const struct late_rules *rules, const struct late_view *view,
                             const struct late_memory *memory)
{
    return memory->triggered_unix_ms > 0 &&
           view->since_unix_ms <
               later(memory->triggered_unix_ms, view->finished_unix_ms) + rules->interval_ms;
}

static void judge_change(struct late_decision *d, const struct late_rules *rules,
                         const struct late_view *view, int64_t now)
{
    unsigned streak = is_in_succession(rules, view, &d->memory) ? d->memory.streak + 1 : 0;
    int64_t allowed = d->memory.triggered_unix_ms;

    if (rules->level != LATE_LEVEL_TRIGGER) {
        d->verdict = LATE_CHANGED;
    } else if (!rules->is_trigger_allowed) {
        d->verdict = LATE_TRIGGER_DISABLED;
    } else if (strcmp(view->change, d->memory.change) == 0) {
        d->verdict = LATE_TRIGGERED;
    } else if (streak >= LATE_STREAK_MAX) {
        d->verdict = LATE_FLAPPING;
    } else {
        if (allowed > 0)
            allowed += rules->interval_ms * ((int64_t)1 << streak);
        if (now < allowed)
            wait_until(d, LATE_BUDGET_EXHAUSTED, allowed);
        else
            trigger(d, view, streak, now);
    }
}

/* When continuousReconcile may trigger the next job. */
static int64_t due_unix_ms(const struct late_rules *rules, const struct late_view *view,
                           const struct late_memory *memory)
{
    if (rules->level != LATE_LEVEL_TRIGGER || !rules->is_trigger_allowed || view->due_unix_ms < 0)
        return -1;
    if (memory->triggered_unix_ms == 0)
        return view->due_unix_ms;
    return later(view->due_unix_ms, memory->triggered_unix_ms + rules->interval_ms);
}

struct late_decision late_decide(const struct late_rules *rules, const struct late_view *view,
                                 const struct late_memory *memory, int64_t now_unix_ms)
{
    struct late_decision d = {.wake_unix_ms = -1, .memory = *memory};
    int64_t stable = stable_unix_ms(rules, view);
    int64_t due = 0;

    /* The clock was set back: nothing may be delayed until it reaches the old time. */
    d.memory.triggered_unix_ms = earlier(d.memory.triggered_unix_ms, now_unix_ms);
    if (rules->level != LATE_LEVEL_TRIGGER || !rules->is_trigger_allowed)
        d.memory.is_pending = false;
    due = due_unix_ms(rules, view, &d.memory);
    if (d.memory.is_pending) {
        d.verdict = LATE_TRIGGERED;
        d.is_trigger = true;
        return d;
    }
    if (due >= 0 && now_unix_ms >= due) {
        trigger(&d, view, d.memory.streak, now_unix_ms);
        return d;
    }
    d.wake_unix_ms = due;
    if (now_unix_ms < stable) {
        wait_until(&d, LATE_WATCHING, stable);
    } else if (!view->is_known) {
        d.verdict = LATE_UNKNOWN;
    } else if (!*view->change) {
        d.verdict = LATE_UP_TO_DATE;
        d.memory.change[0] = '\0';
    } else {
        judge_change(&d, rules, view, now_unix_ms);
    }
    return d;
}

const char *late_verdict_reason(enum late_verdict verdict)
{
    static const char *const reasons[LATE_VERDICT_COUNT] = {
        [LATE_WATCHING] = "Watching",
        [LATE_UNKNOWN] = "NotObserved",
        [LATE_UP_TO_DATE] = "UpToDate",
        [LATE_CHANGED] = "Changed",
        [LATE_TRIGGERED] = "Triggered",
        [LATE_TRIGGER_DISABLED] = "TriggerDisabled",
        [LATE_BUDGET_EXHAUSTED] = "BudgetExhausted",
        [LATE_FLAPPING] = "Flapping",
        [LATE_NO_INSTALLATION] = "NoInstallation",
        [LATE_INSTALLATION_BUSY] = "InstallationBusy",
        [LATE_INSTALLATION_FAILED] = "InstallationFailed",
        [LATE_FORBIDDEN] = "Forbidden",
    };

    return reasons[verdict];
}

bool late_verdict_is_change(enum late_verdict verdict)
{
    return verdict > LATE_UP_TO_DATE;
}
