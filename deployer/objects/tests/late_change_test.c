/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/apply/tests/random.h"
#include "common/base/cleanup.h"
#include "deployer/objects/late_change.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, NOON = 100 * HOUR };

static const struct late_rules REPORT = {LATE_LEVEL_REPORT, 30 * SECOND, HOUR, true};
static const struct late_rules TRIGGER = {LATE_LEVEL_TRIGGER, 30 * SECOND, HOUR, true};
static const struct late_rules DISABLED = {LATE_LEVEL_TRIGGER, 30 * SECOND, HOUR, false};

/* Times are relative to now; the job ended two days ago. */
static const struct row {
    const char *name;
    const struct late_rules *rules;
    bool is_unknown;
    const char *change;
    int64_t since, last, due; /* due 0: never */
    const char *known;        /* the change of the memory */
    int64_t triggered;        /* 0: never */
    unsigned streak;
    bool is_pending;
    enum late_verdict verdict;
    bool is_trigger;
    int64_t wake;        /* 0: never */
    unsigned new_streak; /* with is_trigger */
} rows[] = {
    {"calm, not stable yet", &TRIGGER, .last = -10 * SECOND, .verdict = LATE_WATCHING,
     .wake = 20 * SECOND},
    {"calm", &TRIGGER, .last = -30 * SECOND, .verdict = LATE_UP_TO_DATE},
    {"not observable for a moment", &TRIGGER, .is_unknown = true, .last = -SECOND,
     .verdict = LATE_WATCHING, .wake = 29 * SECOND},
    {"not observable, whatever was seen before", &TRIGGER, .is_unknown = true, .change = "b",
     .since = -HOUR, .last = -MINUTE, .verdict = LATE_UNKNOWN},
    {"in the quiet period", &TRIGGER, .change = "b", .since = -SECOND, .last = -SECOND,
     .verdict = LATE_WATCHING, .wake = 29 * SECOND},
    {"changes all the time", &TRIGGER, .change = "b", .since = -5 * MINUTE, .last = -SECOND,
     .verdict = LATE_TRIGGERED, .is_trigger = true},
    {"reported", &REPORT, .change = "b", .since = -MINUTE, .last = -MINUTE,
     .verdict = LATE_CHANGED},
    {"not allowed by the deployer", &DISABLED, .change = "b", .since = -MINUTE, .last = -MINUTE,
     .verdict = LATE_TRIGGER_DISABLED},
    {"first trigger", &TRIGGER, .change = "b", .since = -MINUTE, .last = -MINUTE,
     .verdict = LATE_TRIGGERED, .is_trigger = true},
    {"triggered already", &TRIGGER, .change = "b", .since = -3 * HOUR, .last = -3 * HOUR,
     .known = "b", .triggered = -2 * HOUR, .verdict = LATE_TRIGGERED},
    {"another change after an hour without any", &TRIGGER, .change = "c", .since = -MINUTE,
     .last = -MINUTE, .triggered = -2 * HOUR, .streak = 3, .verdict = LATE_TRIGGERED,
     .is_trigger = true},
    {"another change soon", &TRIGGER, .change = "c", .since = -MINUTE, .last = -MINUTE,
     .triggered = -30 * MINUTE, .verdict = LATE_BUDGET_EXHAUSTED, .wake = 90 * MINUTE},
    {"another change soon, two hours ago", &TRIGGER, .change = "c", .since = -110 * MINUTE,
     .last = -110 * MINUTE, .triggered = -2 * HOUR, .verdict = LATE_TRIGGERED, .is_trigger = true,
     .new_streak = 1},
    {"the last of several in succession", &TRIGGER, .change = "c", .since = -480 * MINUTE,
     .last = -8 * HOUR, .triggered = -8 * HOUR, .streak = 2, .verdict = LATE_TRIGGERED,
     .is_trigger = true, .new_streak = 3},
    {"too many in succession", &TRIGGER, .change = "c", .since = -20 * HOUR, .last = -20 * HOUR,
     .triggered = -20 * HOUR - MINUTE, .streak = 3, .verdict = LATE_FLAPPING},
    {"stored, but maybe not sent", &TRIGGER, .change = "b", .since = -SECOND, .last = -SECOND,
     .known = "b", .triggered = -MINUTE, .is_pending = true, .verdict = LATE_TRIGGERED,
     .is_trigger = true},
    {"stored, then disabled", &DISABLED, .change = "b", .since = -MINUTE, .last = -MINUTE,
     .known = "b", .triggered = -MINUTE, .is_pending = true, .verdict = LATE_TRIGGER_DISABLED},
    {"continuousReconcile is not due", &TRIGGER, .last = -HOUR, .due = MINUTE,
     .verdict = LATE_UP_TO_DATE, .wake = MINUTE},
    {"continuousReconcile is due", &TRIGGER, .last = -HOUR, .due = -MINUTE,
     .verdict = LATE_TRIGGERED, .is_trigger = true},
    {"continuousReconcile within the interval", &TRIGGER, .last = -HOUR, .due = -MINUTE,
     .triggered = -30 * MINUTE, .verdict = LATE_UP_TO_DATE, .wake = 30 * MINUTE},
    {"continuousReconcile with the level report", &REPORT, .last = -HOUR, .due = -MINUTE,
     .verdict = LATE_UP_TO_DATE},
    {"the clock was set back", &TRIGGER, .change = "c", .since = -MINUTE, .last = -MINUTE,
     .triggered = 50 * HOUR, .verdict = LATE_BUDGET_EXHAUSTED, .wake = 2 * HOUR},
};

