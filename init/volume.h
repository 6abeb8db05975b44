/* SPDX-License-Identifier: Apache-2.0 */
/* The shared volume. All outputs are below one directory, which is opened once. Other programs can
 * write to the volume, so that everything below is opened relative to that descriptor, without
 * following symlinks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "init/options.h"

struct volume {
    char *root; /* path of the deepest directory that contains all outputs */
    int root_fd;
    int work_fd;     /* a directory for temporary files, removed at the end */
    char *work_path; /* of that, relative to root */
};

/* Creates the directories of all outputs, mode 0777 less umask. Never calls chmod(): it would clear
 * the set-gid bit, by which files get the group of the volume. */
int volume_open(const struct options *options, struct volume *ret_volume, struct error *err)
    must_check;
/* Removes the temporary files and closes the descriptors. */
void volume_done(struct volume *volume);

/* Opens the parent directory of path and creates it if necessary. Returns a descriptor of the
 * caller's; *ret_name is the last component, borrowed from path. */
int volume_open_parent(const struct volume *volume, const char *path, const char **ret_name,
                       struct error *err) must_check;
/* Writes a file atomically. */
int volume_write(const struct volume *volume, const char *path, const void *data, size_t size,
                 struct error *err) must_check;

/* A file that is written piece by piece and becomes visible when it is published. */
struct volume_file {
    int fd, parent_fd;
    char *temporary_name;
    const char *name; /* borrowed from path */
};
int volume_file_begin(const struct volume *volume, const char *path, struct volume_file *ret_file,
                      struct error *err) must_check;
int volume_file_publish(struct volume_file *file, struct error *err) must_check;
void volume_file_done(struct volume_file *file); /* removes it unless it was published */

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
