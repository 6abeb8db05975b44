/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/exit_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/buffer.h"
#include "common/base/log.h"
#include "common/base/memory.h"

struct exit_pipe {
    struct loop *loop;
    int fd;
    struct buffer text;
    exit_pipe_fn *on_end;
    void *data;
};

static void finish(struct exit_pipe *pipe, const struct error *err)
{
    struct main_end end = {.kind = MAIN_LOST};
    struct error broken = {0};
    const char *newline = pipe->text.size ? memchr(pipe->text.data, '\n', pipe->text.size) : NULL;

    loop_remove_fd(pipe->loop, pipe->fd);
    if (err)
        log_error("reading main's exit status from the runner failed",
                  log_text("error", err->text));
    else if (!newline)
        log_error("the runner ended without reporting main's exit status");
    else if (main_end_from_line(pipe->text.data, (size_t)(newline - pipe->text.data), &end,
                                &broken) < 0)
        log_error("the runner reported an invalid exit status of main",
                  log_text("error", broken.text));
    pipe->on_end(pipe->data, &end);
}

static void on_readable(void *data, uint32_t events)
{
    struct exit_pipe *pipe = data;
    struct error err = {0};
    char piece[512];
    ssize_t size = read(pipe->fd, piece, sizeof(piece));

    (void)events;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size < 0) {
        (void)error_set_errno(&err, errno, "read");
        finish(pipe, &err);
    } else if (size == 0) {
        finish(pipe, NULL);
    } else if (buffer_append(&pipe->text, piece, (size_t)size, &err) < 0) {
        finish(pipe, &err);
    } else if (memchr(piece, '\n', (size_t)size)) {
        finish(pipe, NULL);
    }
}

int exit_pipe_start(struct loop *loop, int fd, exit_pipe_fn *on_end, void *data,
                    struct exit_pipe **ret_pipe, struct error *err)
{
    cleanup_exit_pipe struct exit_pipe *pipe = xcalloc(1, sizeof(*pipe));
    int flags = fcntl(fd, F_GETFL);

    pipe->loop = loop;
    pipe->fd = fd;
    pipe->on_end = on_end;
    pipe->data = data;
    buffer_init(&pipe->text, MAIN_END_LINE_MAX);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_set_errno(err, errno, "use descriptor %d for main's exit status", fd);
    if (loop_set_fd(loop, fd, EPOLLIN, on_readable, pipe, err) < 0)
        return -1;
    *ret_pipe = steal(&pipe);
    return 0;
}

void exit_pipe_free(struct exit_pipe *pipe)
{
    if (!pipe)
        return;
    loop_remove_fd(pipe->loop, pipe->fd);
    closep(&pipe->fd);
    buffer_done(&pipe->text);
    free(pipe);
}
