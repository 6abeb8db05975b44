/* SPDX-License-Identifier: Apache-2.0 */
/* Reports main's end in a local run (`longshore run`): the runner writes one JSON line to an
 * inherited pipe. End of file without a line means that the runner died. */
#pragma once

#include "common/base/loop.h"
#include "wait/main_end.h"

struct exit_pipe;

/* Called exactly once, from the loop; end is MAIN_ENDED or MAIN_LOST. */
typedef void exit_pipe_fn(void *data, const struct main_end *end);

/* Takes ownership of fd, also on failure. */
int exit_pipe_start(struct loop *loop, int fd, exit_pipe_fn *on_end, void *data,
                    struct exit_pipe **ret_pipe, struct error *err) must_check;
void exit_pipe_free(struct exit_pipe *pipe); /* NULL is fine; not from inside on_end */
define_cleanup(struct exit_pipe *, exit_pipe_free)
#define cleanup_exit_pipe __attribute__((cleanup(exit_pipe_freep)))
