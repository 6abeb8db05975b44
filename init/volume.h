/* SPDX-License-Identifier: Apache-2.0 */
/* The shared volume: every output lies below one directory, which is opened once; what is below it
 * is reached by descriptor, as another program may have left anything there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "init/options.h"

struct volume {
    char *root; /* the common directory of all outputs */
    int root_fd;
    int work_fd;       /* for what is only needed while init runs; gone afterwards */
    char *work_parent; /* below root */
};

/* Makes all directories of the contract (0777 less umask, never chmod: the set-gid bit of the
 * volume gives the files their group). */
int volume_open(const struct options *options, struct volume *ret_volume, struct error *err)
    must_check;
/* Removes the workspace and closes. A zeroed volume with fds of -1 is fine. */
void volume_done(struct volume *volume);

/* The path below root. Borrowed from path. */
const char *volume_relative(const struct volume *volume, const char *path);
/* The directory that path lies in; *ret_name is its last component, borrowed from path. A
 * descriptor of the caller's. */
int volume_open_parent(const struct volume *volume, const char *path, const char **ret_name,
                       struct error *err) must_check;
/* All or nothing. */
int volume_write(const struct volume *volume, const char *path, const void *data, size_t size,
                 struct error *err) must_check;

/* A file that grows before it takes its name. */
struct volume_file {
    int fd, parent_fd;
    char *aside;
    const char *name; /* borrowed from the path */
};
int volume_file_begin(const struct volume *volume, const char *path, struct volume_file *ret_file,
                      struct error *err) must_check;
int volume_file_publish(struct volume_file *file, struct error *err) must_check;
void volume_file_done(struct volume_file *file); /* removes what was not published */

/* A file without a name in the workspace, for reading and writing. */
int volume_scratch(const struct volume *volume, struct error *err) must_check;

static inline void volume_donep(struct volume *volume)
{
    volume_done(volume);
}
#define cleanup_volume __attribute__((cleanup(volume_donep)))
static inline void volume_file_donep(struct volume_file *file)
{
    volume_file_done(file);
}
#define cleanup_volume_file __attribute__((cleanup(volume_file_donep)))
