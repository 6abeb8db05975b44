/* SPDX-License-Identifier: Apache-2.0 */
/* Timers are in a heap; the next one limits epoll_wait(). A callback may remove a descriptor
 * for which epoll_wait() has already returned an event, so events carry a serial number and stale
 * ones are dropped. */
#include "common/base/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "common/base/memory.h"

enum { EVENTS_PER_TURN = 64 };

struct watch {
    loop_fd_fn *callback; /* NULL: the slot is free */
    void *data;
    uint32_t serial;
};

/* The running timers are a heap in which each entry has four children. With their times in it, the
 * timers themselves, which are all over the memory, are not read to compare them. */
struct entry {
    uint64_t due_ms;
    struct loop_timer *timer;
};

struct loop {
    struct clock *clock;
    int epoll_fd;
    int signal_fd;
    bool is_stopped;
    loop_signal_fn *on_signal;
    void *on_signal_data;
    struct watch *watches; /* by descriptor number */
    size_t watch_count;
    uint32_t next_serial;
    struct entry *heap; /* heap[0] is unused */
    size_t timer_count;
    size_t heap_capacity;
    uint32_t turn;
};

int loop_new(struct clock *clock, struct loop **ret_loop, struct error *err)
{
    cleanup_loop struct loop *loop = xcalloc(1, sizeof(*loop));

    loop->clock = clock;
    loop->signal_fd = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        return error_set_errno(err, errno, "create an epoll descriptor");
    *ret_loop = steal(&loop);
    return 0;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    for (size_t i = 1; i <= loop->timer_count; i++)
        loop->heap[i].timer->place = 0;
    if (loop->signal_fd >= 0)
        (void)close(loop->signal_fd);
    if (loop->epoll_fd >= 0)
        (void)close(loop->epoll_fd);
    free(loop->watches);
    free(loop->heap);
    free(loop);
}

struct clock *loop_clock(struct loop *loop)
{
    return loop->clock;
}

uint64_t loop_now_ms(struct loop *loop)
{
    return clock_monotonic_ms(loop->clock);
}

static void reserve_watch(struct loop *loop, int fd)
{
    size_t count = loop->watch_count ? loop->watch_count : 16;

    if ((size_t)fd < loop->watch_count)
        return;
    while (count <= (size_t)fd)
        count *= 2;
    loop->watches = xreallocarray(loop->watches, count, sizeof(*loop->watches));
    memset(loop->watches + loop->watch_count, 0,
           (count - loop->watch_count) * sizeof(*loop->watches));
    loop->watch_count = count;
}

int loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                struct error *err)
{
    struct epoll_event event = {.events = events};
    struct watch *watch = NULL;
    bool is_new = false;

    reserve_watch(loop, fd);
    watch = &loop->watches[fd];
    is_new = !watch->callback;
    if (is_new)
        watch->serial = ++loop->next_serial;
    event.data.u64 = (uint64_t)watch->serial << 32 | (uint32_t)fd;
    if (epoll_ctl(loop->epoll_fd, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) {
        if (is_new || errno != ENOENT)
            return error_set_errno(err, errno, "watch descriptor %d", fd);
        /* The descriptor was closed and its number reused, so that the kernel no longer watches it.
         * Events that were already returned belong to the old one. */
        watch->serial = ++loop->next_serial;
        event.data.u64 = (uint64_t)watch->serial << 32 | (uint32_t)fd;
        if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
            return error_set_errno(err, errno, "watch descriptor %d", fd);
    }
    watch->callback = callback;
    watch->data = data;
    return 0;
}

void loop_remove_fd(struct loop *loop, int fd)
{
    if (fd < 0 || (size_t)fd >= loop->watch_count || !loop->watches[fd].callback)
        return;
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    loop->watches[fd] = (struct watch){0};
}

enum { CHILDREN = 4 };

static size_t parent_of(size_t place)
{
    return (place + CHILDREN - 2) / CHILDREN;
}

static size_t first_child_of(size_t place)
{
    return place * CHILDREN - (CHILDREN - 2);
}

static void put_entry(struct loop *loop, struct entry entry, size_t place)
{
    loop->heap[place] = entry;
    entry.timer->place = (uint32_t)place;
}

static void sift_up(struct loop *loop, struct entry entry, size_t place)
{
    while (place > 1 && loop->heap[parent_of(place)].due_ms > entry.due_ms) {
        put_entry(loop, loop->heap[parent_of(place)], place);
        place = parent_of(place);
    }
    put_entry(loop, entry, place);
}

static size_t earliest_child_of(const struct loop *loop, size_t place)
{
    size_t first = first_child_of(place);
    size_t earliest = first;

    for (size_t i = first + 1; i < first + CHILDREN && i <= loop->timer_count; i++) {
        if (loop->heap[i].due_ms < loop->heap[earliest].due_ms)
            earliest = i;
    }
    return earliest;
}

static void sift_down(struct loop *loop, struct entry entry, size_t place)
{
    while (first_child_of(place) <= loop->timer_count) {
        size_t child = earliest_child_of(loop, place);

        if (loop->heap[child].due_ms >= entry.due_ms)
            break;
        put_entry(loop, loop->heap[child], place);
        place = child;
    }
    put_entry(loop, entry, place);
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_timer_fn *callback,
                     void *data)
{
    *timer = (struct loop_timer){.loop = loop, .callback = callback, .data = data};
}

static uint64_t time_after(struct loop *loop, uint64_t delay_ms)
{
    uint64_t now_ms = loop_now_ms(loop);

    return delay_ms > UINT64_MAX - now_ms ? UINT64_MAX : now_ms + delay_ms;
}

void loop_timer_start(struct loop_timer *timer, uint64_t delay_ms)
{
    struct loop *loop = timer->loop;
    struct entry entry = {.due_ms = time_after(loop, delay_ms), .timer = timer};

    loop_timer_stop(timer);
    if (loop->timer_count + 2 > loop->heap_capacity) {
        loop->heap_capacity = loop->heap_capacity ? loop->heap_capacity * 2 : 16;
        loop->heap = xreallocarray(loop->heap, loop->heap_capacity, sizeof(struct entry));
    }
    sift_up(loop, entry, ++loop->timer_count);
}

void loop_timer_stop(struct loop_timer *timer)
{
    struct loop *loop = timer->loop;
    size_t place = timer->place;
    struct entry last = {0};

    if (!place)
        return;
    timer->place = 0;
    last = loop->heap[loop->timer_count--];
    if (last.timer == timer)
        return;
    if (place > 1 && loop->heap[parent_of(place)].due_ms > last.due_ms)
        sift_up(loop, last, place);
    else
        sift_down(loop, last, place);
}

void loop_timer_start_at_latest(struct loop_timer *timer, uint64_t delay_ms)
{
    struct loop *loop = timer->loop;

    if (!timer->place || loop->heap[timer->place].due_ms > time_after(loop, delay_ms))
        loop_timer_start(timer, delay_ms);
}

bool loop_timer_is_running(const struct loop_timer *timer)
{
    return timer->place != 0;
}

static void read_signals(void *data, uint32_t events)
{
    struct loop *loop = data;
    struct signalfd_siginfo info = {0};

    (void)events;
    while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        loop->on_signal(loop->on_signal_data, (int)info.ssi_signo);
}

int loop_set_signals(struct loop *loop, const int *signals, size_t count, loop_signal_fn *callback,
                     void *data, struct error *err)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        (void)sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return error_set_errno(err, errno, "block signals");
    loop->signal_fd = signalfd(loop->signal_fd, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (loop->signal_fd < 0)
        return error_set_errno(err, errno, "create a signal descriptor");
    loop->on_signal = callback;
    loop->on_signal_data = data;
    return loop_set_fd(loop, loop->signal_fd, EPOLLIN, read_signals, loop, err);
}

static int wait_limit_ms(struct loop *loop, int max_wait_ms)
{
    uint64_t now_ms = loop_now_ms(loop);
    uint64_t until_ms = 0;

    if (!loop->timer_count)
        return max_wait_ms;
    until_ms = loop->heap[1].due_ms > now_ms ? loop->heap[1].due_ms - now_ms : 0;
    if (max_wait_ms >= 0 && until_ms > (uint64_t)max_wait_ms)
        return max_wait_ms;
    return until_ms > 3600000 ? 3600000 : (int)until_ms;
}

static void fire_timers(struct loop *loop)
{
    uint64_t now_ms = loop_now_ms(loop);

    /* A timer that is started by another one without delay fires in the same turn, but no timer
     * fires twice in a turn: one that restarts itself would starve the descriptors. */
    loop->turn++;
    while (loop->timer_count > 0) {
        struct loop_timer *timer = loop->heap[1].timer;

        if (loop->heap[1].due_ms > now_ms || timer->turn == loop->turn)
            break;
        timer->turn = loop->turn;
        loop_timer_stop(timer);
        timer->callback(timer->data);
    }
}

int loop_run_once(struct loop *loop, int max_wait_ms, struct error *err)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int count =
        epoll_wait(loop->epoll_fd, events, EVENTS_PER_TURN, wait_limit_ms(loop, max_wait_ms));

    if (count < 0 && errno != EINTR)
        return error_set_errno(err, errno, "wait for events");
    for (int i = 0; i < count; i++) {
        int fd = (int)(uint32_t)events[i].data.u64;
        const struct watch *watch = &loop->watches[fd];

        if (watch->callback && watch->serial == (uint32_t)(events[i].data.u64 >> 32))
            watch->callback(watch->data, events[i].events);
    }
    fire_timers(loop);
    return 0;
}

int loop_run(struct loop *loop, struct error *err)
{
    loop->is_stopped = false;
    while (!loop->is_stopped) {
        if (loop_run_once(loop, -1, err) < 0)
            return -1;
    }
    return 0;
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
}
