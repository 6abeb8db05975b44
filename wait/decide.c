/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/decide.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/contract.h"

enum {
    /* Of the grace period, for storing. */
    RESERVE_MIN_MS = POD_RESERVE_SECONDS_MIN * 1000,
    RESERVE_MAX_MS = POD_RESERVE_SECONDS_MAX * 1000,
    /* Of the grace period, for the termination message. */
    MARGIN_PART = 20,
    MARGIN_MAX_MS = 5000,
    SNAPSHOT_PART = 6, /* of main's time */
    /* For a requested end. The size of the state is known after one attempt. */
    REPEATS_MAX = 3,
    REPEAT_PAUSE_MS = 1000,
};

static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

static uint64_t reserve_ms(uint64_t grace_ms)
{
    uint64_t part_ms = at_most(grace_ms / POD_RESERVE_PART, RESERVE_MAX_MS);

    return at_most(part_ms > RESERVE_MIN_MS ? part_ms : RESERVE_MIN_MS, grace_ms / 2);
}

/* How long after SIGTERM main is waited for. */
static uint64_t main_grace_ms(const struct observed *observed)
{
    return at_most(observed->main_grace_ms, observed->grace_ms - reserve_ms(observed->grace_ms));
}

/* When a main that shows no activity after SIGTERM is taken for ended; UINT64_MAX: never. */
static uint64_t idle_end_ms(const struct observed *observed)
{
    uint64_t since_ms = observed->idle_since_ms > observed->stopped_at_ms ? observed->idle_since_ms
                                                                          : observed->stopped_at_ms;

    return observed->is_idle && observed->idle_ms ? since_ms + observed->idle_ms : UINT64_MAX;
}

/* 0 as the time means that nothing is planned. */
static uint64_t earlier(uint64_t time_ms, uint64_t other_ms)
{
    return other_ms ? at_most(time_ms, other_ms) : time_ms;
}

struct plan decide_plan(const struct observed *observed, uint64_t now_ms)
{
    struct plan plan = {0};
    uint64_t grace_ms = observed->grace_ms;
    uint64_t end_ms = observed->stopped_at_ms + main_grace_ms(observed);

    if (observed->is_stopped)
        plan.give_up_at_ms =
            observed->stopped_at_ms + grace_ms - at_most(grace_ms / MARGIN_PART, MARGIN_MAX_MS);
    switch (observed->end.kind) {
    case MAIN_ENDED:
        plan.is_store_due = true;
        plan.is_export_due = observed->end.exit_code == 0;
        break;
    case MAIN_LOST:
        plan.is_store_due = true;
        break;
    case MAIN_NOT_STARTED:
        plan.is_store_due = observed->is_stopped;
        break;
    case MAIN_RUNNING:
        plan.is_snapshot_due = observed->snapshot_at_ms && now_ms >= observed->snapshot_at_ms;
        plan.wake_at_ms = observed->snapshot_at_ms;
        if (!observed->is_stopped)
            break;
        plan.is_main_idle = now_ms >= idle_end_ms(observed);
        plan.is_store_due = plan.is_main_idle || now_ms >= end_ms;
        if (plan.is_store_due) {
            plan.is_snapshot_due = false;
            plan.wake_at_ms = 0;
            break;
        }
        plan.wake_at_ms = earlier(at_most(end_ms, idle_end_ms(observed)), observed->snapshot_at_ms);
        break;
    }
    return plan;
}

uint64_t decide_snapshot_at_ms(const struct observed *observed, uint64_t now_ms)
{
    return now_ms + main_grace_ms(observed) / SNAPSHOT_PART;
}

uint64_t decide_repeat_at_ms(int attempts, uint64_t now_ms)
{
    return attempts < REPEATS_MAX ? now_ms + REPEAT_PAUSE_MS : 0;
}

const char *delivery_name(enum delivery delivery)
{
    static const char *const names[] = {
        [DELIVERY_SKIPPED] = "skipped",     [DELIVERY_STORED] = "stored",
        [DELIVERY_UNCHANGED] = "unchanged", [DELIVERY_NONE] = "none",
        [DELIVERY_FAILED] = "failed",
    };

    return names[delivery];
}

