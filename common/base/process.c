/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void process_prepare(void)
{
    /* open() returns the lowest descriptor that is free. Not close-on-exec: programs that we start
     * need these three as well. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDWR); /* NOLINT(android-cloexec-open) */
    }
    (void)signal(SIGPIPE, SIG_IGN);
}
