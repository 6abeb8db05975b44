/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/page/history.h"

enum { MINUTE = 60 * 1000 };

static void add(struct history *history, const char *name, const char *job, int64_t finished,
                bool is_failed)
{
    const struct history_run run = {.namespace_name = "ns",
                                    .name = name,
                                    .job = job,
                                    .reason = is_failed ? "MainFailed" : "",
                                    .is_failed = is_failed,
                                    .started_unix_ms = finished - 30 * 1000,
                                    .finished_unix_ms = finished};

    history_add(history, &run);
}

static void the_last_runs_of_an_object_are_listed_newest_first(void **state)
{
    struct history *history = history_new();
    json_t *runs = NULL;
    char job[16];

    (void)state;
    add(history, "other", "x", 1000 * MINUTE, false);
    for (int i = 0; i < HISTORY_SHOWN_MAX + 3; i++) {
        (void)snprintf(job, sizeof(job), "job-%d", i);
        add(history, "a", job, 1000 * MINUTE + i, i % 2 == 0);
    }
    runs = history_of(history, "ns", "a");
    assert_int_equal(json_array_size(runs), HISTORY_SHOWN_MAX);
    assert_string_equal(doc_text(json_array_get(runs, 0), "job"), "job-12");
    assert_string_equal(doc_text(json_array_get(runs, 0), "state"), "failed");
    assert_string_equal(doc_text(json_array_get(runs, 0), "reason"), "MainFailed");
    assert_string_equal(doc_text(json_array_get(runs, 1), "state"), "succeeded");
    assert_null(doc_text(json_array_get(runs, 1), "reason"));
    json_decref(runs);
    history_free(history);
}

static void the_oldest_runs_are_forgotten(void **state)
{
    struct history *history = history_new();
    json_t *runs = NULL;

    (void)state;
    add(history, "first", "x", 1000 * MINUTE, false);
    for (int i = 0; i < HISTORY_RUNS_MAX - 1; i++)
        add(history, "a", "y", 1000 * MINUTE, false);
    runs = history_of(history, "ns", "first");
    assert_int_equal(json_array_size(runs), 1);
    json_decref(runs);
    add(history, "a", "y", 1000 * MINUTE, false);
    runs = history_of(history, "ns", "first");
    assert_int_equal(json_array_size(runs), 0);
    json_decref(runs);
    history_free(history);
}

static void each_of_the_last_sixty_minutes_is_counted(void **state)
{
    const int64_t now = (int64_t)1000 * MINUTE + 5;
    struct history *history = history_new();
    json_t *minutes = NULL;
    const json_t *last = NULL, *first = NULL;

    (void)state;
    add(history, "a", "1", now - 61 * MINUTE, false); /* too old */
    add(history, "a", "2", now - 59 * MINUTE, false);
    add(history, "a", "3", now, true);
    add(history, "a", "4", now, false);
    add(history, "a", "5", now - 60 * MINUTE, false); /* the slot of this minute */
    minutes = history_minutes(history, now);
    assert_int_equal(json_array_size(minutes), HISTORY_MINUTES);
    first = json_array_get(minutes, 0);
    last = json_array_get(minutes, HISTORY_MINUTES - 1);
    assert_int_equal(doc_integer_or(first, "succeeded", -1), 1);
    assert_int_equal(doc_integer_or(last, "succeeded", -1), 1);
    assert_int_equal(doc_integer_or(last, "failed", -1), 1);
    assert_true(json_real_value(doc_member(last, "meanSeconds")) == 30);
    assert_true(json_real_value(doc_member(last, "maxSeconds")) == 30);
    assert_null(doc_member(json_array_get(minutes, 1), "meanSeconds"));
    json_decref(minutes);
    history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_runs_of_an_object_are_listed_newest_first),
        cmocka_unit_test(the_oldest_runs_are_forgotten),
        cmocka_unit_test(each_of_the_last_sixty_minutes_is_counted),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
