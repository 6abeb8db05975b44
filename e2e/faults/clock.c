/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program under test: shifts its wall clock by the first number of seconds in the
 * file $LONGSHORE_TEST_CLOCK, and the clock that counts the time since boot by the second, as if
 * the machine had been suspended. Both may change at any time. It does not change the monotonic
 * clock, nor time(), which OpenSSL uses to check certificates. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

enum { WALL, BOOT, CLOCK_COUNT };
enum { WAIT_MAX_MS = 100 }; /* a program that sleeps notices within this time that a clock moved */

static int (*real_clock_gettime)(clockid_t id, struct timespec *ret_time);
static int (*real_epoll_wait)(int fd, struct epoll_event *ret_events, int max, int timeout_ms);
static const volatile int64_t *off_seconds;

/* The file is mapped once, because the sandbox of the program may forbid to open it later. */
__attribute__((constructor)) static void set_up(void)
{
    const char *path = getenv("LONGSHORE_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, CLOCK_COUNT * sizeof(*off_seconds), PROT_READ, MAP_SHARED, fd, 0);

    if (found == MAP_FAILED)
        abort();
    off_seconds = found;
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)&real_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = real_clock_gettime(id, ret_time);

    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret_time->tv_sec += off_seconds[WALL];
    if (result == 0 && id == CLOCK_BOOTTIME)
        ret_time->tv_sec += off_seconds[BOOT];
    return result;
}

int epoll_wait(int fd, struct epoll_event *ret_events, int max, int timeout_ms)
{
    bool is_long = timeout_ms < 0 || timeout_ms > WAIT_MAX_MS;

    return real_epoll_wait(fd, ret_events, max, is_long ? WAIT_MAX_MS : timeout_ms);
}
