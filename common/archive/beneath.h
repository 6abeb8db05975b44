/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a directory that somebody else can write to: every step by descriptor, no symlink is
 * followed, nothing leaves the directory. Uses
 * openat2(RESOLVE_BENEATH|NO_SYMLINKS|NO_XDEV|NO_MAGICLINKS) where the kernel allows it, else a
 * walk of O_PATH|O_NOFOLLOW steps; both behave alike. A path that is absolute or has a ".." in it
 * is ERROR_INVALID everywhere, and so is one that leads over a symlink, a mount or a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/base/error.h"

/* A path of more bytes (with its NUL) is refused, as the kernel refuses it. */
enum { BENEATH_PATH_MAX = 4096, BENEATH_NAME_MAX = 255 };

/* Tests switch openat2 off to run the walk. */
void beneath_force_walk(bool is_forced);

/* Splits and checks a path from an archive: relative, no "..", no NUL or control characters, no
 * backslash, components of at most 255 bytes, at most depth_max of them; "." and empty components
 * are dropped. The clean path belongs to the caller ("" for the root itself). */
int beneath_clean_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
    must_check;
/* The same for names that a program chose for its own files: any byte but NUL and "/" goes. */
int beneath_clean_any_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
    must_check;

/* A path made fit for an error text or a log: control characters and what is not UTF-8 become '?',
 * a long one is cut. */
struct beneath_shown {
    char text[200];
};
struct beneath_shown beneath_show(const char *path);

/* Opens an existing regular file for reading: O_NONBLOCK against FIFOs, then checked to be regular,
 * so that a FIFO, socket, device or directory is ERROR_INVALID by name. Returns a descriptor.
 * ret_stat may be NULL. */
int beneath_open_file(int root_fd, const char *path, struct stat *ret_stat, struct error *err)
    must_check;
/* Opens a directory (O_RDONLY|O_DIRECTORY). */
int beneath_open_directory(int root_fd, const char *path, struct error *err) must_check;
/* Opens the directory that path lies in (O_PATH) for the *at() family; *ret_name points at path's
 * last component. With is_made missing directories are made. */
int beneath_open_parent(int root_fd, const char *path, bool is_made, const char **ret_name,
                        struct error *err) must_check;
/* mkdir -p with mode 0777 & ~umask (never chmod: the set-gid bit of the volume must live); returns
 * a descriptor of the last one. A component that is no directory is ERROR_INVALID. */
int beneath_make_directories(int root_fd, const char *path, struct error *err) must_check;
/* Creates a new regular file for writing, O_EXCL, mode less umask; an existing file or symlink of
 * that name (no directory) is unlinked first. Missing parents are made. */
int beneath_create_file(int root_fd, const char *path, mode_t mode, struct error *err) must_check;
/* Creates a symlink as it stands; never follows one. Takes the place of a file as above. */
int beneath_make_symlink(int root_fd, const char *path, const char *target, struct error *err)
    must_check;
/* Gives an existing regular file a second name. Takes the place of a file as above. */
int beneath_make_link(int root_fd, const char *path, const char *existing, struct error *err)
    must_check;
/* Removes a file or a whole tree, itself included; a missing one is fine. The tree may be of any
 * depth and may have unreadable directories, if they are ours. */
int beneath_remove_tree(int root_fd, const char *path, struct error *err) must_check;
/* All or nothing: writes data to a temporary sibling, then renames it over path. mode is less
 * umask. Missing parents are made. */
int beneath_write_file(int root_fd, const char *path, const void *data, size_t size, mode_t mode,
                       struct error *err) must_check;

enum { BENEATH_TEMPORARY_SIZE = 32 };
/* A name for something temporary (".longshore-<random>"): a plain component of its own. */
void beneath_temporary_name(char ret_name[BENEATH_TEMPORARY_SIZE]);
/* Until all is written or it fails; what names the file in the error. */
int beneath_write_all(int fd, const void *data, size_t size, const char *what, struct error *err)
    must_check;
