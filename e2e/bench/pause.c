/* SPDX-License-Identifier: Apache-2.0 */
/* Process 1 of a pod or of the node sandbox: keeps the namespaces alive, reaps orphans and exits on
 * SIGTERM. */

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
    /* The kernel drops signals without a handler for process 1 of a PID namespace, unless they are
     * blocked: then they stay pending for sigwait. */
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
