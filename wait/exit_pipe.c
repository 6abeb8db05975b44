/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/runner_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/buffer.h"
#include "common/base/log.h"
#include "common/base/memory.h"

struct runner_line {
    struct loop *loop;
    int fd;
    struct buffer text;
    runner_line_fn *on_end;
    void *data;
};

static void finish(struct runner_line *line, const struct error *err)
{
    struct main_end end = {.kind = MAIN_LOST};
    struct error broken = {0};
    const char *newline = line->text.size ? memchr(line->text.data, '\n', line->text.size) : NULL;

    loop_remove_fd(line->loop, line->fd);
    if (err)
        log_error("the runner's word on main's end can't be read", log_text("error", err->text));
    else if (!newline)
        log_error("the runner went away without a word on main's end");
    else if (main_end_from_line(line->text.data, (size_t)(newline - line->text.data), &end,
                                &broken) < 0)
        log_error("the runner's word on main's end makes no sense", log_text("error", broken.text));
    line->on_end(line->data, &end);
}

static void on_readable(void *data, uint32_t events)
{
    struct runner_line *line = data;
    struct error err = {0};
    char piece[512];
    ssize_t size = read(line->fd, piece, sizeof(piece));

    (void)events;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size < 0) {
        (void)error_set_errno(&err, errno, "read");
        finish(line, &err);
    } else if (size == 0) {
        finish(line, NULL);
    } else if (buffer_append(&line->text, piece, (size_t)size, &err) < 0) {
        finish(line, &err);
    } else if (memchr(piece, '\n', (size_t)size)) {
        finish(line, NULL);
    }
}

int runner_line_start(struct loop *loop, int fd, runner_line_fn *on_end, void *data,
                      struct runner_line **ret_line, struct error *err)
{
    cleanup_runner_line struct runner_line *line = xcalloc(1, sizeof(*line));
    int flags = fcntl(fd, F_GETFL);

    line->loop = loop;
    line->fd = fd;
    line->on_end = on_end;
    line->data = data;
    buffer_init(&line->text, MAIN_END_LINE_MAX);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_set_errno(err, errno, "descriptor %d for main's end", fd);
    if (loop_set_fd(loop, fd, EPOLLIN, on_readable, line, err) < 0)
        return -1;
    *ret_line = steal(&line);
    return 0;
}

void runner_line_free(struct runner_line *line)
{
    if (!line)
        return;
    loop_remove_fd(line->loop, line->fd);
    closep(&line->fd);
    buffer_done(&line->text);
    free(line);
}
