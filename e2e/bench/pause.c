/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the namespaces of a pod, or of the whole node, as their process 1: sleeps, reaps orphans,
 * ends on SIGTERM. */

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGCHLD);
    /* Process 1 of a namespace ignores signals that have no handler; blocked ones are kept for
     * sigwait. */
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    for (;;) {
        int signal_number = 0;
        if (sigwait(&awaited, &signal_number) == 0 && signal_number != SIGCHLD) {
            return 0;
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}
