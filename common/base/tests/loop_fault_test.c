/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call of the loop fails once. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/loop.h"
#include "common/base/tests/fault.h"

struct world {
    int pipe[2];
    int read_count, timer_count, signal_count;
    struct loop *loop;
};

static void on_readable(void *data, uint32_t events)
{
    struct world *world = data;

    (void)events;
    world->read_count++;
    loop_remove_fd(world->loop, world->pipe[0]);
}

static void on_timer(void *data)
{
    struct world *world = data;

    world->timer_count++;
}

static void on_signal(void *data, int number)
{
    struct world *world = data;

    assert_int_equal(number, SIGUSR1);
    world->signal_count++;
}

static void forget(void *data)
{
    struct world *world = data;

    world->read_count = world->timer_count = world->signal_count = 0;
}

static int turn(struct world *world, struct error *err)
{
    static const int signals[] = {SIGUSR1};
    struct loop_timer timer = {0};
    int result = 0;

    loop_timer_init(&timer, world->loop, on_timer, world);
    loop_timer_start(&timer, 0);
    result = loop_set_fd(world->loop, world->pipe[0], EPOLLIN, on_readable, world, err);
    if (result == 0)
        result = loop_set_signals(world->loop, signals, 1, on_signal, world, err);
    if (result == 0)
        (void)raise(SIGUSR1); /* blocked; delivered by the loop */
    for (int i = 0; result == 0 && i < 5; i++)
        result = loop_run_once(world->loop, 10, err);
    loop_timer_stop(&timer);
    loop_remove_fd(world->loop, world->pipe[0]);
    return result;
}

static int run(void *data, struct error *err)
{
    struct world *world = data;
    int result = 0;

    if (loop_new(clock_system(), &world->loop, err) < 0)
        return -1;
    result = turn(world, err);
    loop_free(world->loop);
    return result;
}

static void check(void *data, int result)
{
    const struct world *world = data;

    if (result < 0)
        return;
    assert_int_equal(world->read_count, 1);
    assert_int_equal(world->timer_count, 1);
    assert_int_equal(world->signal_count, 1);
}

static void the_loop_reports_failures_and_loses_no_event(void **state)
{
    struct world world = {0};
    const struct fault_scenario scenario = {
        .name = "loop", .prepare = forget, .run = run, .check = check, .data = &world};

    (void)state;
    assert_int_equal(pipe(world.pipe), 0);
    assert_int_equal(write(world.pipe[1], "x", 1), 1);
    assert_true(fault_sweep(&scenario) >= 8);
    (void)close(world.pipe[0]);
    (void)close(world.pipe[1]);
}

static void on_timer_stop(void *data)
{
    struct world *world = data;

    loop_stop(world->loop);
}

static void a_failing_epoll_wait_ends_the_loop_with_an_error(void **state)
{
    struct world world = {0};
    struct loop_timer timer = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(loop_new(clock_system(), &world.loop, &err), 0);
    loop_timer_init(&timer, world.loop, on_timer_stop, &world);
    loop_timer_start(&timer, 0);
    fault_arm("epoll_wait", 1, EBADF);
    assert_int_equal(loop_run(world.loop, &err), -1);
    assert_true(fault_disarm());
    assert_string_equal(err.text, "wait for events: Bad file descriptor");
    loop_timer_stop(&timer);
    loop_free(world.loop);
}

/* A descriptor with the number of one that was closed without being removed from the loop. */
static void a_failure_to_watch_a_reused_descriptor_is_reported(void **state)
{
    struct world world = {0};
    struct error err = {0};
    int other[2] = {-1, -1};
    char expected[64];

    (void)state;
    assert_int_equal(pipe(world.pipe), 0);
    assert_int_equal(pipe(other), 0);
    assert_int_equal(loop_new(clock_system(), &world.loop, &err), 0);
    assert_int_equal(loop_set_fd(world.loop, world.pipe[0], EPOLLIN, on_readable, &world, &err), 0);
    assert_int_equal(dup2(other[0], world.pipe[0]), world.pipe[0]);
    fault_arm("epoll_ctl", 2, ENOSPC);
    assert_int_equal(loop_set_fd(world.loop, world.pipe[0], EPOLLIN, on_readable, &world, &err),
                     -1);
    (void)snprintf(expected, sizeof(expected), "watch descriptor %d: No space left on device",
                   world.pipe[0]);
    assert_true(fault_disarm());
    assert_string_equal(err.text, expected);
    loop_remove_fd(world.loop, world.pipe[0]);
    loop_free(world.loop);
    (void)close(other[0]);
    (void)close(other[1]);
    (void)close(world.pipe[0]);
    (void)close(world.pipe[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_reports_failures_and_loses_no_event),
        cmocka_unit_test(a_failing_epoll_wait_ends_the_loop_with_an_error),
        cmocka_unit_test(a_failure_to_watch_a_reused_descriptor_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
