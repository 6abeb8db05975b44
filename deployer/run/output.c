/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Whether to read again at once. */
static bool read_some(struct output *output)
{
    char bytes[8192];
    ssize_t size = read(output->fd, bytes, sizeof(bytes));

    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    show_output(output->show, output->name, bytes, size > 0 ? (size_t)size : 0);
    if (size <= 0)
        output_close(output);
    return size > 0;
}

static void on_readable(void *data, uint32_t events)
{
    (void)events;
    (void)read_some(data);
}

int output_open(struct output *output, struct loop *loop, struct show *show, const char *name,
                int *ret_write_fd, struct error *err)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "create a pipe for %s", name);
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *output = (struct output){.loop = loop, .show = show, .name = name, .fd = fds[0]};
    *ret_write_fd = fds[1];
    return loop_set_fd(loop, fds[0], EPOLLIN, on_readable, output, err);
}

void output_drain(struct output *output)
{
    while (output->fd >= 0 && read_some(output))
        continue;
}

void output_close(struct output *output)
{
    if (output->fd < 0)
        return;
    loop_remove_fd(output->loop, output->fd);
    (void)close(output->fd);
    output->fd = -1;
}
