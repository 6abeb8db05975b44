/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "common/base/loop.h"
#include "common/base/memory.h"

enum { MANY = 300 };

struct bench {
    struct clock_fake fake;
    struct loop *loop;
    int pipes[2][2];
    int calls[2];
    size_t fired[4 * MANY];
    size_t fired_count;
};

static int begin(void **state)
{
    struct bench *bench = xcalloc(1, sizeof(*bench));
    struct error err = {0};

    clock_fake_init(&bench->fake, 0);
    if (loop_new(&bench->fake.clock, &bench->loop, &err) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        if (pipe2(bench->pipes[i], O_CLOEXEC | O_NONBLOCK) < 0)
            return -1;
    }
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;

    loop_free(bench->loop);
    for (size_t i = 0; i < 2; i++) {
        (void)close(bench->pipes[i][0]);
        (void)close(bench->pipes[i][1]);
    }
    free(bench);
    return 0;
}

static void turn(struct bench *bench)
{
    struct error err = {0};

    assert_int_equal(loop_run_once(bench->loop, 0, &err), 0);
}

static void watch(struct bench *bench, int fd, loop_fd_fn *callback)
{
    struct error err = {0};

    assert_int_equal(loop_set_fd(bench->loop, fd, EPOLLIN, callback, bench, &err), 0);
}

