/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/base/cleanup.h"

#define NAME "scratch"

int scratch_file_open(int directory_fd, struct error *err)
{
    cleanup_close int created = beneath_create_file(directory_fd, NAME, 0600, err);
    int fd = -1;

    if (created < 0)
        return -1;
    fd = openat(directory_fd, NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return error_set_errno(err, errno, "open a temporary file");
    (void)unlinkat(directory_fd, NAME, 0);
    return fd;
}