static void set_change(char *ret_change, const char *text)
{
    (void)snprintf(ret_change, LATE_CHANGE_SIZE, "%s", text ? text : "");
}

static void every_row_decides_as_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        const struct row *row = &rows[i];
        struct late_view view = {.is_known = !row->is_unknown,
                                 .since_unix_ms = NOON + row->since,
                                 .last_unix_ms = NOON + row->last,
                                 .finished_unix_ms = NOON - 48 * (int64_t)HOUR,
                                 .due_unix_ms = row->due ? NOON + row->due : -1};
        struct late_memory memory = {.triggered_unix_ms =
                                         row->triggered ? NOON + row->triggered : 0,
                                     .streak = row->streak,
                                     .is_pending = row->is_pending};
        struct late_decision d = {0};

        set_change(view.change, row->change);
        set_change(memory.change, row->known);
        d = late_decide(row->rules, &view, &memory, NOON);
        if (d.verdict != row->verdict || d.is_trigger != row->is_trigger ||
            d.wake_unix_ms != (row->wake ? NOON + row->wake : -1))
            fail_msg("%s: verdict %d, trigger %d, wake %lld", row->name, d.verdict, d.is_trigger,
                     (long long)(d.wake_unix_ms - NOON));
        if (d.is_trigger && !row->is_pending) {
            assert_int_equal(d.memory.streak, row->new_streak);
            assert_int_equal(d.memory.triggered_unix_ms, NOON);
            assert_true(d.memory.is_pending);
        }
    }
}

static void a_change_that_is_over_may_come_again(void **state)
{
    struct late_view view = {
        .is_known = true, .last_unix_ms = NOON - HOUR, .finished_unix_ms = 1, .due_unix_ms = -1};
    struct late_memory memory = {.change = "b", .triggered_unix_ms = NOON - 2 * HOUR};

    (void)state;
    memory = late_decide(&TRIGGER, &view, &memory, NOON).memory;
    assert_string_equal(memory.change, "");
    set_change(view.change, "b");
    view.since_unix_ms = view.last_unix_ms = NOON + MINUTE;
    assert_true(late_decide(&TRIGGER, &view, &memory, NOON + 2 * MINUTE).is_trigger);
}

static void every_verdict_has_a_reason(void **state)
{
    (void)state;
    for (int verdict = 0; verdict < LATE_VERDICT_COUNT; verdict++)
        assert_non_null(late_verdict_reason((enum late_verdict)verdict));
}

/* ---- The world in which it decides ---- */

/* An item with an Installation. Values are numbers; the job exports the present one. */
struct world {
    struct random random;
    int64_t now;
    unsigned value, exported, newest; /* newest: a value that was not used before is larger */
    bool is_ended_by_job;             /* each job changes the value itself */
    bool is_requested;                /* the annotation is set */
    bool is_marked;                   /* our mark for the pending trigger is on the Installation */
    int64_t job_ends;                 /* 0: no job runs */
    struct late_memory stored;
    struct late_view view; /* what the process knows; lost with a restart */
    unsigned triggers, jobs;
    int64_t triggered[4096];
    unsigned long long last_change; /* for which a job was triggered: exported and value */
};

