/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/base/memory.h"

static int read_entries(DIR *directory, const char *name, directory_entry_fn *on_entry, void *data,
                        struct error *err)
{
    for (;;) {
        const struct dirent *entry = NULL;
        struct stat status;

        errno = 0;
        entry = readdir(directory);
        if (!entry)
            return errno == 0 ? 0 : error_set_errno(err, errno, "read directory \"%s\"", name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            return error_set_errno(err, errno, "stat \"%s\" in directory \"%s\"", entry->d_name,
                                   name);
        if (on_entry(data, entry->d_name, &status, err) < 0)
            return -1;
    }
}

int directory_read(int fd, const char *name, directory_entry_fn *on_entry, void *data,
                   struct error *err)
{
    /* Not dup(): a duplicate would share the reading position with fd. */
    cleanup_close int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = own_fd >= 0 ? fdopendir(own_fd) : NULL;
    int result = 0;

    if (!directory)
        return error_set_errno(err, errno, "open directory \"%s\"", name);
    (void)steal_fd(&own_fd); /* closedir() closes it */
    result = read_entries(directory, name, on_entry, data, err);
    (void)closedir(directory);
    return result;
}