static void poke(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

/* ---- timers ---- */

struct alarm {
    struct loop_timer timer;
    struct bench *bench;
    size_t id;
    uint64_t due_ms;
};

static void note(void *data)
{
    const struct alarm *alarm = data;
    struct bench *bench = alarm->bench;

    assert_true(bench->fired_count < array_length(bench->fired));
    bench->fired[bench->fired_count++] = alarm->id;
}

static void set_alarm(struct alarm *alarm, struct bench *bench, size_t id, loop_timer_fn *callback)
{
    *alarm = (struct alarm){.bench = bench, .id = id};
    loop_timer_init(&alarm->timer, bench->loop, callback, alarm);
}

static void timers_fire_in_the_order_they_are_due_and_not_before(void **state)
{
    static const uint64_t delays[] = {50, 10, 40, 20, 30};
    static const size_t order[] = {1, 3, 4, 2, 0};
    struct bench *bench = *state;
    struct alarm alarms[array_length(delays)];

    for (size_t i = 0; i < array_length(delays); i++) {
        set_alarm(&alarms[i], bench, i, note);
        loop_timer_start(&alarms[i].timer, delays[i]);
        assert_true(loop_timer_is_running(&alarms[i].timer));
    }
    clock_fake_advance(&bench->fake, 9);
    turn(bench);
    assert_int_equal(bench->fired_count, 0);
    clock_fake_advance(&bench->fake, 1);
    turn(bench);
    assert_int_equal(bench->fired_count, 1);
    clock_fake_advance(&bench->fake, 1000);
    turn(bench);
    assert_int_equal(bench->fired_count, array_length(order));
    for (size_t i = 0; i < array_length(order); i++) {
        assert_int_equal(bench->fired[i], order[i]);
        assert_false(loop_timer_is_running(&alarms[i].timer));
    }
}

static void a_timer_may_become_due_earlier_but_not_later(void **state)
{
    struct bench *bench = *state;
    struct alarm alarm;

    set_alarm(&alarm, bench, 0, note);
    loop_timer_start_at_latest(&alarm.timer, 50);
    loop_timer_start_at_latest(&alarm.timer, UINT64_MAX);
    loop_timer_start_at_latest(&alarm.timer, 20);
    loop_timer_start_at_latest(&alarm.timer, 30);
    clock_fake_advance(&bench->fake, 19);
    turn(bench);
    assert_int_equal(bench->fired_count, 0);
    clock_fake_advance(&bench->fake, 1);
    loop_timer_start_at_latest(&alarm.timer, 10); /* it is due now */
    turn(bench);
    assert_int_equal(bench->fired_count, 1);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Starts, restarts and stops timers at random and compares with a simple list. */
static void the_heap_keeps_order_through_any_starts_and_stops(void **state)
{
    struct bench *bench = *state;
    cleanup_free struct alarm *alarms = xcalloc(MANY, sizeof(*alarms));
    uint32_t seed = 20061;

    for (size_t i = 0; i < MANY; i++)
        set_alarm(&alarms[i], bench, i, note);
    for (size_t step = 0; step < 4000; step++) {
        struct alarm *alarm = &alarms[next_random(&seed) % MANY];
        uint64_t delay_ms = next_random(&seed) % 500;

        if (next_random(&seed) % 3 == 0) {
            loop_timer_stop(&alarm->timer);
            alarm->due_ms = 0;
        } else {
            loop_timer_start(&alarm->timer, delay_ms);
            alarm->due_ms = loop_now_ms(bench->loop) + delay_ms;
        }
        if (step % 50 != 0)
            continue;
        clock_fake_advance(&bench->fake, next_random(&seed) % 100);
        bench->fired_count = 0;
        turn(bench);
        for (size_t i = 0; i < bench->fired_count; i++) {
            struct alarm *fired = &alarms[bench->fired[i]];

            assert_true(fired->due_ms > 0 && fired->due_ms <= loop_now_ms(bench->loop));
            assert_true(i == 0 || alarms[bench->fired[i - 1]].due_ms <= fired->due_ms);
        }
        for (size_t i = 0; i < bench->fired_count; i++)
            alarms[bench->fired[i]].due_ms = 0;
        for (size_t i = 0; i < MANY; i++) {
            assert_int_equal(loop_timer_is_running(&alarms[i].timer), alarms[i].due_ms != 0);
            assert_true(alarms[i].due_ms == 0 || alarms[i].due_ms > loop_now_ms(bench->loop));
        }
    }
    for (size_t i = 0; i < MANY; i++)
        loop_timer_stop(&alarms[i].timer);
}

static void note_and_restart_at_once(void *data)
{
    struct alarm *alarm = data;

    note(alarm);
    loop_timer_start(&alarm->timer, 0);
}

static void a_timer_that_restarts_itself_does_not_hold_the_turn(void **state)
{
    struct bench *bench = *state;
    struct alarm alarm = {0};

    set_alarm(&alarm, bench, 0, note_and_restart_at_once);
    loop_timer_start(&alarm.timer, 0);
    turn(bench);
    assert_int_equal(bench->fired_count, 1);
    turn(bench);
    assert_int_equal(bench->fired_count, 2);
    loop_timer_stop(&alarm.timer);
}

static struct alarm *victim;

static void note_and_stop_the_victim(void *data)
{
    note(data);
    loop_timer_stop(&victim->timer);
}

static void a_timer_stopped_by_one_before_it_does_not_fire(void **state)
{
    struct bench *bench = *state;
    struct alarm alarms[2];

    set_alarm(&alarms[0], bench, 0, note_and_stop_the_victim);
    set_alarm(&alarms[1], bench, 1, note);
    victim = &alarms[1];
    loop_timer_start(&alarms[0].timer, 1);
    loop_timer_start(&alarms[1].timer, 2);
    clock_fake_advance(&bench->fake, 5);
    turn(bench);
    assert_int_equal(bench->fired_count, 1);
    assert_int_equal(bench->fired[0], 0);
}

static void the_longest_delay_is_for_ever(void **state)
{
    struct bench *bench = *state;
    struct alarm alarm = {0};

    set_alarm(&alarm, bench, 0, note);
    loop_timer_start(&alarm.timer, UINT64_MAX);
    clock_fake_advance(&bench->fake, 1000000);
    turn(bench);
    assert_int_equal(bench->fired_count, 0);
    loop_timer_stop(&alarm.timer);
}

static void stopping_what_never_ran_is_fine(void **state)
{
    struct bench *bench = *state;
    struct loop_timer zeroed = {0};
    struct alarm alarm = {0};

    loop_timer_stop(&zeroed);
    set_alarm(&alarm, bench, 0, note);
    loop_timer_stop(&alarm.timer);
    assert_false(loop_timer_is_running(&alarm.timer));
    assert_ptr_equal(loop_clock(bench->loop), &bench->fake.clock);
}

/* ---- descriptors ---- */

static void count_first(void *data, uint32_t events)
{
    struct bench *bench = data;
    char byte = 0;

    assert_true(events & EPOLLIN);
    bench->calls[0]++;
    (void)!read(bench->pipes[0][0], &byte, 1);
}

static void count_second(void *data, uint32_t events)
{
    struct bench *bench = data;

    (void)events;
    bench->calls[1]++;
}

static void a_descriptor_is_served_until_it_is_removed(void **state)
{
    struct bench *bench = *state;

    watch(bench, bench->pipes[0][0], count_first);
    turn(bench);
    assert_int_equal(bench->calls[0], 0);
    poke(bench->pipes[0][1]);
    turn(bench);
    turn(bench);
    assert_int_equal(bench->calls[0], 1);
    watch(bench, bench->pipes[0][0], count_second);
    poke(bench->pipes[0][1]);
    turn(bench);
    assert_int_equal(bench->calls[0], 1);
    assert_int_equal(bench->calls[1], 1);
    loop_remove_fd(bench->loop, bench->pipes[0][0]);
    loop_remove_fd(bench->loop, bench->pipes[0][0]);
    loop_remove_fd(bench->loop, 100000);
    loop_remove_fd(bench->loop, -1);
    turn(bench);
    assert_int_equal(bench->calls[1], 1);
}

/* The first callback removes the other descriptor, so only one may be called. */
static void remove_both(void *data, uint32_t events)
{
    struct bench *bench = data;

    (void)events;
    bench->calls[0]++;
    loop_remove_fd(bench->loop, bench->pipes[0][0]);
    loop_remove_fd(bench->loop, bench->pipes[1][0]);
}

static void an_event_in_hand_for_a_removed_descriptor_is_dropped(void **state)
{
    struct bench *bench = *state;

    watch(bench, bench->pipes[0][0], remove_both);
    watch(bench, bench->pipes[1][0], remove_both);
    poke(bench->pipes[0][1]);
    poke(bench->pipes[1][1]);
    turn(bench);
    turn(bench);
    assert_int_equal(bench->calls[0], 1);
}

/* As when a connection is closed and another one gets its descriptor number: an event that was
 * already returned is not for the new one. */
static void replace_both(void *data, uint32_t events)
{
    struct bench *bench = data;

    (void)events;
    bench->calls[0]++;
    for (size_t i = 0; i < 2; i++) {
        int fd = bench->pipes[i][0];
        int fresh[2] = {-1, -1};

        assert_int_equal(pipe2(fresh, O_CLOEXEC | O_NONBLOCK), 0);
        if (bench->calls[1] == 0)
            loop_remove_fd(bench->loop, fd);
        /* The writer of the old pipe is closed too, so that no event can come from it. */
        (void)close(bench->pipes[i][1]);
        assert_int_equal(dup3(fresh[0], fd, O_CLOEXEC), fd);
        (void)close(fresh[0]);
        bench->pipes[i][1] = fresh[1];
        watch(bench, fd, replace_both);
    }
}

static void an_event_in_hand_is_not_for_a_new_descriptor_of_that_number(void **state)
{
    struct bench *bench = *state;

    watch(bench, bench->pipes[0][0], replace_both);
    watch(bench, bench->pipes[1][0], replace_both);
    poke(bench->pipes[0][1]);
    poke(bench->pipes[1][1]);
    turn(bench);
    turn(bench);
    assert_int_equal(bench->calls[0], 1);
}

static void that_holds_when_the_old_one_was_closed_without_a_word(void **state)
{
    struct bench *bench = *state;

    bench->calls[1] = 1;
    an_event_in_hand_is_not_for_a_new_descriptor_of_that_number(state);
}

static void a_descriptor_that_is_none_is_an_error(void **state)
{
    struct bench *bench = *state;
    struct error err = {0};
    int fd = dup(bench->pipes[0][0]);

    (void)close(fd);
    assert_int_equal(loop_set_fd(bench->loop, fd, EPOLLIN, count_first, bench, &err), -1);
    assert_int_equal(err.os, EBADF);
    loop_remove_fd(bench->loop, fd);
}

static void numbers_of_descriptors_may_be_large(void **state)
{
    struct bench *bench = *state;
    int fd = fcntl(bench->pipes[0][0], F_DUPFD_CLOEXEC, 200);

    assert_true(fd >= 200);
    watch(bench, fd, count_first);
    poke(bench->pipes[0][1]);
    turn(bench);
    assert_int_equal(bench->calls[0], 1);
    loop_remove_fd(bench->loop, fd);
    (void)close(fd);
}

/* ---- running and signals ---- */

static void stop(void *data)
{
    const struct alarm *alarm = data;

    note(data);
    loop_stop(alarm->bench->loop);
}

static void running_ends_when_a_callback_stops_it(void **state)
{
    struct bench *bench = *state;
    struct alarm alarm = {0};
    struct error err = {0};

    set_alarm(&alarm, bench, 7, stop);
    loop_timer_start(&alarm.timer, 0);
    assert_int_equal(loop_run(bench->loop, &err), 0);
    assert_int_equal(bench->fired_count, 1);
}

static void note_signal(void *data, int signal_number)
{
    struct bench *bench = data;

    bench->fired[bench->fired_count++] = (size_t)signal_number;
}

static void signals_arrive_as_callbacks(void **state)
{
    static const int signals[] = {SIGUSR1, SIGTERM};
    struct bench *bench = *state;
    struct error err = {0};

    assert_int_equal(
        loop_set_signals(bench->loop, signals, array_length(signals), note_signal, bench, &err), 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    turn(bench);
    assert_int_equal(bench->fired_count, 2);
    assert_int_equal(bench->fired[0] + bench->fired[1], SIGTERM + SIGUSR1);
    turn(bench);
    assert_int_equal(bench->fired_count, 2);
}

#define loop_case(test_) cmocka_unit_test_setup_teardown(test_, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        loop_case(timers_fire_in_the_order_they_are_due_and_not_before),
        loop_case(a_timer_may_become_due_earlier_but_not_later),
        loop_case(the_heap_keeps_order_through_any_starts_and_stops),
        loop_case(a_timer_that_restarts_itself_does_not_hold_the_turn),
        loop_case(a_timer_stopped_by_one_before_it_does_not_fire),
        loop_case(the_longest_delay_is_for_ever),
        loop_case(stopping_what_never_ran_is_fine),
        loop_case(a_descriptor_is_served_until_it_is_removed),
        loop_case(an_event_in_hand_for_a_removed_descriptor_is_dropped),
        loop_case(an_event_in_hand_is_not_for_a_new_descriptor_of_that_number),
        loop_case(that_holds_when_the_old_one_was_closed_without_a_word),
        loop_case(a_descriptor_that_is_none_is_an_error),
        loop_case(numbers_of_descriptors_may_be_large),
        loop_case(running_ends_when_a_callback_stops_it),
        loop_case(signals_arrive_as_callbacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
