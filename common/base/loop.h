/* SPDX-License-Identifier: Apache-2.0 */
/* The one event loop of a program: descriptors (epoll), timers and signals (signalfd), one thread.
 * Callbacks run from loop_run() or loop_run_once(), never from inside another call, and may add or
 * remove anything, themselves included. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/error.h"

struct loop;

typedef void loop_fd_fn(void *data, uint32_t events); /* EPOLLIN, EPOLLOUT ... */
typedef void loop_timer_fn(void *data);
typedef void loop_signal_fn(void *data, int signal_number);

/* clock is borrowed and rules the timers. */
int loop_new(struct clock *clock, struct loop **ret_loop, struct error *err) must_check;
void loop_free(struct loop *loop); /* NULL is fine; timers and descriptors must be gone */
define_cleanup(struct loop *, loop_free)
#define cleanup_loop __attribute__((cleanup(loop_freep)))

struct clock *loop_clock(struct loop *loop);
uint64_t loop_now_ms(struct loop *loop);

/* Watches fd, or changes what is watched and who is called if it is already. fd stays the caller's.
 */
int loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                struct error *err) must_check;
void loop_remove_fd(struct loop *loop, int fd); /* an unknown fd is fine */

/* A timer is embedded in its owner, which must stop it before it goes away. */
struct loop_timer {
    struct loop *loop;
    loop_timer_fn *callback;
    void *data;
    uint64_t due_ms;
    size_t place;  /* in the heap, from 1; 0 is stopped */
    uint64_t turn; /* of the loop, when it last fired */
};

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_timer_fn *callback,
                     void *data);
void loop_timer_start(struct loop_timer *timer, uint64_t delay_ms); /* restarts a running one */
void loop_timer_stop(struct loop_timer *timer);                     /* stopped, zeroed: fine */
bool loop_timer_is_running(const struct loop_timer *timer);

/* Blocks these signals for the process and delivers them to the callback. Once per loop. */
int loop_set_signals(struct loop *loop, const int *signals, size_t count, loop_signal_fn *callback,
                     void *data, struct error *err) must_check;

/* Waits for at most max_wait_ms (negative: as long as it takes), then serves all that is ready. */
int loop_run_once(struct loop *loop, int max_wait_ms, struct error *err) must_check;
/* Until loop_stop() is called. */
int loop_run(struct loop *loop, struct error *err) must_check;
void loop_stop(struct loop *loop);
