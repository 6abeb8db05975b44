/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sandbox/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/sandbox/parts.h"

void sandbox_no_core(void)
{
    const struct rlimit none = {0};

    (void)setrlimit(RLIMIT_CORE, &none);
    /* LeakSanitizer uses ptrace on its own process. */
    if (!SANDBOX_IS_SANITIZED)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int sandbox_enter(const struct sandbox_options *options, struct sandbox_result *ret_result,
                  struct error *err)
{
    struct sandbox_result result = {0};

    sandbox_no_core();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set_errno(err, errno, "set no_new_privs");
    /* The seccomp filter comes last because it forbids the system calls of the other two. */
    if (landlock_enter(options, &result.has_landlock, err) < 0 || capabilities_drop(err) < 0)
        return -1;
    if (!SANDBOX_IS_SANITIZED && filter_enter(options, err) < 0)
        return -1;
    *ret_result = result;
    return 0;
}
