/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"

/* Large enough to make system calls rare, small enough for the heap of a small container. */
enum { PIECE_BYTES = 64 * 1024 };

int file_read_pieces(int fd, const char *name, file_piece_fn *on_piece, void *data,
                     struct error *err)
{
    cleanup_free char *piece = xmalloc(PIECE_BYTES);

    for (;;) {
        ssize_t size = read(fd, piece, PIECE_BYTES);

        if (size == 0)
            return 0;
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return error_set_errno(err, errno, "read \"%s\"", name);
        if (on_piece(data, piece, (size_t)size, err) < 0)
            return -1;
    }
}

struct source {
    struct buffer *content;
    const char *name;
};

static int append(void *data, const char *bytes, size_t size, struct error *err)
{
    const struct source *from = data;

    if (buffer_append(from->content, bytes, size, err) < 0)
        return error_wrap(err, "read \"%s\"", from->name);
    return 0;
}

int file_read_all(int fd, const char *name, struct buffer *content, struct error *err)
{
    struct source from = {.content = content, .name = name};

    return file_read_pieces(fd, name, append, &from, err);
}

int file_write_all(int fd, const char *name, const void *bytes, size_t size, struct error *err)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t written = write(fd, from, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set_errno(err, errno, "write \"%s\"", name);
        from += written;
        size -= (size_t)written;
    }
    return 0;
}

struct destination {
    int fd;
    const char *name;
};

static int write_piece(void *data, const char *bytes, size_t size, struct error *err)
{
    const struct destination *to = data;

    return file_write_all(to->fd, to->name, bytes, size, err);
}

int file_copy(int from_fd, int to_fd, const char *name, struct error *err)
{
    struct destination to = {.fd = to_fd, .name = name};

    return file_read_pieces(from_fd, name, write_piece, &to, err);
}

int file_make_directories(const char *path, mode_t mode, struct error *err)
{
    cleanup_free char *parent = xstrdup(path);

    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, mode) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, "create directory \"%s\"", parent);
        *slash = '/';
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return error_set_errno(err, errno, "create directory \"%s\"", path);
    return 0;
}
