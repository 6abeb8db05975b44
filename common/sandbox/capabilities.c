/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "common/sandbox/parts.h"

static void cap_freep(cap_t *capabilities)
{
    if (*capabilities)
        (void)cap_free(*capabilities);
}

int capabilities_drop(struct error *err)
{
    __attribute__((cleanup(cap_freep))) cap_t none = cap_init();

    /* EPERM: dropping from the bounding set needs CAP_SETPCAP. The bounding set matters only for
     * execve(), which the seccomp filter forbids. */
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 && errno != EPERM)
            return error_set_errno(err, errno, "drop capability %d from the bounding set",
                                   capability);
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return error_set_errno(err, errno, "clear ambient capabilities");
    if (!none || cap_set_proc(none) < 0)
        return error_set_errno(err, errno, "drop capabilities");
    return 0;
}