/* Appends to the message; truncates at a UTF-8 character and appends " ..." if it does not fit. */
static void append(struct verdict *verdict, const char *format, ...) printf_like(2, 3);
static void append(struct verdict *verdict, const char *format, ...)
{
    static const char dots[] = " ...";
    size_t used = strlen(verdict->message);
    size_t room = sizeof(verdict->message) - used;
    va_list arguments;
    int wanted = 0;

    va_start(arguments, format);
    wanted = vsnprintf(verdict->message + used, room, format, arguments);
    va_end(arguments);
    if (wanted < 0 || (size_t)wanted < room)
        return;
    used = sizeof(verdict->message) - sizeof(dots);
    while (used > 0 && ((unsigned char)verdict->message[used] & 0xc0) == 0x80)
        used--;
    memcpy(verdict->message + used, dots, sizeof(dots));
}

static void append_main(struct verdict *verdict, const struct observed *observed,
                        const struct plan *plan)
{
    const struct main_end *end = &observed->end;

    switch (end->kind) {
    case MAIN_ENDED:
        append(verdict, "main ended with code %d", end->exit_code);
        if (*end->reason)
            append(verdict, " (%s)", end->reason);
        break;
    case MAIN_NOT_STARTED:
        append(verdict, "the pod was stopped before main was started");
        if (*end->reason)
            append(verdict, " (%s)", end->reason);
        break;
    case MAIN_RUNNING:
        if (plan->is_main_idle)
            append(verdict, "the pod was stopped; main's exit code is unknown");
        else
            append(verdict,
                   "the pod was stopped and main did not end within %" PRIu64 " s of SIGTERM",
                   main_grace_ms(observed) / 1000);
        break;
    case MAIN_LOST:
        append(verdict, "main's exit code is unknown because %s",
               observed->is_stopped ? "the pod no longer exists" : "its runner died");
        break;
    }
}

static void append_count(struct verdict *verdict, uint64_t count, const char *unit)
{
    append(verdict, "%" PRIu64 " %s%s", count, unit, count == 1 ? "" : "s");
}

static void append_state(struct verdict *verdict, const struct state_outcome *state)
{
    append(verdict, "; state: ");
    switch (state->delivery) {
    case DELIVERY_STORED:
        append(verdict, "stored as generation %" PRId64 " (", state->sequence);
        append_count(verdict, state->files, "file");
        append(verdict, ", ");
        append_count(verdict, state->bytes, "byte");
        append(verdict, ")");
        break;
    case DELIVERY_UNCHANGED:
        append(verdict, "unchanged");
        break;
    case DELIVERY_FAILED:
        append(verdict, "not stored: %s", state->err.text);
        if (state->snapshot_sequence)
            append(verdict, " (a snapshot is stored as generation %" PRId64 ")",
                   state->snapshot_sequence);
        break;
    case DELIVERY_SKIPPED:
    case DELIVERY_NONE:
        append(verdict, "skipped");
        break;
    }
}

static void append_exports(struct verdict *verdict, const struct export_outcome *exports)
{
    append(verdict, "; exports: ");
    switch (exports->delivery) {
    case DELIVERY_STORED:
    case DELIVERY_UNCHANGED:
        append(verdict, "stored (");
        append_count(verdict, exports->bytes, "byte");
        append(verdict, ")");
        break;
    case DELIVERY_NONE:
        append(verdict, "none");
        break;
    case DELIVERY_FAILED:
        append(verdict, "not stored: %s", exports->err.text);
        break;
    case DELIVERY_SKIPPED:
        append(verdict, "skipped");
        break;
    }
}

void decide_verdict(const struct observed *observed, const struct plan *plan,
                    const struct state_outcome *state, const struct export_outcome *exports,
                    struct verdict *ret_verdict)
{
    bool is_main_fine = observed->end.kind == MAIN_ENDED && observed->end.exit_code == 0;
    bool is_state_fine =
        state->delivery == DELIVERY_STORED || state->delivery == DELIVERY_UNCHANGED;
    bool is_export_fine = exports->delivery == DELIVERY_STORED ||
                          exports->delivery == DELIVERY_UNCHANGED ||
                          exports->delivery == DELIVERY_NONE;

    *ret_verdict = (struct verdict){0};
    ret_verdict->exit_code = is_main_fine && is_state_fine && is_export_fine ? 0 : 1;
    append_main(ret_verdict, observed, plan);
    append_state(ret_verdict, state);
    append_exports(ret_verdict, exports);
}
