/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into programs that talk only to each other: while all of them wait, nothing can happen
 * before the first of their timers is due, so the time until then is skipped for all of them. A day
 * passes as fast as they can do the work of a day, and no timeout expires because the machine is
 * slow.
 *
 * Every program must wait only in epoll_wait(). The file $LONGSHORE_SIMULATED_TIME is mapped by all
 * of them. Time is skipped until passed_ms has reached until_ms; then the clocks run as usual,
 * unless is_stopped is set: then they stand still, so that no timer is ever due.
 *
 * When may time be skipped? A program that begins to wait has sent everything that it had to send,
 * and the loopback device delivers it at once. It increments idle_number. When every program has
 * found no event after the last increment, no message is on its way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

enum {
    MEMBERS_MAX = 8,
    STEP_MS = 500,      /* timers that are due this soon after each other fire together */
    WAIT_MAX_MS = 100,  /* while time is not skipped: until_ms may change */
    LOOK_NS = 50 * 1000 /* between two looks at what the others do */
};

struct member {
    _Atomic int64_t wake_ms;       /* when its next timer is due; 0: it does not wait */
    _Atomic int64_t found_nothing; /* since this idle_number */
};

/* simulated_time.py has the same layout: all members are 64 bit wide. */
struct shared {
    _Atomic int64_t passed_ms, until_ms, is_stopped;
    _Atomic int64_t idle_number, member_count;
    struct member members[MEMBERS_MAX];
};

static int (*real_clock_gettime)(clockid_t id, struct timespec *ret_time);
static int (*real_epoll_wait)(int fd, struct epoll_event *ret_events, int max, int timeout_ms);
static struct shared *shared;
static struct member *own;                          /* NULL: the program has not waited yet */
static struct timespec stopped[CLOCK_BOOTTIME + 1]; /* by clock; zeroed: it was not read since */

__attribute__((constructor)) static void set_up(void)
{
    const char *path = getenv("LONGSHORE_SIMULATED_TIME");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *found = fd < 0 ? MAP_FAILED
                         : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (found == MAP_FAILED)
        abort();
    shared = found;
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)&real_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
}

/* ---- Clocks ---- */

static bool is_shifted(clockid_t id)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_BOOTTIME ||
           id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW;
}

/* The time at which a clock was first read after it was stopped. */
static void stop_clock(struct timespec *clock, struct timespec *ret_time)
{
    if (clock->tv_sec == 0)
        *clock = *ret_time;
    *ret_time = *clock;
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = real_clock_gettime(id, ret_time);
    int64_t passed_ms = is_shifted(id) ? atomic_load(&shared->passed_ms) : 0;

    if (result < 0)
        return result;
    if (is_shifted(id) && atomic_load(&shared->is_stopped))
        stop_clock(&stopped[id], ret_time);
    ret_time->tv_sec += passed_ms / 1000;
    ret_time->tv_nsec += passed_ms % 1000 * 1000000;
    if (ret_time->tv_nsec >= 1000000000) {
        ret_time->tv_nsec -= 1000000000;
        ret_time->tv_sec++;
    }
    return 0;
}

/* libc and OpenSSL read the time without calling the function above. */
time_t time(time_t *ret_time)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now = {0};

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *ret_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Waiting ---- */

static bool is_skipping(void)
{
    return atomic_load(&shared->passed_ms) < atomic_load(&shared->until_ms);
}

static void skip_time(void)
{
    int64_t passed_ms = atomic_load(&shared->passed_ms), until_ms = atomic_load(&shared->until_ms);
    int64_t number = atomic_load(&shared->idle_number), first_ms = INT64_MAX, by_ms = 0;

    for (int64_t i = 0; i < atomic_load(&shared->member_count); i++) {
        int64_t wake_ms = atomic_load(&shared->members[i].wake_ms);

        if (wake_ms == 0 || atomic_load(&shared->members[i].found_nothing) != number)
            return;
        if (wake_ms < first_ms)
            first_ms = wake_ms;
    }
    by_ms = first_ms - now_ms();
    if (by_ms <= 0)
        return; /* its program has to notice first */
    by_ms = by_ms < STEP_MS ? STEP_MS : by_ms;
    if (by_ms > until_ms - passed_ms)
        by_ms = until_ms - passed_ms;
    (void)atomic_compare_exchange_strong(&shared->passed_ms, &passed_ms, passed_ms + by_ms);
}

static int wait_simulated(int fd, struct epoll_event *ret_events, int max, int timeout_ms)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    int64_t due_ms = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
    int count = 0;

    atomic_store(&own->wake_ms, due_ms);
    (void)atomic_fetch_add(&shared->idle_number, 1);
    while (is_skipping() && now_ms() < due_ms) {
        int64_t number = atomic_load(&shared->idle_number);
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

        count = real_epoll_wait(fd, ret_events, max, 0);
        if (count != 0)
            break;
        atomic_store(&own->found_nothing, number);
        skip_time();
        (void)ppoll(&poll_fd, 1, &look, NULL);
    }
    atomic_store(&own->wake_ms, 0);
    return count;
}

int epoll_wait(int fd, struct epoll_event *ret_events, int max, int timeout_ms)
{
    bool is_long = timeout_ms < 0 || timeout_ms > WAIT_MAX_MS;
    int count = 0;

    if (!own) /* from now on no time is skipped without this program */
        own = &shared->members[atomic_fetch_add(&shared->member_count, 1) % MEMBERS_MAX];
    if (!is_skipping())
        return real_epoll_wait(fd, ret_events, max, is_long ? WAIT_MAX_MS : timeout_ms);
    count = real_epoll_wait(fd, ret_events, max, 0);
    return count != 0 || timeout_ms == 0 ? count : wait_simulated(fd, ret_events, max, timeout_ms);
}
