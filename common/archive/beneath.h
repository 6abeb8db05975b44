/* SPDX-License-Identifier: Apache-2.0 */
/* File operations below a directory that other processes can write to. Paths are resolved by
 * descriptor, symlinks are never followed, and nothing outside the directory is touched. Uses
 * openat2(RESOLVE_BENEATH|NO_SYMLINKS|NO_XDEV|NO_MAGICLINKS) where the kernel allows it, otherwise
 * O_PATH|O_NOFOLLOW steps with the same result. In all functions a path is ERROR_INVALID if it is
 * absolute, contains "..", or goes through a symlink, a mount point or a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/base/error.h"

/* The kernel's limits: longer paths (NUL included) and names are ERROR_INVALID. */
enum { BENEATH_PATH_MAX = 4096, BENEATH_NAME_MAX = 255 };

/* For tests: do not use openat2. */
void beneath_force_walk(bool is_forced);

/* Checks and normalizes a path from an archive. ERROR_INVALID if it is absolute or has "..",
 * control characters, backslashes or components of more than 255 bytes; ERROR_TOO_LARGE if it has
 * more than depth_max components. "." and empty components are dropped. The result belongs to the
 * caller and is "" for the root itself. */
int beneath_clean_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
    must_check;
/* Same, but names may contain any byte except NUL and "/". */
int beneath_clean_any_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
    must_check;

/* A path as it may appear in messages: control characters and invalid UTF-8 become '?', long paths
 * are truncated. */
struct beneath_shown {
    char text[200];
};
struct beneath_shown beneath_show(const char *path);

/* Opens a regular file for reading and returns a descriptor. Never blocks; a FIFO, socket, device
 * or directory is ERROR_INVALID. ret_stat may be NULL. */
int beneath_open_file(int root_fd, const char *path, struct stat *ret_stat, struct error *err)
    must_check;
/* Opens a directory (O_RDONLY|O_DIRECTORY) and returns a descriptor. */
int beneath_open_directory(int root_fd, const char *path, struct error *err) must_check;
/* Opens the parent directory of path (O_PATH); *ret_name points at the last component within path.
 * With is_made missing directories are created. */
int beneath_open_parent(int root_fd, const char *path, bool is_made, const char **ret_name,
                        struct error *err) must_check;
/* mkdir -p; returns a descriptor of the last directory. The mode is 0777 & ~umask without chmod,
 * which would clear a set-gid bit inherited from the volume. */
int beneath_make_directories(int root_fd, const char *path, struct error *err) must_check;
/* Creates a regular file (O_EXCL, mode & ~umask) and returns a descriptor for writing. An existing
 * file or symlink of that name is unlinked first; a directory is ERROR_INVALID. Missing parents are
 * created. */
int beneath_create_file(int root_fd, const char *path, mode_t mode, struct error *err) must_check;
/* Creates a symlink with any target; replaces an existing file as above. */
int beneath_make_symlink(int root_fd, const char *path, const char *target, struct error *err)
    must_check;
/* Creates a hard link to an existing regular file; replaces an existing file as above. */
int beneath_make_link(int root_fd, const char *path, const char *existing, struct error *err)
    must_check;
/* rm -rf: removes a file or a directory tree of any depth, also unreadable directories that we own.
 * Succeeds if path does not exist. */
int beneath_remove_tree(int root_fd, const char *path, struct error *err) must_check;
/* Writes a file atomically: to a temporary file in the same directory (mode & ~umask), then renamed
 * to path. Missing parents are created. */
int beneath_write_file(int root_fd, const char *path, const void *data, size_t size, mode_t mode,
                       struct error *err) must_check;

enum { BENEATH_TEMPORARY_SIZE = 32 };
/* ".longshore-<random>", a name for a temporary file. */
void beneath_temporary_name(char ret_name[BENEATH_TEMPORARY_SIZE]);
