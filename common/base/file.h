/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing and creating directories, completed: short reads, short writes and EINTR are
 * handled here and nowhere else.
 *
 * `name` is what the error message calls the file, for example "read \"/etc/hosts\": ...". All
 * functions block. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* Receives one piece of a file; -1 with err set ends the reading. */
typedef int file_piece_fn(void *data, const char *bytes, size_t size, struct error *err);

/* Calls on_piece for the bytes from the current offset to the end of the file, in order. An error
 * of on_piece is returned as it is. */
int file_read_pieces(int fd, const char *name, file_piece_fn *on_piece, void *data,
                     struct error *err) must_check;
/* Appends the bytes from the current offset to the end of the file. ERROR_TOO_LARGE if they exceed
 * the buffer's maximum; the buffer then holds an unspecified part of them. */
int file_read_all(int fd, const char *name, struct buffer *content, struct error *err) must_check;
int file_write_all(int fd, const char *name, const void *bytes, size_t size, struct error *err)
    must_check;
/* Appends the rest of from to to. */
int file_copy(int from_fd, int to_fd, const char *name, struct error *err) must_check;

/* mkdir -p: creates path and its missing parents with this mode (before umask). Follows symlinks,
 * so path must not be under the control of somebody else; see common/archive/beneath.h for that. */
int file_make_directories(const char *path, mode_t mode, struct error *err) must_check;
