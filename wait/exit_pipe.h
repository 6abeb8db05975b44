/* SPDX-License-Identifier: Apache-2.0 */
/* Learns main's end in the local run: the runner writes one JSON line to a descriptor that we
 * inherited. Its end without a line means that the runner died. */
#pragma once

#include "common/base/loop.h"
#include "wait/main_end.h"

struct runner_line;

/* Exactly once, from the loop; end is never MAIN_RUNS. */
typedef void runner_line_fn(void *data, const struct main_end *end);

/* fd is taken over, also on failure. */
int runner_line_start(struct loop *loop, int fd, runner_line_fn *on_end, void *data,
                      struct runner_line **ret_line, struct error *err) must_check;
void runner_line_free(struct runner_line *line); /* NULL is fine; not from inside on_end */
define_cleanup(struct runner_line *, runner_line_free)
#define cleanup_runner_line __attribute__((cleanup(runner_line_freep)))
