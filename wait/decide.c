/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/decide.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    RESERVE_MAX_MS = 60000, /* of the grace time, for storing */
    MARGIN_MAX_MS = 5000,   /* of it, for saying how it went */
};

static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

/* Until when a main that was told to stop is waited for. */
static uint64_t patience_with_main_ms(const struct observed *observed)
{
    uint64_t grace_ms = observed->grace_ms;
    uint64_t end_ms = observed->stopped_at_ms + grace_ms - at_most(grace_ms / 2, RESERVE_MAX_MS);
    uint64_t since_ms = observed->quiet_since_ms > observed->stopped_at_ms
                            ? observed->quiet_since_ms
                            : observed->stopped_at_ms;

    if (observed->is_quiet && observed->quiet_ms)
        end_ms = at_most(end_ms, since_ms + observed->quiet_ms);
    return end_ms;
}

struct plan decide_plan(const struct observed *observed, uint64_t now_ms)
{
    struct plan plan = {0};
    uint64_t grace_ms = observed->grace_ms;

    if (observed->is_stopped)
        plan.give_up_at_ms =
            observed->stopped_at_ms + grace_ms - at_most(grace_ms / 10, MARGIN_MAX_MS);
    switch (observed->end.kind) {
    case MAIN_ENDED:
        plan.is_store_due = true;
        plan.is_export_due = observed->end.exit_code == 0;
        break;
    case MAIN_LOST:
        plan.is_store_due = true;
        break;
    case MAIN_RUNS:
        if (!observed->is_stopped)
            break;
        plan.wake_at_ms = patience_with_main_ms(observed);
        plan.is_store_due = now_ms >= plan.wake_at_ms;
        if (plan.is_store_due)
            plan.wake_at_ms = 0;
        break;
    }
    return plan;
}

const char *delivery_name(enum delivery delivery)
{
    static const char *const names[] = {
        [DELIVERY_NOT_DUE] = "not due",     [DELIVERY_STORED] = "stored",
        [DELIVERY_UNCHANGED] = "unchanged", [DELIVERY_NONE] = "none",
        [DELIVERY_FAILED] = "failed",
    };

    return names[delivery];
}

/* Appends to the message; what does not fit is cut at a character, with dots to show it. */
static void say(struct verdict *verdict, const char *format, ...) printf_like(2, 3);
static void say(struct verdict *verdict, const char *format, ...)
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

static void say_main(struct verdict *verdict, const struct observed *observed)
{
    const struct main_end *end = &observed->end;

    switch (end->kind) {
    case MAIN_ENDED:
        say(verdict, "main ended with code %d", end->exit_code);
        if (*end->reason)
            say(verdict, " (%s)", end->reason);
        break;
    case MAIN_RUNS:
        say(verdict, "the pod was stopped before main's end was known");
        break;
    case MAIN_LOST:
        say(verdict, "main's end is unknown, because %s",
            observed->is_stopped ? "the pod is gone" : "whoever ran it is gone");
        break;
    }
}

static void say_state(struct verdict *verdict, const struct state_outcome *state)
{
    say(verdict, "; state: ");
    switch (state->delivery) {
    case DELIVERY_STORED:
        say(verdict, "stored as %" PRId64 " (%" PRIu64 " files, %" PRIu64 " bytes)",
            state->sequence, state->files, state->bytes);
        break;
    case DELIVERY_UNCHANGED:
        say(verdict, "unchanged");
        break;
    case DELIVERY_FAILED:
        say(verdict, "not stored: %s", state->err.text);
        break;
    case DELIVERY_NOT_DUE:
    case DELIVERY_NONE:
        say(verdict, "not due");
        break;
    }
}

static void say_exports(struct verdict *verdict, const struct export_outcome *exports)
{
    say(verdict, "; exports: ");
    switch (exports->delivery) {
    case DELIVERY_STORED:
    case DELIVERY_UNCHANGED:
        say(verdict, "stored (%" PRIu64 " bytes)", exports->bytes);
        break;
    case DELIVERY_NONE:
        say(verdict, "none");
        break;
    case DELIVERY_FAILED:
        say(verdict, "not stored: %s", exports->err.text);
        break;
    case DELIVERY_NOT_DUE:
        say(verdict, "not due");
        break;
    }
}

void decide_verdict(const struct observed *observed, const struct state_outcome *state,
                    const struct export_outcome *exports, struct verdict *ret_verdict)
{
    bool is_main_fine = observed->end.kind == MAIN_ENDED && observed->end.exit_code == 0;
    bool is_state_fine =
        state->delivery == DELIVERY_STORED || state->delivery == DELIVERY_UNCHANGED;
    bool is_export_fine = exports->delivery == DELIVERY_STORED ||
                          exports->delivery == DELIVERY_UNCHANGED ||
                          exports->delivery == DELIVERY_NONE;

    *ret_verdict = (struct verdict){0};
    ret_verdict->exit_code = is_main_fine && is_state_fine && is_export_fine ? 0 : 1;
    say_main(ret_verdict, observed);
    say_state(ret_verdict, state);
    say_exports(ret_verdict, exports);
}