static void look(struct world *w)
{
    char change[LATE_CHANGE_SIZE] = "";

    if (w->value != w->exported)
        (void)snprintf(change, sizeof(change), "%x-%x", w->exported & 0xffff, w->value & 0xffff);
    if (strcmp(change, w->view.change) == 0)
        return;
    if (!*w->view.change)
        w->view.since_unix_ms = w->now;
    w->view.last_unix_ms = w->now;
    memcpy(w->view.change, change, sizeof(change));
}

static void restart(struct world *w)
{
    w->view = (struct late_view){.is_known = true,
                                 .since_unix_ms = w->now,
                                 .last_unix_ms = w->now,
                                 .finished_unix_ms = w->view.finished_unix_ms,
                                 .due_unix_ms = -1};
    look(w);
}

/* Returns false if the process is killed at this point. */
static bool survives(struct world *w)
{
    return random_below(&w->random, 20) != 0;
}

static void send_trigger(struct world *w)
{
    unsigned long long change = (unsigned long long)w->exported << 32 | w->value;

    assert_false(w->is_requested);
    assert_true(w->job_ends == 0);
    w->is_requested = w->is_marked = true;
    assert_true(w->triggers < array_length(w->triggered));
    if (w->triggers > 0) {
        assert_true(w->now - w->triggered[w->triggers - 1] >= HOUR);
        assert_true(change != w->last_change);
    }
    w->last_change = change;
    w->triggered[w->triggers++] = w->now;
}

static void act(struct world *w)
{
    struct late_decision d = {0};

    look(w);
    d = late_decide(&TRIGGER, &w->view, &w->stored, w->now);
    if (!d.is_trigger) {
        if (d.verdict != LATE_WATCHING)
            w->stored = d.memory;
        return;
    }
    if (!w->stored.is_pending) {
        w->is_marked = false;
        w->stored = d.memory;
        if (!survives(w)) {
            restart(w);
            return;
        }
    }
    if (!w->is_marked)
        send_trigger(w);
    if (survives(w))
        w->stored.is_pending = false;
    else
        restart(w);
}

static void landscaper(struct world *w)
{
    if (w->is_requested) {
        w->is_requested = false;
        w->job_ends = w->now + (int64_t)random_below(&w->random, 5 * MINUTE) + 1;
    }
    if (w->job_ends && w->now >= w->job_ends) {
        w->job_ends = 0;
        w->jobs++;
        w->exported = w->value;
        if (w->is_ended_by_job)
            w->value = ++w->newest;
        w->stored.is_pending = false; /* of an earlier job now */
        w->view.finished_unix_ms = w->now;
        restart(w);
    }
}

static void step(struct world *w)
{
    w->now += 10 * SECOND;
    landscaper(w);
    if (!w->job_ends && !w->is_requested)
        act(w);
}

static void each_change_triggers_once_in_any_order_of_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world w = {.random = {seed}, .now = NOON, .view = {.due_unix_ms = -1}};

        restart(&w);
        for (size_t i = 0; i < 20000; i++) {
            if (random_below(&w.random, 2000) == 0)
                w.value = ++w.newest;
            if (random_below(&w.random, 3000) == 0)
                w.value = w.exported; /* changed back */
            if (random_below(&w.random, 1000) == 0)
                restart(&w);
            step(&w);
        }
        assert_true(w.triggers > 0);
        /* The process has time to see the last change through. */
        for (size_t i = 0; i < 20000; i++)
            step(&w);
        if (w.value != w.exported)
            assert_int_equal(late_decide(&TRIGGER, &w.view, &w.stored, w.now).verdict,
                             LATE_FLAPPING);
    }
}

static void a_job_that_changes_what_is_watched_is_not_repeated_for_ever(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w = {.random = {seed},
                          .now = NOON,
                          .is_ended_by_job = true,
                          .value = 1,
                          .newest = 1,
                          .view = {.due_unix_ms = -1}};

        restart(&w);
        for (size_t i = 0; i < 100000; i++)
            step(&w);
        assert_int_equal(w.triggers, LATE_STREAK_MAX);
        assert_int_equal(late_decide(&TRIGGER, &w.view, &w.stored, w.now).verdict, LATE_FLAPPING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_decides_as_described),
        cmocka_unit_test(a_change_that_is_over_may_come_again),
        cmocka_unit_test(every_verdict_has_a_reason),
        cmocka_unit_test(each_change_triggers_once_in_any_order_of_events),
        cmocka_unit_test(a_job_that_changes_what_is_watched_is_not_repeated_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
