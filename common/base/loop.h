/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop for one thread: file descriptors (epoll), timers and signals (signalfd). Callbacks
 * are called only from loop_run() and loop_run_once(), and may add or remove any descriptor or
 * timer, including their own. */
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

/* clock is borrowed; timers are measured with it. */
int loop_new(struct clock *clock, struct loop **ret_loop, struct error *err) must_check;
void loop_free(struct loop *loop); /* NULL is fine. Closes no descriptor that was added */
define_cleanup(struct loop *, loop_free)
#define cleanup_loop __attribute__((cleanup(loop_freep)))

struct clock *loop_clock(struct loop *loop);
uint64_t loop_now_ms(struct loop *loop);

/* Watches fd, or changes events and callback if it is watched already. The caller keeps fd open and
 * removes it before closing it. */
int loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                struct error *err) must_check;
void loop_remove_fd(struct loop *loop, int fd); /* an fd that is not watched is fine */

/* A timer is embedded in its owner, which must stop it before it is freed. */
struct loop_timer {
    struct loop *loop;
    loop_timer_fn *callback;
    void *data;
    uint32_t place; /* index in the heap, from 1; 0: not running */
    uint32_t turn;  /* of the loop in which it last fired */
};

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_timer_fn *callback,
                     void *data);
void loop_timer_start(struct loop_timer *timer, uint64_t delay_ms); /* or restart */
/* Starts it, unless it is due earlier anyway. */
void loop_timer_start_at_latest(struct loop_timer *timer, uint64_t delay_ms);
void loop_timer_stop(struct loop_timer *timer); /* not running, or zeroed: fine */
bool loop_timer_is_running(const struct loop_timer *timer);

/* Blocks these signals in the process and delivers them to the callback. Call it once per loop. */
int loop_set_signals(struct loop *loop, const int *signals, size_t count, loop_signal_fn *callback,
                     void *data, struct error *err) must_check;

/* Waits up to max_wait_ms (negative: without limit) for events, then calls the callbacks of all
 * descriptors that are ready and of all timers that are due. */
int loop_run_once(struct loop *loop, int max_wait_ms, struct error *err) must_check;
/* Runs until loop_stop() is called. */
int loop_run(struct loop *loop, struct error *err) must_check;
void loop_stop(struct loop *loop);
