/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program under test: shifts its wall clock by the number of seconds in the file
 * $LONGSHORE_TEST_CLOCK, which may change at any time. It does not change the monotonic clock, nor
 * time(), which OpenSSL uses to check certificates. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int (*real_clock_gettime)(clockid_t id, struct timespec *ret_time);
static const volatile int64_t *off_seconds;

/* The file is mapped once, because the sandbox of the program may forbid to open it later. */
__attribute__((constructor)) static void set_up(void)
{
    const char *path = getenv("LONGSHORE_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*off_seconds), PROT_READ, MAP_SHARED, fd, 0);

    if (found == MAP_FAILED)
        abort();
    off_seconds = found;
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = real_clock_gettime(id, ret_time);

    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret_time->tv_sec += *off_seconds;
    return result;
}
